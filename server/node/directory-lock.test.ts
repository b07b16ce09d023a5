import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { liveOwner, lockDirectory, moveStaleAway, NODE_LOCK } from './directory-lock.ts'
import { findProcess, findSame, ownIdentity } from './process-identity.ts'

let directory: string
const children: ChildProcess[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lock-'))
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

const path = () => join(directory, NODE_LOCK)

/** Another process that takes the lock and says what came of it, then waits. */
async function contender(): Promise<{ child: ChildProcess; said: string }> {
  const module = fileURLToPath(new URL('./directory-lock.ts', import.meta.url))
  const code = `
    const { lockDirectory } = await import(${JSON.stringify(module)})
    try { lockDirectory(${JSON.stringify(directory)}, ${JSON.stringify(NODE_LOCK)}); console.log('taken') }
    catch (error) { console.log(error.code) }
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [said] = (await once(child.stdout!, 'data')) as [Buffer]
  return { child, said: said.toString().trim() }
}

test('a lock refuses the next taker by the pid of its owner, and a released one does not', () => {
  const lock = lockDirectory(directory, NODE_LOCK)
  expect(() => lockDirectory(directory, NODE_LOCK)).toThrow(new RegExp(`running process ${process.pid}`))
  expect(readdirSync(directory)).toEqual([NODE_LOCK])
  lock.release()
  lock.release()
  lockDirectory(directory, NODE_LOCK).release()
  expect(readdirSync(directory)).toEqual([])
})

test('a lock outlives the SIGKILL of its owner and then blocks nobody', async () => {
  const { child, said } = await contender()
  expect(said).toBe('taken')
  expect(liveOwner(path())?.pid).toBe(child.pid)
  expect(() => lockDirectory(directory, NODE_LOCK)).toThrow(/belongs to the running process/)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(existsSync(path())).toBe(true)
  expect(liveOwner(path())).toBeUndefined()
  const lock = lockDirectory(directory, NODE_LOCK)
  expect(liveOwner(path())?.pid).toBe(process.pid)
  lock.release()
})

test('a lock that names a live pid with another start time is stale: the pid was given to somebody else', () => {
  writeFileSync(path(), JSON.stringify({ ...ownIdentity(), started: 'another life' }))
  lockDirectory(directory, NODE_LOCK).release()
})

test('a stale lock that somebody replaced between the look and the removal is put back', () => {
  const lock = lockDirectory(directory, NODE_LOCK)
  moveStaleAway(path(), `${path()}.stale`)
  expect(liveOwner(path())?.pid).toBe(process.pid)
  lock.release()
  writeFileSync(path(), JSON.stringify({ pid: 999_999_999, started: 'gone' }))
  moveStaleAway(path(), `${path()}.stale`)
  moveStaleAway(path(), `${path()}.stale`)
  expect(readdirSync(directory)).toEqual([])
})

test('a lock that cannot be read blocks nobody', () => {
  writeFileSync(path(), 'not json')
  lockDirectory(directory, NODE_LOCK).release()
})

test('releasing gives away nothing that belongs to another by now', () => {
  const lock = lockDirectory(directory, NODE_LOCK)
  const other = JSON.stringify({ pid: 1, started: 'x' })
  writeFileSync(path(), other)
  lock.release()
  expect(readFileSync(path(), 'utf8')).toBe(other)
})

test('of several processes that want one stale lock exactly one gets it', async () => {
  writeFileSync(path(), JSON.stringify({ pid: 999_999_999, started: 'gone' }))
  const outcomes = await Promise.all([contender(), contender(), contender(), contender()])
  expect(outcomes.map(({ said }) => said).sort()).toEqual([
    'DirectoryInUse',
    'DirectoryInUse',
    'DirectoryInUse',
    'taken',
  ])
})

test('a process is found by its start time, seen stopped when it is, and gone when only a zombie is left', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  children.push(child)
  const found = findProcess(child.pid!)!
  expect(found).toMatchObject({ pid: child.pid, condition: 'running' })
  expect(findSame({ ...found, started: `${found.started}0` })).toBeUndefined()
  child.kill('SIGSTOP')
  for (let turn = 0; turn < 500 && findSame(found)?.condition !== 'stopped'; turn++) {
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  expect(findSame(found)?.condition).toBe('stopped')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(findSame(found)).toBeUndefined()
  expect(findProcess(0)).toBeUndefined()
  expect(findProcess(-1)).toBeUndefined()
})
