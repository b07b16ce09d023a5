import { describe, expect, it } from 'vitest'
import { ClientId } from '../../../shared/bytes/units.ts'
import { ClientTable } from '../../../shared/metadata/client-table.ts'
import {
  agreedOn,
  differences,
  evictionOrder,
  leadingTable,
  retryVerdict,
  sessionRows,
  type TableEntry,
} from './sessions.ts'
import { clientsSituation } from './situation.ts'

const entry = (client: string, slot: number, latestCommit: string, more: Partial<TableEntry> = {}): TableEntry => ({
  client,
  slot,
  session: '1',
  user: 1,
  watermark: '4',
  cachedReplies: 1,
  latestCommit,
  ...more,
})
const reporter = { node: 0, boot: 'b', takenWallUs: '0', takenMonoUs: 0, seq: 0 }
const tableOf = (node: number, ...table: TableEntry[]) => ({
  node,
  snapshot: { reporter: { ...reporter, node }, connections: [], slots: 8, table },
})

describe('the client tables side by side', () => {
  it('names first whom the engine lets go first, to the last of a full table', () => {
    const table = new ClientTable(4)
    const reply = (commit: bigint, request: bigint) => ({
      request,
      requestChecksum: 0n,
      commit,
      frame: new Uint8Array(),
    })
    for (const [client, commit] of [
      [5n, 1n],
      [6n, 2n],
      [7n, 3n],
      [8n, 4n],
    ] as const)
      table.commitRegister(ClientId(client), 1, reply(commit, 0n))
    table.commitReply(ClientId(5n), reply(9n, 1n))
    const rows = [...table.entries()].map(([slot, held]) =>
      entry(held.client.toString(16), slot, held.latestCommit.toString()),
    )
    expect(evictionOrder(rows)[0]!.client).toBe(table.victim()!.client.toString(16))
    expect(evictionOrder(rows).map(row => row.client)).toEqual(['6', '7', '8', '5'])
    expect(evictionOrder([entry('b', 3, '9'), entry('a', 1, '9'), entry('c', 2, '10')]).map(row => row.slot)).toEqual([
      1, 3, 2,
    ])
  })

  it('take the order of whoever has applied the most, and mark what another node lacks or has otherwise', () => {
    const behind = tableOf(0, entry('a', 0, '5'), entry('b', 1, '6'))
    const ahead = tableOf(
      1,
      entry('a', 0, '18446744073709551615', { watermark: '9' }),
      entry('b', 1, '6'),
      entry('c', 2, '7'),
    )
    expect(leadingTable([behind, ahead])!.node).toBe(1)
    const rows = sessionRows([behind, ahead])
    expect(rows.map(row => [row.client, row.rank, row.slot])).toEqual([
      ['b', 1, 1],
      ['c', 2, 2],
      ['a', 3, 0],
    ])
    expect([...differences(rows[0]!, [0, 1])]).toEqual([])
    expect([...differences(rows[2]!, [0, 1])]).toEqual(['watermark', 'latestCommit'])
    expect(differences(rows[1]!, [0, 1]).size).toBe(5)
    expect(agreedOn(rows[2]!, [0, 1], 'session')).toBe('1')
    expect(agreedOn(rows[2]!, [0, 1], 'watermark')).toBeUndefined()
  })

  it('are compared by those that answer, and say who does not', () => {
    const equal = [tableOf(1, entry('a', 0, '5')), tableOf(2, entry('a', 0, '5'))]
    const words = clientsSituation(sessionRows(equal), equal, ['node-0 was killed'])
    expect(words.what).toBe('1 session, the same on node-1 and node-2.')
    expect(words.why).toContain('node-0 was killed.')
    expect(clientsSituation(sessionRows(equal), equal, [], 6_000).label).toBe('Client table, as it was 6 s ago')
    const alone = equal.slice(0, 1)
    expect(clientsSituation(sessionRows(alone), alone, []).what).toBe('1 session, as node-1 alone has them.')
    const behind = [equal[0]!, tableOf(2)]
    expect(clientsSituation(sessionRows(behind), behind, []).what).toBe('1 session differs between nodes now.')
    expect(clientsSituation([], [], ['node-0 is paused']).why).toContain('node-0 is paused')
  })

  it('say what becomes of a request that comes again', () => {
    const session = {
      reporter,
      client: '7',
      slot: 0,
      session: '1',
      user: 1,
      watermark: '18446744073709551614',
      watermarkChecksum: '0',
      latestCommit: '9',
      replies: [
        {
          request: '18446744073709551614',
          requestChecksum: '0',
          commit: '9',
          operation: 128,
          status: 0,
          lengthBytes: 256,
        },
      ],
    }
    expect(retryVerdict(session, 18_446_744_073_709_551_615n)).toBe('new')
    expect(retryVerdict(session, 18_446_744_073_709_551_614n)).toBe('duplicate')
    expect(retryVerdict(session, 18_446_744_073_709_551_613n)).toBe('already_applied')
    expect(retryVerdict(undefined, 1n)).toBe('no_session')
  })
})
