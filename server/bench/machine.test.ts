import { expect, it } from 'vitest'
import { busyReason, look, machine, requireQuiet } from './machine.ts'

const QUIET = { load: 0.4, cores: 2, jitter: 1.02 }

it('a busy machine is refused by its load and by its jitter, and measured all the same when that is asked for, which is said', () => {
  const said: string[] = []
  const say = (line: string) => said.push(line)
  expect(requireQuiet(false, say, QUIET)).toEqual(QUIET)
  expect(said).toEqual([])
  for (const busy of [
    { ...QUIET, load: 1.01 },
    { ...QUIET, jitter: 1.4 },
  ]) {
    expect(() => requireQuiet(false, say, busy)).toThrowError(expect.objectContaining({ code: 'MachineBusy' }))
    expect(requireQuiet(true, say, busy)).toEqual(busy)
  }
  expect(said).toEqual([expect.stringMatching(/^forced: .*load/), expect.stringMatching(/^forced: .*as long/)])
  expect(busyReason({ ...QUIET, load: 1, jitter: 1.25 })).toBeUndefined()
})

it('says what the machine is', () => {
  expect(machine()).toMatchObject({ cores: look().cores, node: process.version })
})
