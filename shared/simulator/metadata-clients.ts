/**
 * Clients that change all of the metadata there is and read it back, one with the leader and one that stays on the node it
 * has dialled: the answers are the checker's to judge (checkers/answers.ts), and nothing is known of them here. They have
 * dice and names of their own.
 */
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import { ClientLives } from './client-lives.ts'
import type { Dice } from './dice.ts'
import type { World } from './world.ts'

/** Of the names of their streams: nobody else's begins like that. */
export const METADATA_PREFIX = 'meta-'
const PAUSE_MS = 600
const CALL_BUDGET_MS = 8_000
const NAMES = ['a', 'b'] as const
const PARTITIONS_MAX = 3

export class MetadataClients extends ClientLives {
  private readonly world: World
  private readonly dice: Dice

  constructor(world: World, dice: Dice) {
    super()
    this.world = world
    this.dice = dice
  }

  begin(): void {
    for (const leads of [true, false]) this.watch(this.life(leads))
  }

  private async life(leads: boolean): Promise<void> {
    const { dice, world } = this
    const nodes = world.nodes.map(({ id }) => id as number)
    const first = dice.below(nodes.length)
    const client = world.client([...nodes.slice(first), ...nodes.slice(0, first)], {
      followLeader: leads,
      budgetMs: CALL_BUDGET_MS,
      requestTimeoutMs: 4_000,
    })
    while (!this.stopping) {
      await new Promise<void>(resolve => {
        world.timeline.after(Math.max(1, dice.exponential(PAUSE_MS)) * 1_000, resolve)
      })
      if (this.stopping) break
      try {
        // A write is followed by a read at once: what was answered must be there.
        if (leads && dice.chance(0.6)) await this.write(client)
        await this.read(client)
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
      }
    }
    client.close()
  }

  private name(): string {
    return `${METADATA_PREFIX}${this.dice.pick(NAMES)}`
  }

  /** Most of these meet what they need, some are refused: both are answers. */
  private async write(client: Client): Promise<unknown> {
    const { dice } = this
    const [stream, topic] = [this.name(), dice.pick(NAMES)]
    switch (dice.below(12)) {
      case 0:
      case 1:
        return client.createStream(stream)
      case 2:
        return client.updateStream(stream, this.name())
      case 3:
        return client.deleteStream(stream)
      case 4:
      case 5:
      case 6: {
        const expiry = dice.chance(0.5) ? { messageExpiry: 86_400_000_000n } : {}
        return client.createTopic(stream, topic, dice.between(0, PARTITIONS_MAX), expiry)
      }
      case 7:
        return client.updateTopic(stream, topic, dice.pick(NAMES), { compressionAlgorithm: 'gzip' })
      case 8:
        return client.deleteTopic(stream, topic)
      case 9:
        return dice.chance(0.5)
          ? client.createPartitions(stream, topic, dice.between(1, 2))
          : client.deletePartitions(stream, topic, dice.between(1, 2))
      case 10:
        return dice.chance(0.5) ? client.purgeStream(stream) : client.purgeTopic(stream, topic)
      default: {
        const expiry = dice.chance(0.5) ? 0n : 30_000_000n
        return dice.chance(0.6) ? client.createToken(topic, expiry) : client.deleteToken(topic)
      }
    }
  }

  private read(client: Client): Promise<unknown> {
    const stream = this.name()
    switch (this.dice.below(6)) {
      case 0:
        return client.streams()
      case 1:
        return client.stream(stream)
      case 2:
        return client.topics(stream)
      case 3:
        return client.topic(stream, this.dice.pick(NAMES))
      case 4:
        return client.tokens()
      default:
        return client.stats()
    }
  }
}
