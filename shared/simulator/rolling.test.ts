/** One node at a time crashes and comes back while writes go on: nothing acknowledged is lost, no offset has two payloads. */
import { expect, test } from 'vitest'
import { ClientError } from '../client/errors.ts'
import { commitsAgree, newWorld, startAll } from './testing/worlds.ts'
import type { World } from './world.ts'

interface Ledger {
  readonly acknowledged: Map<bigint, string>
  sent: number
}

/** Writes until `done`; a write of unknown outcome is not repeated. */
async function writer(world: World, name: string, ledger: Ledger, done: () => boolean): Promise<void> {
  const client = world.client([world.below(3), 0, 1, 2])
  for (let number = 0; !done(); number++) {
    const payload = `${name}-${number}`
    ledger.sent++
    try {
      const confirmed = await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload }])
      const offset = confirmed!.baseOffset
      expect(ledger.acknowledged.get(offset), `offset ${offset} was given to two payloads`).toBeUndefined()
      ledger.acknowledged.set(offset, payload)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    }
    await new Promise<void>(resolve => world.timeline.after(20_000 + world.below(60_000), resolve))
  }
  client.close()
}

async function contents(world: World, node: number): Promise<Map<bigint, string>> {
  const client = world.client([node], { followLeader: false })
  const all = new Map<bigint, string>()
  for (let next = 0n; ; ) {
    const { messages } = await world.drive(
      client.poll({
        stream: 's',
        topic: 't',
        partition: 0,
        strategy: { kind: 'offset', offset: next },
        count: 500,
      }),
    )
    if (messages.length === 0) break
    for (const { offset, payload } of messages) {
      all.set(offset, new TextDecoder().decode(payload))
      // Where too few remembered the numbers jump.
      next = offset + 1n
    }
  }
  client.close()
  return all
}

const SEEDS = Array.from({ length: Number(process.env.ROLLING_SEEDS ?? 2) }, (_, index) => BigInt(index + 1))

test.each(SEEDS)(
  'rolling crashes (seed %s)',
  async seed => {
    const world = newWorld({ seed, nodes: 3 })
    await startAll(world)
    const creator = world.client([0])
    await world.drive(creator.createStream('s'))
    await world.drive(
      creator.createTopic('s', 't', 1, seed % 2n === 0n ? { enforceFsync: true, messagesRequiredToSave: 1 } : {}),
    )
    creator.close()
    const ledger: Ledger = { acknowledged: new Map(), sent: 0 }
    let over = false
    const writers = Promise.all(['a', 'b', 'c'].map(name => writer(world, name, ledger, () => over)))
    writers.catch(() => {})
    for (let round = 0; round < 4; round++) {
      await world.run(1_000 + world.below(4_000))
      const victim = world.below(3)
      world.kill(victim)
      await world.run(500 + world.below(9_000))
      world.start(victim)
      const recovered = await world.until(() => world.isRunning(victim) && commitsAgree(world), 60_000)
      expect(recovered, `node ${victim} did not catch up in round ${round}`).toBe(true)
    }
    over = true
    await world.drive(writers, 120_000)
    expect(await world.until(() => commitsAgree(world), 30_000)).toBe(true)
    const [first, ...others] = [await contents(world, 0), await contents(world, 1), await contents(world, 2)]
    for (const other of others) expect(other).toEqual(first)
    for (const [offset, payload] of ledger.acknowledged) expect(first!.get(offset)).toBe(payload)
    expect(ledger.acknowledged.size).toBeGreaterThan(20)
    for (const node of world.nodes) expect(node.exit).toBeUndefined()
  },
  180_000,
)
