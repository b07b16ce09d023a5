/**
 * The links between the nodes of a local cluster, through proxies in this process (design.md §4). With nothing set they
 * pass every byte as it comes. Their ports are kept in the cluster file: nodes outlive their supervisor, keep dialling the
 * ports they were started with, and meet again as soon as the next supervisor listens there.
 */
import { EngineError } from '../../../shared/bytes/errors.ts'
import type { EventDraft } from '../../../shared/inspection/envelope.ts'
import type { LinkStatus } from '../../../shared/inspection/links.ts'
import type { FrameNote } from './frame-note.ts'
import { nameOf } from './frame-note.ts'
import { LinkProxy } from './link-proxy.ts'
import { type FrameChoice, type FramePlace, LinkWay } from './link-way.ts'

/** Lost and doubled frames of one way that become events in one second; the next event says how many did not. */
const EVENTS_PER_SECOND = 20

export interface LinkPort {
  /** The lower replica, which dials. */
  readonly from: number
  readonly to: number
  readonly port: number
}

export type LinkEventKind =
  | 'link_cut'
  | 'link_healed'
  | 'link_delayed'
  | 'link_holding'
  | 'link_doubling'
  | 'link_frame_dropped'
  | 'link_frame_held'
  | 'link_frame_released'
  | 'link_frame_doubled'

/** What a proxy reports: an event without who and when. */
export interface LinkEvent extends EventDraft {
  readonly kind: LinkEventKind
}

export interface ClusterLinksOptions {
  readonly host: string
  readonly nodes: number
  /** One port per pair: those of an earlier supervisor, or fresh ones. */
  readonly ports: readonly LinkPort[]
  /** The replica port of a node, as it is now. */
  readonly target: (replica: number) => number
}

export class ClusterLinks {
  private readonly ways = new Map<string, LinkWay>()
  private readonly proxies = new Map<string, LinkProxy>()
  private readonly listeners = new Set<(event: LinkEvent) => void>()
  private readonly changeListeners = new Set<() => void>()
  private readonly rates = new Map<LinkWay, { second: number; told: number; omitted: number }>()

  constructor(options: ClusterLinksOptions) {
    for (let low = 0; low < options.nodes; low++) {
      for (let high = low + 1; high < options.nodes; high++) {
        const out = new LinkWay(low, high)
        const back = new LinkWay(high, low)
        this.ways.set(key(low, high), out)
        this.ways.set(key(high, low), back)
        const { port } = options.ports.find(({ from, to }) => from === low && to === high)!
        const proxy = new LinkProxy(port, {
          host: options.host,
          out,
          back,
          target: () => options.target(high),
          pipeEvents: way => this.pipeEvents(way),
          onConnection: () => this.changed(),
        })
        this.proxies.set(key(low, high), proxy)
      }
    }
  }

  /** `node` listens now, or does no more: so do the proxies in front of it. */
  follow(node: number, listening: boolean): void {
    for (const [name, proxy] of this.proxies) {
      if (this.ways.get(name)!.to !== node) continue
      if (listening) proxy.open()
      else proxy.shut()
    }
  }

  get ports(): LinkPort[] {
    return [...this.proxies].map(([name, { port }]) => {
      const { from, to } = this.ways.get(name)!
      return { from, to, port }
    })
  }

  /** Another port for a proxy that does not listen. */
  move(from: number, to: number, port: number): void {
    this.proxies.get(key(from, to))!.port = port
  }

  /** What `from` dials for `to`: the proxy where `from` is the one that dials. */
  peerPort(from: number, to: number, real: number): number {
    return this.proxies.get(key(from, to))?.port ?? real
  }

  /** Frames of this way are lost in silence: all, or those chosen. */
  cut(from: number, to: number, choice: FrameChoice = {}): void {
    this.way(from, to).cut(choice)
    this.tell('link_cut', from, to, choiceData(choice))
  }

  /** Ends cuts: all, or those of exactly this command. */
  mend(from: number, to: number, command?: number): void {
    this.way(from, to).mend(command)
    this.tell('link_healed', from, to, command === undefined ? {} : { commands: nameOf(command) })
  }

  /** Each frame of this way takes `ms` longer, and up to `jitterMs` more; their order stays. 0 and 0 end it. */
  delay(from: number, to: number, ms: number, jitterMs = 0): void {
    const way = this.way(from, to)
    way.delay = ms > 0 || jitterMs > 0 ? { ms, jitterMs } : undefined
    this.proxy(way).hurry(way)
    this.tell('link_delayed', from, to, { ms, jitterMs })
  }

  /** Frames of this way are kept, under a name, until they are released. */
  hold(from: number, to: number, name: string, choice: FrameChoice = {}): void {
    this.way(from, to).hold(name, choice)
    this.tell('link_holding', from, to, { name, ...choiceData(choice) })
  }

  /** Frames of this way are sent twice. */
  double(from: number, to: number, choice: FrameChoice = {}): void {
    this.way(from, to).double(choice)
    this.tell('link_doubling', from, to, choiceData(choice))
  }

