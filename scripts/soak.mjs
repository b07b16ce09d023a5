// `npm run test:soak`: the long runs, at most an hour.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureChromium, ensureInstalled, main, root } from './lib/prepare.mjs'

await main(async () => {
  ensureInstalled()
  ensureBuilt()
  const chromium = ensureChromium()
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--project',
      'soak',
      '--reporter=verbose',
      ...process.argv.slice(2),
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...(chromium && { PLAYWRIGHT_CHROMIUM_PATH: chromium }) },
    },
  )
  child.once('exit', code => process.exit(code ?? 1))
})
