/**
 * A stream that begins in the past sends fresh snapshots first and the events that led to them after. Folded in that
 * order, an event of a node's former life would look like the beginning of a new one. So snapshots that arrive while
 * history is still due wait until it has been folded, the newest of each node only. Pure.
 */
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { CONSOLE_NODE } from '../../shared/inspection/envelope.ts'

type SnapshotMessage = Extract<StreamMessage, { event: 'snapshot' }>

export class HistoryOrder {
  /** Console sequence at which history ends; undefined when none is due. */
  #until: number | undefined
  readonly #held = new Map<number, SnapshotMessage>()

  get holds(): boolean {
    return this.#held.size > 0
  }

  /** The messages to fold now, in order. `foldedSeq` is the last console sequence that was folded before. */
  next(message: StreamMessage, foldedSeq: number): StreamMessage[] {
    switch (message.event) {
      case 'hello': {
        this.#held.clear()
        this.#until = message.data.seq > foldedSeq ? message.data.seq : undefined
        return [message]
      }
      case 'snapshot':
        if (this.#until === undefined) return [message]
        this.#held.set(message.data.node, message)
        return []
      case 'batch':
        return this.#until !== undefined && message.data.some(item => reached(item, this.#until!))
          ? [message, ...this.release()]
          : [message]
      case 'gap':
        return this.#until !== undefined && reached(message.data, this.#until)
          ? [message, ...this.release()]
          : [message]
      case 'heartbeat':
        // History follows the greeting without a pause; after a heartbeat none is due any more.
        return [...this.release(), message]
      default:
        return [message]
    }
  }

  /** What was held; nothing is due after this. */
  release(): StreamMessage[] {
    this.#until = undefined
    const held = [...this.#held.values()]
    this.#held.clear()
    return held
  }
}

type Item = Extract<StreamMessage, { event: 'batch' }>['data'][number]
const reached = (item: Item, until: number): boolean =>
  'fromSeq' in item
    ? item.node === CONSOLE_NODE && item.toSeq >= until
    : item.consoleSeq !== undefined && item.consoleSeq >= until
