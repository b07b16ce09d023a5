// `npm run -s quorumscope -- COMMAND`: prepares what is missing, then runs the command in this very process.
import { ensureBuilt, ensureChromium, ensureInstalled, main, serverEntry } from './lib/prepare.mjs'

await main(async () => {
  ensureInstalled()
  ensureBuilt()
  if (process.argv[2] === 'bench' && process.argv[3] === 'page') {
    const chromium = ensureChromium()
    if (chromium) process.env.PLAYWRIGHT_CHROMIUM_PATH = chromium
  }
  process.argv = [process.argv[0], serverEntry, ...process.argv.slice(2)]
  await import(serverEntry)
})
