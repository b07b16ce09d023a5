/**
 * The roster, command 12 (spec wire.md §6.1).
 *
 *   clusterName text32 | count u32 | per node: name text32 | ip text32 | tcp u16 | quic u16 | http u16 | websocket u16
 *                                    | role u8 | status u8
 *
 * A port of 0 is a transport that is off. Official clients throw on any status above 4.
 */
import { type CodecValue, enum8, list32, struct, text32, u16 } from './codec.ts'

export const rosterNode = struct({
  name: text32,
  ip: text32,
  tcp: u16,
  quic: u16,
  http: u16,
  websocket: u16,
  role: enum8({ leader: 0, follower: 1 }),
  status: enum8({ healthy: 0, starting: 1, stopping: 2, unreachable: 3, maintenance: 4, unknown: 5 }),
})
export type RosterNode = CodecValue<typeof rosterNode>

export const roster = struct({ clusterName: text32, nodes: list32(rosterNode) })
export type Roster = CodecValue<typeof roster>

/** First node that is leader and healthy; the one to which a client settles (§6.3). */
export const rosterLeader = (value: Roster): RosterNode | undefined =>
  value.nodes.find(node => node.role === 'leader' && node.status === 'healthy')
