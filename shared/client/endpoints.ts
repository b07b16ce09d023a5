/** The places where a client may find the cluster: those it was given, and those it has learned from rosters. */
import type { Roster } from '../protocol/roster.ts'
import type { Endpoint } from './ports.ts'

export class Endpoints {
  private list: readonly Endpoint[]

  constructor(given: readonly Endpoint[]) {
    if (given.length === 0) throw new RangeError('a client needs an endpoint')
    this.list = given
  }

  /** In the order in which they should be tried. */
  all(): readonly Endpoint[] {
    return this.list
  }

  /** A place that failed is tried last: a stopped process still accepts connections, and then says nothing. */
  demote(endpoint: Endpoint): void {
    this.list = [...this.list.filter(other => !sameEndpoint(other, endpoint)), endpoint]
  }

  learn(roster: Roster): void {
    for (const { ip, tcp } of roster.nodes) {
      const node = { host: ip, port: tcp }
      if (tcp !== 0 && !this.list.some(known => sameEndpoint(known, node))) this.list = [...this.list, node]
    }
  }
}

const LOCAL = /^(localhost|::1|\[::1\])$/
/** Same place, however it is written (spec wire.md §2.6). */
export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  const plain = (host: string) => host.replace(/^::ffff:/, '').replace(LOCAL, '127.0.0.1')
  return a.port === b.port && plain(a.host) === plain(b.host)
}
