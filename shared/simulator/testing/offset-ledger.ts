/**
 * What clients were told of one partition: which payload each offset was confirmed for, by replies and by polls. Insert-only;
 * a second payload at an offset is the one thing that must never happen (design.md §3, What an acknowledgement survives).
 */
import { ClientError } from '../../client/errors.ts'
import type { World } from '../world.ts'

const TOPIC = { stream: 's', topic: 't', partition: 0 }

export class OffsetLedger {
  readonly seen = new Map<bigint, string>()
  readonly acknowledged = new Map<bigint, string>()

  confirm(offset: bigint, payload: string): void {
    const before = this.seen.get(offset)
    if (before !== undefined && before !== payload)
      throw new Error(`offset ${offset} was given to ${before} and to ${payload}`)
    this.seen.set(offset, payload)
  }
}

/** Writes one message at a time until `done`; a write of unknown outcome is not repeated. */
export async function writeUntil(world: World, name: string, ledger: OffsetLedger, done: () => boolean): Promise<void> {
  const nodes = world.nodes.map(({ id }) => id as number)
  const client = world.client([world.below(nodes.length), ...nodes])
  for (let number = 0; !done(); number++) {
    const payload = `${name}-${number}`
    try {
      const confirmed = await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
      ledger.confirm(confirmed!.baseOffset, payload)
      ledger.acknowledged.set(confirmed!.baseOffset, payload)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    }
    await new Promise<void>(resolve => world.timeline.after(5_000 + world.below(30_000), resolve))
  }
  client.close()
}

/** Everything that a node serves, in order; each message enters the ledger. */
export async function readAll(world: World, node: number, ledger?: OffsetLedger): Promise<Map<bigint, string>> {
  const client = world.client([node], { followLeader: false })
  const all = new Map<bigint, string>()
  for (let from = 0n; ; ) {
    const { messages } = await world.drive(
      client.poll({ ...TOPIC, strategy: { kind: 'offset', offset: from }, count: 500 }),
    )
    if (messages.length === 0) break
    for (const { offset, payload } of messages) {
      const text = new TextDecoder().decode(payload)
      if (offset < from) throw new Error(`a poll from ${from} gave offset ${offset}`)
      all.set(offset, text)
      ledger?.confirm(offset, text)
      from = offset + 1n
    }
  }
  client.close()
  return all
}
