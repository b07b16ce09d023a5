import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHash } from '../../../shared/bytes/hash.ts'
import { type LoadSettingsInput, loadSettings, loadState } from '../../../shared/inspection/api.ts'
import { Latencies } from './latency.ts'
import { Load } from './load.ts'
import { decodePayload, encodePayload } from './payload.ts'
import type { LoadCluster, LoadSession, ReadMessage, SendOutcome } from './ports.ts'
import { Router } from './router.ts'
import { SECONDS, Seconds } from './seconds.ts'

const hash = await createHash()

/** Three nodes over one log in memory. Only the primary takes writes; everybody reads. */
class FakeCluster implements LoadCluster {
  readonly logs: ReadMessage[][]
  primary = 0
  readonly alive = new Set([0, 1, 2])
  /** Decides the outcome of the next writes; undefined stores and acknowledges. */
  fate:
    | ((
        partition: number,
        count: number,
      ) => SendOutcome | 'store_and_lose_answer' | 'ack_and_forget' | 'twice' | undefined)
    | undefined
  opened = 0
  /** Nothing at or above is visible to readers. */
  visible = Number.POSITIVE_INFINITY

  constructor(partitions = 2) {
    this.logs = Array.from({ length: partitions }, () => [])
  }

  candidates(): readonly number[] {
    // Whoever names the candidates need not know yet who died.
    return [0, 1, 2]
  }
  async ensureTopic() {
    return { stream: 1, topic: 2, partitions: this.logs.length }
  }
  async open(node: number): Promise<LoadSession> {
    this.opened += 1
    if (!this.alive.has(node))
      throw Object.assign(new Error('connection refused'), { code: 'CannotEstablishConnection' })
    return {
      node,
      send: async (partition, payloads) => this.#send(node, partition, payloads),
      read: async (partition, offset, count) => {
        this.#check(node)
        const end = Math.min(this.visible, this.logs[partition]!.length)
        return {
          currentOffset: BigInt(Math.max(0, end - 1)),
          messages: this.logs[partition]!.slice(0, end).slice(Number(offset), Number(offset) + count),
        }
      },
      readLast: async partition => {
        this.#check(node)
        const messages = this.logs[partition]!.slice(-1)
        return { currentOffset: messages[0]?.offset ?? 0n, messages }
      },
      close: () => {},
    }
  }
  #check(node: number): void {
    if (!this.alive.has(node)) throw new Error('disconnected')
  }
  #send(node: number, partition: number, payloads: readonly Uint8Array[]): SendOutcome {
    if (!this.alive.has(node)) return { kind: 'unknown', code: 'Disconnected', message: 'gone', ended: true }
    if (node !== this.primary) return { kind: 'refused', code: 'TransientNotAccepted', message: 'not primary' }
    const fate = this.fate?.(partition, payloads.length)
    if (typeof fate === 'object') return fate
    const log = this.logs[partition]!
    const baseOffset = BigInt(log.length)
    const store = (payload: Uint8Array) => log.push({ offset: BigInt(log.length), payload })
    if (fate === 'ack_and_forget') for (const _ of payloads) store(new TextEncoder().encode('somebody else’s message'))
    else payloads.forEach(store)
    if (fate === 'twice') payloads.forEach(store)
    if (fate === 'store_and_lose_answer')
      return { kind: 'unknown', code: 'TaskTimeout', message: 'no answer', ended: true }
    return { kind: 'acked', baseOffset }
  }
}

let cluster: FakeCluster
let load: Load
let events: [string, object][]
beforeEach(() => {
  cluster = new FakeCluster()
  events = []
  load = new Load(
    hash,
    cluster,
    { emit: (kind, data) => events.push([kind, data]), tell: state => loadState.parse(state) },
    () => 0,
  )
})
afterEach(() => load.close())

const start = (settings: LoadSettingsInput = {}) =>
  load.start(
    loadSettings.parse({ ratePerSecond: 5000, batchMessages: 5, connections: 3, messageBytes: 64, ...settings }),
  )
