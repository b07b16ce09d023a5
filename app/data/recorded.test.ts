/** How much of a recording is read at a time. */
import { afterEach, expect, it } from 'vitest'
import type { RecordedLine } from '../../shared/inspection/recording.ts'
import { readRecorded } from '../../shared/inspection/testing/recorded.ts'
import { EMPTY_VIEW } from '../../shared/inspection/view.ts'
import { messages } from './recorded.ts'
import { history } from './store.ts'

const snapshot = readRecorded('kill-backup-then-primary').find(({ message }) => message.event === 'snapshot')!.message
const source = { keep: () => {} }
afterEach(() => history.clear())

/** Ten batches with a console sequence each, read by a tab that spends its budget of history behind the third. */
async function read(asked?: number): Promise<number[]> {
  history.picture(EMPTY_VIEW, { until: 0, atMs: 0 })
  async function* lines() {
    for (let seq = 1; seq <= 10; seq++)
      yield { t: seq, event: 'batch', data: [{ consoleSeq: seq }] } as unknown as RecordedLine
  }
  const seen: number[] = []
  for await (const { message } of messages(lines(), source, asked)) {
    if (message.event === 'batch') seen.push(message.data[0]!.consoleSeq!)
    if (seen.length === 3) while (!history.full) history.state(snapshot, { until: 0, atMs: 0 })
  }
  return seen
}

it('ends before history would give up the beginning of it', async () => {
  expect(await read()).toEqual([1, 2, 3])
})

it('goes on to the moment that is asked for, which is what an address is opened for', async () => {
  expect(await read(7)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})
