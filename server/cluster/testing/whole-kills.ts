/**
 * All three nodes of a cluster SIGKILLed at once under load, round after round (design.md §3, What an acknowledgement
 * survives): an eager topic and a default one, written and read all the while. What a reply or a poll has confirmed for an
 * offset is kept; the end compares it with what every node serves and with the bytes of the segments.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { Client } from '../../../shared/client/client.ts'
import { ClientError } from '../../../shared/client/errors.ts'
import { packGroup } from '../../../shared/protocol/groups.ts'
import { OffsetLedger } from '../../../shared/simulator/testing/offset-ledger.ts'
import type { LaunchEntry } from '../launcher.ts'
import { RealRunner } from '../scenario-runner.ts'

const NODES = [0, 1, 2]
const TOPICS = ['eager', 'default'] as const
type Topic = (typeof TOPICS)[number]
const LANES = 2
const BATCH = 4
const PAUSE_MS = 15
const STEP_MS = 120_000
const MIB = 1024n * 1024n
/** Enough for a segment every few rounds. */
const PAYLOAD_BYTES = 400
const TOLD: ReadonlySet<string> = new Set([
  'jump_announced',
  'gap_planted',
  'view_started',
  'view_adopted',
  'log_left',
  'transfer_needed',
  'transfer_installed',
  'tail_set_aside',
  'append_refused',
  'missing_range',
  'partition_materialised',
])
const to = { kind: 'partition', partition: 0 } as const

const text = (bytes: Uint8Array): string => {
  const whole = new TextDecoder().decode(bytes)
  return whole.slice(0, whole.indexOf(' '))
}

export class WholeKills {
  readonly runner: RealRunner
  private readonly ledgers: Record<Topic, OffsetLedger> = { eager: new OffsetLedger(), default: new OffsetLedger() }
  private readonly writers: Promise<void>[] = []
  private readonly wrong: string[] = []
  private stopping = false
  private sent = 0

  private constructor(runner: RealRunner) {
    this.runner = runner
  }

  static async open(hash: Hash, entry: LaunchEntry): Promise<WholeKills> {
    const runner = await RealRunner.open(
      { nodes: NODES.length, settings: { 'cluster.heartbeat_timeout': '2 s' } },
      { hash, entry },
    )
    const kills = new WholeKills(runner)
    try {
      await kills.begin()
      return kills
    } catch (error) {
      await kills.close()
      throw error
    }
  }

  private async begin(): Promise<void> {
    const { runner } = this
    await Promise.all(NODES.map(node => runner.start(node)))
    const client = runner.client(NODES, { budgetMs: 30_000 })
    await client.createStream('s')
    await client.createTopic('s', 'eager', 1, { enforceFsync: true, messagesRequiredToSave: 1, segmentSize: MIB })
    await client.createTopic('s', 'default', 1, { segmentSize: MIB })
    client.close()
    for (const topic of TOPICS)
      for (let lane = 0; lane < LANES; lane++) this.writers.push(this.write(topic, `${topic}-${lane}`))
    await this.flowing(0)
  }

  /** However it went: no process, no file and no load is left. */
  async close(): Promise<void> {
    this.stopping = true
    await this.runner.close()
  }

  /** Kills all nodes in one breath and starts them in this order; resolves when both topics acknowledge again. */
  async killAll(order: readonly number[]): Promise<number> {
    for (const topic of TOPICS) await this.readTail(topic)
    await Promise.all(NODES.map(node => this.runner.kill(node)))
    const killedMs = this.runner.nowMs()
    for (const node of order) {
      await this.runner.start(node)
      await this.runner.sleep(Math.random() * 400)
    }
    await this.flowing(this.acknowledged('eager') + this.acknowledged('default'))
    return Math.round(this.runner.nowMs() - killedMs)
  }

  /** Stops the load and says all that does not hold: nothing, when all is well. */
  async judge(): Promise<{ wrong: readonly string[]; words: string; story: string }> {
    const { runner, wrong } = this
    this.stopping = true
    await Promise.all(this.writers)
    await this.until('all are level', () => this.level())
    let lost = 0
    for (const topic of TOPICS) {
      const contents: Map<bigint, string>[] = []
      for (const node of NODES) contents.push(await this.readAll(topic, node))
      const [first] = contents
      for (const [node, content] of contents.entries()) {
        if (content.size !== first!.size) wrong.push(`${topic}: node ${node} serves ${content.size} of ${first!.size}`)
        for (const [offset, payload] of content)
          if (first!.get(offset) !== payload) wrong.push(`${topic}: offset ${offset} differs on node ${node}`)
      }
      for (const [offset, payload] of this.ledgers[topic].acknowledged) {
        if (first!.get(offset) === payload) continue
        if (topic === 'eager') wrong.push(`eager: ${payload} was acknowledged at ${offset} and is lost`)
        else if (this.said(offset)) lost += 1
        else wrong.push(`default: the loss of offset ${offset} was never said`)
      }
    }
    for (const node of NODES) await runner.terminate(node)
    const sealed = this.compareSealed()
    const words = `${TOPICS.map(topic => `${this.acknowledged(topic)} ${topic}`).join(' and ')} messages acknowledged, ${lost} of the default ones lost with their memory and said to be, ${sealed} sealed segments equal`
    if (TOPICS.some(topic => this.acknowledged(topic) === 0) || sealed === 0) wrong.push(`nothing was proven: ${words}`)
    return { wrong, words, story: wrong.length > 0 ? this.story() : '' }
  }