const until = (done: () => boolean) => vi.waitFor(() => expect(done()).toBe(true), { timeout: 20_000, interval: 5 })
const finish = async () => {
  load.stop()
  await until(() => load.state().state === 'done')
  return load.state()
}

describe('a load', () => {
  it('reads back every message that was acknowledged, and says so', async () => {
    start()
    await until(() => load.state().ledger.acked > 500)
    const { ledger, verdict, latency, seconds, partitions, connections } = await finish()
    expect(ledger).toMatchObject({
      acked: ledger.sent,
      readBack: ledger.sent,
      unknown: 0,
      refused: 0,
      lost: 0,
      duplicate: 0,
      corrupt: 0,
      inFlight: 0,
    })
    expect(ledger.sent).toBe(cluster.logs[0]!.length + cluster.logs[1]!.length)
    expect(verdict).toEqual({
      kind: 'nothing_lost',
      words: `all ${ledger.acked} acknowledged messages read back, none lost`,
    })
    expect(latency!.count).toBe(ledger.acked / 5)
    expect(seconds.reduce((sum, second) => sum + second.acked, 0)).toBe(ledger.acked)
    expect(partitions.map(p => [p.acked, p.readOffset])).toEqual(
      cluster.logs.map(log => [log.length, String(log.length)]),
    )
    expect(connections.map(c => c.state)).toEqual(['closed', 'closed', 'closed'])
    expect(events.map(([kind]) => kind)).toEqual(['load_started', 'load_stopped', 'load_verified'])
  })

  it('does not mistake messages of other runs for its own', async () => {
    cluster.logs[0]!.push(
      { offset: 0n, payload: encodePayload(hash, 1n, 0, 0, 64) },
      { offset: 1n, payload: new Uint8Array(3) },
    )
    start()
    await until(() => load.state().ledger.acked > 100)
    cluster.logs[1]!.push({ offset: BigInt(cluster.logs[1]!.length), payload: encodePayload(hash, 2n, 0, 0, 64) })
    const { ledger, verdict } = await finish()
    expect(ledger).toMatchObject({ readBack: ledger.acked, duplicate: 0, corrupt: 0 })
    expect(verdict.kind).toBe('nothing_lost')
  })

  it('goes on with another node when the primary dies, and counts what it cannot know', async () => {
    start()
    await until(() => load.state().ledger.acked > 100)
    cluster.alive.delete(0)
    await until(() => load.state().ledger.unknown > 0)
    expect(load.state().lastError?.code).toMatch(/Disconnected|TransientNotAccepted|CannotEstablishConnection/)
    cluster.primary = 1
    const { acked } = load.state().ledger
    await until(() => load.state().ledger.acked > acked + 100)
    const { ledger, verdict, connections } = await finish()
    expect(ledger).toMatchObject({ readBack: ledger.acked, lost: 0, unknownFound: 0 })
    expect(ledger.sent).toBe(ledger.acked + ledger.unknown + ledger.refused)
    expect(verdict.words).toContain(`${ledger.unknown} with unknown outcome`)
    expect(connections.every(c => c.reconnects > 0)).toBe(true)
  })

  it('reports an outage when it begins and when it ends', async () => {
    start()
    await until(() => load.state().ledger.acked > 10)
    cluster.primary = 9
    await until(() => events.some(([kind]) => kind === 'load_stalled'))
    cluster.primary = 2
    await until(() => events.some(([kind]) => kind === 'load_recovered'))
    expect(events.find(([kind]) => kind === 'load_recovered')![1]).toMatchObject({ outageMs: expect.any(Number) })
    await finish()
  })

  it('finds a message whose answer was lost, and never counts it as lost', async () => {
    let turn = 0
    cluster.fate = () => (++turn % 10 === 0 ? 'store_and_lose_answer' : undefined)
    start()
    await until(() => load.state().ledger.unknown >= 20)
    const { ledger, verdict } = await finish()
    expect(ledger).toMatchObject({ unknownFound: ledger.unknown, readBack: ledger.acked, lost: 0, duplicate: 0 })
    expect(verdict.kind).toBe('nothing_lost')
  })

  it('catches a cluster that acknowledges and forgets', async () => {
    let turn = 0
    cluster.fate = () => (++turn === 7 ? 'ack_and_forget' : undefined)
    start()
    await until(() => load.state().ledger.lost > 0)
    const { ledger, verdict } = await finish()
    expect(ledger.lost).toBe(5)
    expect(verdict).toEqual({ kind: 'lost', words: '5 acknowledged messages not in the log' })
  })

  it('catches a cluster that stores twice', async () => {
    let turn = 0
    cluster.fate = () => (++turn === 3 ? 'twice' : undefined)
    start()
    await until(() => load.state().ledger.duplicate > 0)
    expect((await finish()).verdict).toEqual({ kind: 'duplicate', words: '5 messages stored twice' })
  })

  it('says "not all read" while the reader cannot see what was acknowledged', async () => {
    cluster.visible = 0
    start()
    await until(() => load.state().ledger.acked > 50)
    expect(load.state().verdict.kind).toBe('not_all_read')
    expect(load.state().ledger.lost).toBe(0)
    load.stop()
    await until(() => load.state().state === 'verifying')
    cluster.visible = Number.POSITIVE_INFINITY
    await until(() => load.state().state === 'done')
    expect(load.state().verdict.kind).toBe('nothing_lost')
  })

  it('is one at a time, can be started again, and fails with words when there is nothing to load', async () => {
    start()
    expect(() => start()).toThrow(expect.objectContaining({ code: 'CON_LOAD_RUNNING' }))
    await until(() => load.state().ledger.acked > 0)
    const { run } = await finish()
    expect(() => load.stop()).toThrow(expect.objectContaining({ code: 'CON_LOAD_NOT_RUNNING' }))
    start()
    expect(load.state().run).not.toBe(run)
    await until(() => load.state().ledger.acked > 0)
    await finish()
    cluster.ensureTopic = () => Promise.reject(Object.assign(new Error('no primary'), { code: 'CON_NO_NODE_SERVES' }))
    start()
    await until(() => load.state().state === 'failed')
    expect(load.state().lastError).toMatchObject({ code: 'CON_NO_NODE_SERVES', message: 'no primary' })
  })

  it('goes on at another rate when it is told to, and says which', async () => {
    expect(() => load.changeRate(10)).toThrow(expect.objectContaining({ code: 'CON_LOAD_NOT_RUNNING' }))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] })
    try {
      // One batch a connection, and the next one after 80 s.
      start({ ratePerSecond: 1, batchMessages: 20, connections: 4 })
      await vi.advanceTimersByTimeAsync(2000)
      load.changeRate(400)
      await vi.advanceTimersByTimeAsync(3000)
      const { sent } = load.state().ledger
      expect(load.state().settings).toMatchObject({ ratePerSecond: 400, batchMessages: 20 })
      await vi.advanceTimersByTimeAsync(2000)
      expect(load.state().ledger.sent - sent).toBeGreaterThan(760)
      expect(load.state().ledger.sent - sent).toBeLessThan(840)
    } finally {
      vi.useRealTimers()
    }
  })

  it('sends at the rate that was asked for, and makes no burst of a pause', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] })
    try {
      start({ ratePerSecond: 400, batchMessages: 2 })
      await vi.advanceTimersByTimeAsync(2000)
      const { sent } = load.state().ledger
      expect(sent).toBeGreaterThan(780)
      expect(sent).toBeLessThan(820)
      cluster.primary = 9
      await vi.advanceTimersByTimeAsync(10_000)
      cluster.primary = 0
      const { acked } = load.state().ledger
      await vi.advanceTimersByTimeAsync(3000)
      // Three seconds of rate, and at most one second of what was missed.
      expect(load.state().ledger.acked - acked).toBeLessThan(1700)
      expect(load.state().ledger.acked - acked).toBeGreaterThan(900)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the payload', () => {
  it('names its run, lane and sequence, and notices any changed byte', () => {
    const bytes = encodePayload(hash, 0xfedc_ba98_7654_3210n, 3, 2 ** 40, 100)
    expect(bytes).toHaveLength(100)
    expect(decodePayload(hash, bytes)).toEqual({ run: 0xfedc_ba98_7654_3210n, lane: 3, seq: 2 ** 40, intact: true })
    for (let at = 4; at < bytes.length; at++) {
      const damaged = bytes.slice()
      damaged[at]! ^= 1
      expect(decodePayload(hash, damaged)!.intact).toBe(false)
    }
    expect(decodePayload(hash, new Uint8Array(31))).toBeUndefined()
    expect(decodePayload(hash, new Uint8Array(64))).toBeUndefined()
  })
})

