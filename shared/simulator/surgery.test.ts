/** The surgery kit: places are named by what lies there, every edit can be taken back, and nobody operates on the living. */
import { expect, it } from 'vitest'
import { EAGER, PARTITION_DIRECTORY, send, started } from '../drills/building.ts'
import { BadAddress, parseAddress } from '../scenario/address.ts'
import type { Action } from '../scenario/language.ts'
import { ScenarioRun } from '../scenario/run.ts'
import { CannotAct } from '../scenario/runner.ts'
import { SimulatedRunner } from './scenario-runner.ts'
import { breathe, hash } from './testing/worlds.ts'

const place = (text: string) => parseAddress(text, PARTITION_DIRECTORY)

async function stopped() {
  const runner = new SimulatedRunner({ nodes: 1 }, { seed: 1n, hash, breathe })
  const run = new ScenarioRun(runner, { hash })
  const steps: Action[] = [...started(EAGER), send(['one']), send(['two']), { do: 'terminate', nodes: [0] }]
  expect(await run.steps(steps, '')).toBe(true)
  const locate = async (text: string) => {
    const { path, at } = place(text)
    return run.surgeon.locate(0, path, at)
  }
  return { runner, run, locate }
}

it('a place is found by what lies there: chunks, entries, ops, slots, fields, fractions', async () => {
  const { locate, runner } = await stopped()
  const log = await locate('log:chunk[0]')
  const second = await locate('log:chunk[-1]')
  expect(log).toMatchObject({ at: 0, path: `${PARTITION_DIRECTORY}/${'0'.repeat(20)}.log` })
  expect((await locate('log:chunk[1].body+17')).at).toBe(second.at + 256 + 17)
  expect((await locate('log:chunk[1].header.batchLength')).at).toBe(second.at + 32)
  // The index says where the second chunk lies.
  const entry = await locate('index:entry[-1].position')
  const index = (await runner.readFile(0, entry.path))!
  expect(new DataView(index.buffer, index.byteOffset).getBigUint64(entry.at, true)).toBe(BigInt(second.at))
  const wal = (await runner.readFile(0, 'metadata/journal.wal'))!
  const op = await locate('wal:op[2].header.op')
  expect(new DataView(wal.buffer, wal.byteOffset).getBigUint64(op.at, true)).toBe(2n)
  expect((await locate('wal:entry[0]')).at).toBe(0)
  const slot = await locate('partition-sb:newest.payload.offsetReserved')
  expect(slot.path).toMatch(new RegExp(`^${PARTITION_DIRECTORY}/superblock\\.[ab]$`))
  const record = (await runner.readFile(0, slot.path))!
  expect(new DataView(record.buffer, record.byteOffset).getBigUint64(slot.at, true)).toBe(2n)
  expect(place('sb:oldest.payload.view')).toEqual({ path: 'metadata/superblock.oldest', at: { byte: 28 + 18 } })
  expect((await locate('metadata/journal.wal:byte[1/2]')).at).toBe(Math.floor(wal.length / 2))
})

it.each([
  'log',
  'log:',
  'log:chunk',
  'log:entry[1]',
  'index:entry[x]',
  'wal:op[1].header.nothing',
  'sb:third',
  'sb:a.payload.x',
])('%s is no address, and is told so with what would be one', text => {
  expect(() => place(text)).toThrow(BadAddress)
  expect(() => place(text)).toThrow(/expected/)
})

it('every edit is recorded with what stood there, and taken back to the byte', async () => {
  const { run, runner } = await stopped()
  const { path, at } = place('log:chunk[1].body+17')
  const file = `${PARTITION_DIRECTORY}/${'0'.repeat(20)}.log`
  const whole = (await runner.readFile(0, file))!.slice()
  await run.surgeon.edit(0, { edit: 'flip', path, at, mask: 1 })
  await run.surgeon.edit(0, { edit: 'truncate', path, to: at })
  await run.surgeon.edit(0, { edit: 'delete', path })
  const [flipped, cut, gone] = run.surgeon.records
  expect(Number.parseInt(flipped!.from.slice(0, 2), 16) ^ Number.parseInt(flipped!.to.slice(0, 2), 16)).toBe(1)
  expect(cut).toMatchObject({ at: flipped!.at, before: flipped!.after, after: { bytes: flipped!.at } })
  expect(gone).toMatchObject({ after: null, undone: false })
  for (let turn = 0; turn < 3; turn++) await run.surgeon.undo(0)
  expect(await runner.readFile(0, file)).toEqual(whole)
  expect(run.surgeon.records.map(({ undone }) => undone)).toEqual([true, true, true, false, false, false])
  await expect(run.surgeon.undo(0)).rejects.toThrow('no edit of node 0 is left')
})

it('what has changed since is not taken back, and a node with a process is left alone', async () => {
  const { run, runner } = await stopped()
  const { path, at } = place('wal:entry[-1].body+4')
  await run.surgeon.edit(0, { edit: 'flip', path, at, mask: 1 })
  await runner.writeFile(0, 'metadata/journal.wal', new Uint8Array([1]))
  await expect(run.surgeon.undo(0)).rejects.toThrow('has changed since')
  await run.surgeon.edit(0, { edit: 'delete', path })
  // Also one that is still booting.
  await runner.start(0)
  await expect(run.surgeon.edit(0, { edit: 'copy', path: 'metadata/superblock.a', to: 'x' })).rejects.toThrow(CannotAct)
  await expect(run.surgeon.undo(0)).rejects.toThrow(CannotAct)
})
