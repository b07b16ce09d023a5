// `npm start`: prepares what is missing, then runs the console in this very process.
import { ensureBuilt, ensureInstalled, main, serverEntry } from './lib/prepare.mjs'

await main(async () => {
  ensureInstalled()
  ensureBuilt()
  process.argv = [process.argv[0], serverEntry, 'console', ...process.argv.slice(2)]
  await import(serverEntry)
})