describe('latencies', () => {
  it('give every percentile within two percent', () => {
    const latencies = new Latencies()
    expect(latencies.percentileMs(0.5)).toBeUndefined()
    for (let ms = 1; ms <= 1000; ms++) latencies.add(ms)
    for (const share of [0.01, 0.5, 0.95, 0.99]) {
      const exact = share * 1000
      expect(Math.abs(latencies.percentileMs(share)! - exact) / exact).toBeLessThan(0.021)
    }
    expect(latencies.percentileMs(1)).toBe(1000)
    expect(latencies.maxMs).toBe(1000)
    latencies.add(0)
    latencies.add(1e9)
    expect(latencies.count).toBe(1002)
  })
})

describe('seconds', () => {
  it('G46 have no holes, close their percentiles, and stay bounded', () => {
    const seconds = new Seconds()
    seconds.add(10_200, 'acked', 5, 4)
    seconds.add(13_900, 'sent', 7)
    const list = seconds.list(14_100)
    expect(list.map(second => [second.atMs, second.acked, second.sent])).toEqual([
      [10_000, 5, 0],
      [11_000, 0, 0],
      [12_000, 0, 0],
      [13_000, 0, 7],
      [14_000, 0, 0],
    ])
    expect(list[0]!.p50Ms).toBeCloseTo(4, 0)
    expect(list[1]!.p50Ms).toBeNull()
    for (let second = 15; second < 400; second++) seconds.add(second * 1000, 'sent', 1)
    expect(seconds.list(399_000)).toHaveLength(SECONDS)
    seconds.add(5_000, 'sent', 1)
    expect(seconds.list(5_500)).toHaveLength(1)
  })
})

describe('the router', () => {
  it('stays with a node that works and rests a partition that nobody takes, longer each time', () => {
    let candidates: number[] = [0, 1, 2]
    const router = new Router(
      2,
      () => candidates,
      () => 1,
    )
    expect(router.nodeOf(0)).toBe(0)
    router.failed(0, 0, 1000)
    expect(router.nodeOf(0)).toBe(1)
    expect(router.restsUntilMs(0)).toBe(1025)
    expect(router.next(0, 1000)).toEqual({ partition: 1 })
    router.failed(1, 0, 1000)
    expect(router.next(0, 1000)).toEqual({ waitMs: 25 })
    router.failed(0, 1, 1025)
    expect(router.restsUntilMs(0)).toBe(1075)
    expect(router.nodeOf(0)).toBe(2)
    router.succeeded(0, 2)
    expect(router.restsUntilMs(0)).toBe(0)
    // Another lane's late failure with a node that was left does not undo that.
    router.failed(0, 0, 2000)
    expect(router.nodeOf(0)).toBe(2)
    candidates = [1]
    expect(router.nodeOf(0)).toBe(1)
    candidates = []
    expect(router.nodeOf(0)).toBeUndefined()
  })
})
