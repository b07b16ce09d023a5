/**
 * The armed points of a node process. A point that is not armed costs a comparison. What happens at one is decided here and
 * nowhere in the engine: the process kills itself at once, a call fails, or it waits; a point on the way of a handler, which
 * cannot wait, stops the whole process instead (SIGSTOP), to be resumed from outside.
 */
import { EngineError } from '../../../shared/bytes/errors.ts'
import {
  type ArmedPoint,
  type DiskMoment,
  FAILPOINTS,
  FailpointNames,
  globMatches,
  parsePoint,
} from '../../../shared/scenario/failpoints.ts'
import type { FailpointEffect } from '../../../shared/scenario/language.ts'
import { DiskError } from '../../../shared/storage/disk.ts'

/** `short`: a write takes so many bytes and then fails, as a full disk does. */
export type FaultEffect =
  | FailpointEffect
  | { readonly effect: 'short'; readonly bytes: number; readonly error: 'Io' | 'NoSpace' }

export interface ArmOptions {
  readonly effect: FaultEffect
  /** Hits that pass first. */
  readonly after?: number
  /** How often it happens then; absent: always. */
  readonly times?: number
}

export interface PointState {
  readonly point: string
  readonly effect: FaultEffect
  /** Times it was reached, armed. */
  readonly hits: number
  readonly happened: number
  readonly left: number | null
  /** Calls that wait at it now. */
  readonly waiting: number
}

interface Armed extends ArmedPoint {
  readonly text: string
  readonly effect: FaultEffect
  after: number
  left: number
  hits: number
  happened: number
  readonly waiting: Set<() => void>
}

const HOST_POINT = /^(send\.\w+|ack\.before|(before|after)\.\w+)$/
const ARMED_MAX = 64

export class Failpoints {
  private readonly names = new FailpointNames()
  private armed: Armed[] = []
  /** Ends the process at once; a test puts something else here. */
  private readonly die: () => void
  private readonly halt: () => void

  constructor(
    die: () => void = () => process.kill(process.pid, 'SIGKILL'),
    halt: () => void = () => process.kill(process.pid, 'SIGSTOP'),
  ) {
    this.die = die
    this.halt = halt
  }

  /** @throws EngineError NoSuchPoint, TooManyPoints */
  arm(text: string, { effect, after = 0, times }: ArmOptions): void {
    const { name, glob } = parsePoint(text)
    if (!Object.hasOwn(FAILPOINTS, name) && !HOST_POINT.test(name)) {
      throw new EngineError('NoSuchPoint', `${JSON.stringify(name)} is no failpoint`)
    }
    if (this.armed.length >= ARMED_MAX) throw new EngineError('TooManyPoints', `${ARMED_MAX} points are armed`)
    const left = times ?? Number.POSITIVE_INFINITY
    this.armed.push({ text, name, glob, effect, after, left, hits: 0, happened: 0, waiting: new Set() })
  }

  /** Calls that wait at the point go on. */
  disarm(text: string): void {
    this.release(text)
    this.armed = this.armed.filter(armed => armed.text !== text)
  }

  /** Lets calls that wait at the point go on; answers how many. */
  release(text: string): number {
    let released = 0
    for (const armed of this.armed.filter(candidate => candidate.text === text)) {
      for (const go of armed.waiting) {
        go()
        released += 1
      }
      armed.waiting.clear()
    }
    return released
  }

  state(): PointState[] {
    return this.armed.map(({ text, effect, hits, happened, left, waiting }) => ({
      point: text,
      effect,
      hits,
      happened,
      left: left === Number.POSITIVE_INFINITY ? null : left,
      waiting: waiting.size,
    }))
  }

  /** A moment of the disk: what a wrapper must do, in order. */
  reached(moment: DiskMoment): FaultEffect | undefined {
    const names = this.names.at(moment)
    if (this.armed.length === 0) return undefined
    return this.take(names, [moment.path, ...(moment.to === undefined ? [] : [moment.to])])?.effect
  }

  /** Carries out an effect; resolves when the call may go on. `short` is the caller's. @throws DiskError */
  async suffer(effect: FaultEffect, { operation, path }: DiskMoment): Promise<void> {
    if (effect.effect === 'kill') {
      this.die()
      return new Promise(() => {})
    }
    if (effect.effect === 'error')
      throw new DiskError(effect.error, operation, path, new Error('a fault that was asked for'))
    if (effect.effect === 'delay') await new Promise(resolve => setTimeout(resolve, effect.ms))
    if (effect.effect === 'hold') await this.wait(effect)
  }

  /** A point inside a handler. */
  passed(name: string): void {
    if (this.armed.length === 0) return
    const effect = this.take([name], [])?.effect
    if (effect?.effect === 'kill') this.die()
    else if (effect?.effect === 'hold') this.halt()
  }

  private take(names: readonly string[], paths: readonly string[]): Armed | undefined {
    for (const armed of this.armed) {
      if (armed.left === 0 || !names.includes(armed.name)) continue
      const { glob } = armed
      if (glob !== undefined && !paths.some(path => globMatches(glob, path))) continue
      armed.hits += 1
      if (armed.effect.effect === 'count' || armed.hits <= armed.after) continue
      armed.left -= 1
      armed.happened += 1
      return armed
    }
    return undefined
  }

  private wait(effect: FaultEffect): Promise<void> {
    const armed = this.armed.find(candidate => candidate.effect === effect)
    return armed ? new Promise(resolve => armed.waiting.add(resolve)) : Promise.resolve()
  }
}
