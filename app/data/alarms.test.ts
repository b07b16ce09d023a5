import { expect, it } from 'vitest'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import { alarmsOf } from './alarms.ts'

const exited = (consoleSeq: number, data: EventEnvelope['data']): EventEnvelope => ({
  v: 1,
  node: CONSOLE_NODE,
  boot: 'r',
  seq: 1,
  monoUs: 0,
  wallUs: '1',
  plane: 'node',
  group: 'node',
  kind: 'process_exited',
  class: 'fact',
  data: { node: 1, ...data },
  consoleSeq,
})

it('an end that nobody asked for is an alarm, once, and one that was asked for is none', () => {
  const said = (event: EventEnvelope) => alarmsOf({ event: 'batch', data: [event] }, 10).map(item => item.words)
  expect(said(exited(11, { state: 'crashed', status: 74, meaning: 'a persist failed' }))).toEqual([
    'node-1 ended by itself.',
  ])
  expect(said(exited(11, { state: 'refused', status: 3 }))).toEqual(['node-1 refused to boot.'])
  expect(said(exited(11, { state: 'stopped', signal: 'SIGKILL', requested: 'kill' }))).toEqual([])
  expect(said(exited(10, { state: 'crashed', status: 74 })), 'history').toEqual([])
})
