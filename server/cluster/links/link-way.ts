/**
 * One way of a link: what goes wrong on it, the frames it holds back, and what it has counted. It outlives connections, so
 * that a frame held from a former life of a node can be let go into its next one.
 */
import type { HeldFrame, LinkCounters, LinkFault } from '../../../shared/inspection/links.ts'
import { type FrameNote, isHandshake, nameOf } from './frame-note.ts'

/** Frames and bytes held back at once on one way; what comes beyond is dropped, and said to be. */
export const HELD_FRAMES_MAX = 1_024
export const HELD_BYTES_MAX = 128 * 1024 * 1024

/** Which frames a fault takes, and how many. */
export interface FrameChoice {
  /** Command bytes; absent: every frame. */
  readonly commands?: readonly number[]
  /** Absent: no end. */
  readonly count?: number
}

export type Fate = 'pass' | 'drop' | 'double' | { readonly hold: string }

/** A frame as its sender counts it: connection `sender>receiver#number`, ordinal from 1 behind the handshake. */
export interface FramePlace {
  readonly id: string
  readonly ordinal: number
}

interface Rule {
  readonly fault: 'cut' | 'hold' | 'double'
  readonly name: string
  readonly commands: ReadonlySet<number> | undefined
  left: number
}

export interface Held {
  readonly number: number
  readonly hold: string
  readonly frame: Uint8Array
  readonly note: FrameNote
  readonly place: FramePlace
  readonly sinceWallMs: number
}

export class LinkWay {
  readonly from: number
  readonly to: number
  delay: { readonly ms: number; readonly jitterMs: number } | undefined
  readonly counters: LinkCounters = {
    frames: 0,
    bytes: 0,
    dropped: 0,
    doubled: 0,
    held: 0,
    released: 0,
    delayed: 0,
  }
  private rules: Rule[] = []
  private waiting: Held[] = []
  private heldBytes = 0
  private heldEver = 0

  constructor(from: number, to: number) {
    this.from = from
    this.to = to
  }

  /** Nothing is wrong: frames need not be looked at one by one. */
  get clear(): boolean {
    return this.rules.length === 0 && this.delay === undefined
  }

  get held(): readonly Held[] {
    return this.waiting
  }

  cut(choice: FrameChoice): void {
    this.add('cut', '', choice)
  }

  double(choice: FrameChoice): void {
    this.add('double', '', choice)
  }

  hold(name: string, choice: FrameChoice): void {
    this.add('hold', name, choice)
  }

  private add(fault: Rule['fault'], name: string, { commands, count }: FrameChoice): void {
    this.rules.push({ fault, name, commands: commands && new Set(commands), left: count ?? Number.POSITIVE_INFINITY })
  }

  /** Ends cuts: all of them, or those that name exactly this command. */
  mend(command?: number): void {
    this.rules = this.rules.filter(
      ({ fault, commands }) =>
        fault !== 'cut' || (command !== undefined && !(commands?.size === 1 && commands.has(command))),
    )
  }

  /** Ends every fault. What is held stays so until `take`. */
  heal(): void {
    this.rules = []
    this.delay = undefined
  }

  /** Takes no more frames under this name. */
  endHold(name: string): void {
    this.rules = this.rules.filter(rule => rule.fault !== 'hold' || rule.name !== name)
  }

  /** What becomes of a frame with this command. Counts it against the fault that takes it. */
  judge(command: number): Fate {
    for (const rule of this.rules) {
      if (rule.commands ? !rule.commands.has(command) : rule.fault !== 'cut' && isHandshake(command)) continue
      if (--rule.left === 0) this.rules = this.rules.filter(other => other !== rule)
      if (rule.fault === 'cut') return 'drop'
      return rule.fault === 'double' ? 'double' : { hold: rule.name }
    }
    return 'pass'
  }

  /** False: there is no room, the frame is lost. */
  keep(hold: string, frame: Uint8Array, note: FrameNote, place: FramePlace): Held | undefined {
    if (this.waiting.length >= HELD_FRAMES_MAX || this.heldBytes + frame.length > HELD_BYTES_MAX) return undefined
    const held: Held = { number: ++this.heldEver, hold, frame, note, place, sinceWallMs: Date.now() }
    this.waiting.push(held)
    this.heldBytes += frame.length
    this.counters.held += 1
    return held
  }

  /** Removes and answers the oldest `count` held frames, of `hold` or of all. */
  take(count: number, hold?: string): Held[] {
    const taken: Held[] = []
    this.waiting = this.waiting.filter(held => {
      if (taken.length >= count || (hold !== undefined && held.hold !== hold)) return true
      taken.push(held)
      return false
    })
    for (const { frame } of taken) this.heldBytes -= frame.length
    return taken
  }

  faults(): LinkFault[] {
    const faults: LinkFault[] = this.rules.map(({ fault, name, commands, left }) => ({
      fault,
      name,
      ...(commands && { commands: [...commands].map(nameOf) }),
      ...(left !== Number.POSITIVE_INFINITY && { left }),
    }))
    if (this.delay) faults.push({ fault: 'delay', ...this.delay })
    return faults
  }

  heldFrames(): HeldFrame[] {
    return this.waiting.map(({ number, hold, note, place, sinceWallMs }) => ({
      number,
      hold,
      command: note.name,
      sizeBytes: note.sizeBytes,
      view: note.view,
      ...(note.op !== undefined && { op: note.op }),
      ...(note.group !== undefined && { group: note.group }),
      link: { ...place },
      sinceWallUs: `${Math.round(sinceWallMs)}000`,
    }))
  }
}
