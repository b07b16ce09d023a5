// House rules that a compiler cannot hold (design: "Who may import whom"). Prints each breach with file and line; exits 1 on any.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { root } from './lib/prepare.mjs'

// room → rooms of shared/ it may import; "runtime.d.ts" has no imports
const ARROWS = {
  bytes: [],
  protocol: ['bytes'],
  storage: ['bytes', 'protocol'],
  consensus: ['bytes', 'protocol', 'storage'],
  partition: ['bytes', 'protocol', 'storage'],
  metadata: ['bytes', 'protocol', 'storage'],
  inspection: ['bytes', 'protocol', 'storage'],
  replica: ['bytes', 'protocol', 'storage', 'consensus', 'partition', 'metadata', 'inspection'],
  client: ['bytes', 'protocol'],
  scenario: ['bytes', 'protocol', 'storage', 'client', 'inspection'],
  drills: ['bytes', 'protocol', 'storage', 'client', 'inspection', 'scenario'],
  simulator: [
    'bytes',
    'protocol',
    'storage',
    'consensus',
    'partition',
    'metadata',
    'inspection',
    'replica',
    'client',
    'scenario',
  ],
}
// Contracts are types: the partition implements the journal that consensus asks for.
const TYPE_ONLY = [['shared/partition/contract.ts', 'shared/consensus/contract.ts']]
const TYPE_ROOMS = { inspection: ['storage'] }
const ENGINE_PACKAGES = new Set(['hash-wasm', '@noble/hashes', 'zod', '@msgpack/msgpack'])
const ENGINE_ONLY_IN_SOURCES = new Set(['simulator', 'replica', 'partition'])
// What the language itself offers; Node and DOM globals do not compile there (tsconfig.shared.json).
const FORBIDDEN_GLOBALS = /(?<![\w.$'"`])(Date\b|Math\.random\b|globalThis\b|Function\(|eval\()/g

export function* sourceFiles(folders = ['app', 'server', 'shared', 'e2e']) {
  for (const folder of folders) {
    const visit = function* (path) {
      for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
        const child = `${path}/${entry.name}`
        if (entry.isDirectory()) yield* visit(child)
        else if (/\.(ts|tsx)$/.test(entry.name)) yield child
      }
    }
    yield* visit(folder)
  }
}

const isTest = file => /\.test\.tsx?$/.test(file) || file.includes('/testing/') || file.startsWith('e2e/')

/** Breaches of one file. `text` is its content; `file` its path from the root. */
export function breaches(file, text) {
  const found = []
  const lineOf = position => text.slice(0, position).split('\n').length
  const report = (position, message) => found.push(`${file}:${lineOf(position)} ${message}`)
  const [top, room] = file.split('/')
  if (/(^|\/)index\.tsx?$/.test(file)) report(0, 'barrel files are not used; import the file that has the thing')
  if (/\.only\(/.test(text) && isTest(file)) report(text.search(/\.only\(/), 'a focused test hides all others')
  for (const { fileName, pos } of ts.preProcessFile(text, true, true).importedFiles) {
    const statement = text.slice(text.lastIndexOf('\n', pos - 1) + 1, pos)
    const typeOnly =
      /^\s*(import|export) type\b/.test(statementBefore(text, pos)) || /^\s*(import|export) type\b/.test(statement)
    if (!fileName.startsWith('.')) {
      if (top !== 'shared' || isTest(file)) continue
      const name = fileName.startsWith('@') ? fileName.split('/').slice(0, 2).join('/') : fileName.split('/')[0]
      if (!ENGINE_PACKAGES.has(name)) report(pos, `shared/ may not import ${fileName}`)
      continue
    }
    const target = normalize(join(dirname(file), fileName))
    const [targetTop, targetRoom] = target.split('/')
    if (isTest(file)) continue
    if (top === 'shared' && targetTop === 'shared') {
      if (room === targetRoom) continue
      if (!ARROWS[room]) report(pos, `shared/${room} is not a room of the house`)
      else if (!ARROWS[room].includes(targetRoom)) {
        if (!(typeOnly && TYPE_ONLY.some(([from, to]) => from === file && to === target)))
          report(pos, `${room} may not import ${targetRoom}`)
      } else if (TYPE_ROOMS[room]?.includes(targetRoom) && !typeOnly)
        report(pos, `${room} may import only types of ${targetRoom}`)
    } else if (top === 'shared') report(pos, `shared/ may not import ${target}`)
    else if (top === 'app') {
      if (targetTop === 'server') report(pos, 'app may not import server')
      if (
        targetTop === 'shared' &&
        ENGINE_ONLY_IN_SOURCES.has(targetRoom) &&
        !typeOnly &&
        !file.startsWith('app/data/sources/')
      ) {
        report(pos, `only app/data/sources may import ${targetRoom}`)
      }
    } else if (top === 'server' && targetTop === 'app') report(pos, 'server may not import app')
  }
  if (top === 'shared' && !isTest(file)) {
    const code = withoutCommentsAndStrings(text)
    for (const match of code.matchAll(FORBIDDEN_GLOBALS))
      report(match.index, `engine code may not use ${match[1].replace(/[.(]$/, '')}`)
  }
  return found
}

function statementBefore(text, pos) {
  const start = Math.max(
    text.lastIndexOf('\nimport', pos),
    text.lastIndexOf('\nexport', pos),
    text.startsWith('import') ? -1 : -Infinity,
  )
  return Number.isFinite(start) ? text.slice(start + 1, pos) : ''
}

/** Blanks comments and string contents, keeping every position. */
function withoutCommentsAndStrings(text) {
  const blank = part => part.replace(/[^\n]/g, ' ')
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, blank)
}

export function checkAll() {
  return [...sourceFiles()].flatMap(file => breaches(file, readFileSync(join(root, file), 'utf8')))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const found = checkAll()
  for (const line of found) console.error(line)
  const count = [...sourceFiles()].length
  console.error(
    found.length === 0 ? `house rules hold in ${count} files` : `${found.length} breaches of the house rules`,
  )
  process.exit(found.length === 0 ? 0 : 1)
}
