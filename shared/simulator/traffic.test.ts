import { expect, test } from 'vitest'
import { Command } from '../protocol/commands.ts'
import { Traffic } from './traffic.ts'

const frame = (command: number) => new Uint8Array(256).fill(command, 60, 61)

test('an op may cost so many frames and no more; what is said because time has passed is not counted', () => {
  const traffic = new Traffic(4)
  traffic.sent(frame(Command.Prepare))
  traffic.begin(10)
  for (let index = 0; index < 8; index++) traffic.sent(frame(index % 2 ? Command.Prepare : Command.PrepareOk))
  for (let index = 0; index < 100; index++) traffic.sent(frame(Command.Commit))
  expect(traffic.end(12)).toBeUndefined()
  traffic.sent(frame(Command.PrepareOk))
  expect(traffic.end(12)).toMatch('9 frames for 2 committed ops')
})

test('nobody counts where no bound is set', () => {
  const traffic = new Traffic(undefined)
  traffic.begin(0)
  for (let index = 0; index < 100; index++) traffic.sent(frame(Command.Prepare))
  expect(traffic.end(1)).toBeUndefined()
})
