// What `npm start` and `npm test` need before they can do anything: packages, a build, a browser. Each step looks first
// whether there is anything to do, says what it does, and does nothing twice. Plain Node, no packages: it runs before
// there are any.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
export const serverEntry = join(root, 'dist/server/quorumscope.js')

const say = message => process.stderr.write(`quorumscope: ${message}\n`)

export class PrepareError extends Error {}

/** Exits with a clear word on a Node that is too old; `engines` of package.json is the one place that says which. */
export function requireNode() {
  const floor = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '')
  const parts = text => text.split('.').map(Number)
  const [have, need] = [parts(process.versions.node), parts(floor)]
  for (let index = 0; index < 3; index++) {
    if (have[index] > need[index]) return
    if (have[index] < need[index])
      throw new PrepareError(`Node ${floor} or newer is needed, this is ${process.versions.node}.`)
  }
}

/** Runs a command with its output shown; throws when it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], ...options })
  if (result.error) throw new PrepareError(`${command} could not be started: ${result.error.message}`)
  if (result.status !== 0)
    throw new PrepareError(`${command} ${args.join(' ')} ended with status ${result.status ?? result.signal}`)
}

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** Installs from the lockfile when node_modules was not made from this very lockfile. */
export function ensureInstalled() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  const stamp = join(root, 'node_modules/.quorumscope-lock')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  say('installing packages from the lockfile (once per lockfile) …')
  run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  writeFileSync(stamp, lock)
}

const SOURCES = [
  'app',
  'server',
  'shared',
  'index.html',
  'vite.config.ts',
  'package-lock.json',
  'tsconfig.json',
  'scripts/build.mjs',
]

/** One hash over everything that the build reads: names and contents. Tests are not part of it. */
export function sourceHash() {
  const hash = createHash('sha256')
  const visit = path => {
    let entries
    try {
      entries = readdirSync(join(root, path), { withFileTypes: true })
    } catch (error) {
      if (error.code === 'ENOTDIR')
        hash
          .update(path)
          .update('\0')
          .update(readFileSync(join(root, path)))
          .update('\0')
      else if (error.code !== 'ENOENT') throw error
      return
    }
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isDirectory()) {
        if (entry.name !== 'testdata' && entry.name !== 'testing') visit(`${path}/${entry.name}`)
      } else if (!/\.test\.tsx?$/.test(entry.name)) {
        hash
          .update(`${path}/${entry.name}`)
          .update('\0')
          .update(readFileSync(join(root, path, entry.name)))
          .update('\0')
      }
    }
  }
  for (const path of SOURCES) visit(path)
  return hash.digest('hex')
}

/** Builds page and server when the sources differ from those of the last build. */
export function ensureBuilt() {
  const stamp = join(root, 'dist/.stamp')
  const hash = sourceHash()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash && existsSync(serverEntry)) return
  say('building page and server (once per change of the sources) …')
  run(process.execPath, [join(root, 'scripts/build.mjs')])
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, hash)
}

const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome']
const CHROMIUM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

export function findChromium() {
  const named = process.env.PLAYWRIGHT_CHROMIUM_PATH
  if (named) {
    if (!existsSync(named))
      throw new PrepareError(`PLAYWRIGHT_CHROMIUM_PATH names ${named}, and there is no such file.`)
    return named
  }
  const onPath = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap(folder => CHROMIUM_NAMES.map(name => join(folder, name)))
  return [...CHROMIUM_PATHS, ...onPath].find(path => existsSync(path))
}

/** Path of a Chromium; installs one where the system has none. */
export function ensureChromium() {
  const found = findChromium()
  if (found) return found
  if (process.platform === 'linux' && existsSync('/usr/bin/apt-get')) {
    const elevate = process.getuid?.() === 0 ? [] : ['sudo', '-n']
    const apt = (...args) => {
      const [command, ...rest] = [...elevate, 'apt-get', ...args]
      run(command, rest, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
    }
    say('no Chromium found; installing the chromium package …')
    apt('update', '-q')
    apt('install', '-y', '-q', '--no-install-recommends', 'chromium')
  } else {
    say("no Chromium found; installing Playwright's …")
    run(process.execPath, [join(root, 'node_modules/@playwright/test/cli.js'), 'install', 'chromium'])
    return undefined
  }
  const installed = findChromium()
  if (!installed)
    throw new PrepareError('Chromium was installed but is not found; set PLAYWRIGHT_CHROMIUM_PATH to its program.')
  return installed
}

/** Ends the process with a sentence, not a stack, when preparation fails. */
export async function main(body) {
  try {
    requireNode()
    await body()
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error
    say(error.message)
    process.exit(1)
  }
}