  /**
   * Lets the oldest `count` held frames go, of one hold or of all; more frames are held as before. Without `count` the hold
   * ends and everything it kept goes. Answers how many went.
   * @throws EngineError LinkDown when frames are held and no connection stands to take them
   */
  release(from: number, to: number, options: { readonly name?: string; readonly count?: number } = {}): number {
    const way = this.way(from, to)
    const { name, count } = options
    const waiting = way.held.filter(({ hold }) => name === undefined || hold === name)
    const pipe = this.proxy(way).pipe(way)
    if (waiting.length > 0 && !pipe) {
      throw new EngineError(
        'LinkDown',
        `no connection from node-${from} to node-${to} stands to take the held frames`,
        {
          advice: 'wait until both nodes run and are linked',
        },
      )
    }
    if (count === undefined) for (const hold of this.holdsOf(way, name)) way.endHold(hold)
    const taken = way.take(count ?? waiting.length, name)
    for (const { frame, note, place, hold } of taken) {
      pipe!.inject(frame)
      way.counters.released += 1
      this.tellFrame('link_frame_released', 'fact', way, note, place, { hold })
    }
    this.changed()
    return taken.length
  }

  /** Ends every fault of this way; frames that were held or delayed go on, in their order. */
  heal(from: number, to: number): void {
    const way = this.way(from, to)
    const proxy = this.proxy(way)
    way.heal()
    if (proxy.connected) this.release(from, to)
    else way.take(way.held.length)
    proxy.hurry(way)
    this.tell('link_healed', from, to, {})
  }

  status(): LinkStatus[] {
    return [...this.ways.values()].map(way => {
      const proxy = this.proxy(way)
      return {
        from: way.from,
        to: way.to,
        port: proxy.port,
        connected: proxy.connected,
        id: proxy.idOf(way) ?? null,
        faults: way.faults(),
        heldFrames: way.heldFrames(),
        counters: { ...way.counters },
      }
    })
  }

  onEvent(listener: (event: LinkEvent) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Something that `status` shows is different now. */
  onChange(listener: () => void): () => void {
    this.changeListeners.add(listener)
    return () => this.changeListeners.delete(listener)
  }

  close(): void {
    for (const proxy of this.proxies.values()) proxy.close()
  }

  private holdsOf(way: LinkWay, name: string | undefined): string[] {
    if (name !== undefined) return [name]
    return way.faults().flatMap(fault => (fault.fault === 'hold' ? [fault.name] : []))
  }

  private way(from: number, to: number): LinkWay {
    const way = this.ways.get(key(from, to))
    if (!way) throw new EngineError('NoSuchLink', `there is no link from node-${from} to node-${to}`)
    return way
  }

  private proxy({ from, to }: LinkWay): LinkProxy {
    return this.proxies.get(key(Math.min(from, to), Math.max(from, to)))!
  }

  private pipeEvents(way: LinkWay) {
    return {
      dropped: (note: FrameNote, place: FramePlace, reason: string) => {
        const omitted = this.omits(way)
        if (omitted !== undefined)
          this.tellFrame('link_frame_dropped', 'flow', way, note, place, { reason, ...omitted })
      },
      doubled: (note: FrameNote, place: FramePlace) => {
        const omitted = this.omits(way)
        if (omitted !== undefined) this.tellFrame('link_frame_doubled', 'flow', way, note, place, omitted)
      },
      held: ({ note, place, hold }: { note: FrameNote; place: FramePlace; hold: string }) => {
        this.tellFrame('link_frame_held', 'fact', way, note, place, { hold })
        this.changed()
      },
    }
  }

  /** Undefined: this second has had its events. Else what the next one has to say of those that were left out. */
  private omits(way: LinkWay): { omitted?: number } | undefined {
    const second = Math.floor(performance.now() / 1000)
    let rate = this.rates.get(way)
    if (!rate) {
      rate = { second, told: 0, omitted: 0 }
      this.rates.set(way, rate)
    }
    if (rate.second !== second) Object.assign(rate, { second, told: 0 })
    if (rate.told >= EVENTS_PER_SECOND) {
      rate.omitted += 1
      return undefined
    }
    const { omitted } = rate
    Object.assign(rate, { told: rate.told + 1, omitted: 0 })
    return omitted > 0 ? { omitted } : {}
  }

  private tellFrame(
    kind: LinkEventKind,
    className: 'fact' | 'flow',
    { from, to }: LinkWay,
    note: FrameNote,
    place: FramePlace,
    data: LinkEvent['data'],
  ): void {
    this.emit({
      kind,
      class: className,
      plane: note.plane,
      group: note.group ?? 'node',
      view: note.view,
      ...(note.op !== undefined && { op: note.op }),
      ...(place.ordinal > 0 && { link: { ...place, dir: 'out' as const } }),
      data: { from, to, command: note.name, bytes: note.sizeBytes, ...data },
    })
  }

  private tell(kind: LinkEventKind, from: number, to: number, data: LinkEvent['data']): void {
    this.emit({ kind, class: 'fact', plane: 'node', group: 'node', data: { from, to, ...data } })
    this.changed()
  }

  private emit(event: LinkEvent): void {
    for (const listener of this.listeners) listener(event)
  }

  private changed(): void {
    for (const listener of this.changeListeners) listener()
  }
}

const key = (from: number, to: number): string => `${from}>${to}`

const choiceData = ({ commands, count }: FrameChoice): LinkEvent['data'] => ({
  ...(commands && { commands: commands.map(nameOf).join(', ') }),
  ...(count !== undefined && { count }),
})