  /** How the logs of the partitions began, round by round: what to look at when something is wrong. */
  private story(): string {
    return this.runner
      .events()
      .filter(({ kind, plane }) => plane === 'partition' && TOLD.has(kind))
      .map(({ node, kind, group, view, op, data }) => JSON.stringify({ node, kind, group, view, op, ...data }))
      .join('\n')
  }

  private acknowledged(topic: Topic): number {
    return this.ledgers[topic].acknowledged.size
  }

  private async write(topic: Topic, name: string): Promise<void> {
    const client = this.runner.client(NODES, { budgetMs: 20_000, requestTimeoutMs: 5_000 })
    while (!this.stopping) {
      const payloads = Array.from({ length: BATCH }, () => `${name}-${this.sent++} `)
      try {
        const messages = payloads.map(payload => ({ payload: payload.padEnd(PAYLOAD_BYTES, '.') }))
        const confirmed = await client.sendMessages('s', topic, to, messages)
        if (confirmed)
          for (const [index, payload] of payloads.entries())
            this.confirm(topic, confirmed.baseOffset + BigInt(index), payload.trim(), true)
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
      }
      await this.runner.sleep(PAUSE_MS)
    }
    client.close()
  }

  /** By a reply, or by a poll: either way nothing else may ever be there. */
  private confirm(topic: Topic, offset: bigint, payload: string, acknowledged: boolean): void {
    const ledger = this.ledgers[topic]
    try {
      ledger.confirm(offset, payload)
    } catch (error) {
      this.wrong.push(`${topic}: ${(error as Error).message}`)
    }
    if (acknowledged) ledger.acknowledged.set(offset, payload)
  }

  /** What a consumer sees just before the kill: much of it is only in memory. */
  private async readTail(topic: Topic): Promise<void> {
    const client = this.runner.client(NODES, { budgetMs: 10_000 })
    try {
      const poll = { stream: 's', topic, partition: 0, strategy: { kind: 'last' }, count: 50 } as const
      for (const { offset, payload } of (await client.poll(poll)).messages)
        this.confirm(topic, offset, text(payload), false)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    } finally {
      client.close()
    }
  }

  private async readAll(topic: Topic, node: number): Promise<Map<bigint, string>> {
    const client: Client = this.runner.client([node], { budgetMs: 30_000, followLeader: false })
    const all = new Map<bigint, string>()
    for (let from = 0n; ; ) {
      const strategy = { kind: 'offset', offset: from } as const
      const { messages } = await client.poll({ stream: 's', topic, partition: 0, strategy, count: 1_000 })
      if (messages.length === 0) break
      for (const { offset, payload } of messages) {
        all.set(offset, text(payload))
        this.confirm(topic, offset, text(payload), false)
        from = offset + 1n
      }
    }
    client.close()
    return all
  }

  /** Whether a new primary named this offset of the default topic among what may be lost. */
  private said(offset: bigint): boolean {
    const group = packGroup({ stream: 0, topic: 1, partition: 0 }).toString()
    return this.runner
      .events()
      .some(
        ({ kind, group: of, data }) =>
          kind === 'jump_announced' &&
          of === group &&
          BigInt(String(data.first ?? 0)) <= offset &&
          offset <= BigInt(String(data.last ?? -1)),
      )
  }

  /** Segments that are sealed on every node; the tail of each chain is not among them. */
  private compareSealed(): number {
    let equal = 0
    for (const [index, topic] of TOPICS.entries()) {
      const chains = NODES.map(node => {
        const { dataDirectory } = this.runner.supervisor.status().nodes[node]!
        const directory = join(dataDirectory, `streams/0/topics/${index}/partitions/0`)
        return readdirSync(directory)
          .filter(name => name.endsWith('.log'))
          .sort()
          .map(name => ({ name, bytes: readFileSync(join(directory, name)) }))
      })
      const shortest = Math.min(...chains.map(chain => chain.length)) - 1
      for (let segment = 0; segment < shortest; segment++) {
        const [one, ...others] = chains.map(chain => chain[segment]!)
        for (const other of others) {
          if (other.name !== one!.name)
            this.wrong.push(`${topic}: segment ${segment} is ${one!.name} and ${other.name}`)
          else if (!other.bytes.equals(one!.bytes)) this.wrong.push(`${topic}: ${one!.name} differs between nodes`)
        }
        equal += 1
      }
    }
    return equal
  }

  /** Both topics have acknowledged more than this, together, and something each. */
  private flowing(before: number): Promise<void> {
    const each = TOPICS.map(topic => this.acknowledged(topic))
    return this.until('both topics acknowledge', () => {
      const now = TOPICS.map(topic => this.acknowledged(topic))
      return now[0]! + now[1]! > before + 20 * BATCH && now.every((count, index) => count > each[index]!)
    })
  }

  private async level(): Promise<boolean> {
    const nodes = await Promise.all(NODES.map(node => this.runner.groups(node)))
    const commits = nodes.map(groups =>
      groups?.map(({ group, status, commitMin, commitMax }) =>
        status === 'normal' && commitMin === commitMax ? `${group} ${commitMin}` : undefined,
      ),
    )
    if (commits.some(each => each === undefined || each.length !== 3 || each.includes(undefined))) return false
    const sorted = commits.map(each => JSON.stringify([...each!].sort()))
    return new Set(sorted).size === 1
  }

  private async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const limit = this.runner.nowMs() + STEP_MS
    while (!(await condition())) {
      for (const node of NODES) {
        const { state, code } = this.runner.process(node)
        if (state === 'refused' || state === 'crashed') throw new Error(`node ${node} ${state}: ${code}`)
      }
      if (this.runner.nowMs() > limit) throw new Error(`not within ${STEP_MS} ms: ${what}`)
      await this.runner.progress()
    }
  }
}
