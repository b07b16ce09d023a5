// `npm run -s quorumscope -- COMMAND`: prepares what is missing, then runs the command in this very process.
import { ensureBuilt, ensureInstalled, main, serverEntry } from './lib/prepare.mjs'

await main(async () => {
  ensureInstalled()
  ensureBuilt()
  process.argv = [process.argv[0], serverEntry, ...process.argv.slice(2)]
  await import(serverEntry)
})
