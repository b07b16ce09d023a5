/**
 * Everything a test may do to a node process from inside, behind one flag: failpoints and disk faults, a disk that loses
 * what was not synced, a clock that is wrong. Without `--test-faults` none of this exists, and its routes are not there.
 *
 *   GET  /faults                                            armed points, with hits and waiting calls
 *   POST /faults/arm?point=&effect=kill|error|delay|hold|count|short[&error=Io|NoSpace][&ms=][&bytes=][&after=][&times=]
 *   POST /faults/disarm?point= · /faults/release?point= · /faults/clock?byMs=
 */
import { EngineError } from '../../../shared/bytes/errors.ts'
import { Micros } from '../../../shared/bytes/units.ts'
import { commandName } from '../../../shared/protocol/commands.ts'
import { prefix } from '../../../shared/protocol/headers.ts'
import type { ClientLinks, ReplicaLinks } from '../../../shared/replica/ports.ts'
import type { Disk } from '../../../shared/storage/disk.ts'
import type { Clock } from '../../../shared/storage/ports.ts'
import { Failpoints, type FaultEffect, type PointState } from './failpoints.ts'
import { FaultDisk } from './fault-disk.ts'
import { VolatileDisk } from './volatile-disk.ts'

/** Every boot empties it. */
const SCRATCH = 'runtime/volatile'

export interface FaultsAnswer {
  readonly points: readonly PointState[]
  readonly clockByMs: number
  readonly released?: number
}

export class NodeFaults {
  readonly points = new Failpoints()
  private readonly volatile: boolean
  private clockByMs = 0

  constructor(options: { readonly volatileDisk: boolean }) {
    this.volatile = options.volatileDisk
  }

  disk(real: Disk): Disk {
    return new FaultDisk(this.volatile ? new VolatileDisk(real, SCRATCH) : real, this.points)
  }

  /** Wall time only; what is monotonic stays so. */
  clock(real: Clock): Clock {
    return {
      nowMicros: () => Micros(real.nowMicros() + BigInt(this.clockByMs) * 1000n),
      monoMicros: () => real.monoMicros(),
    }
  }

  clientLinks(real: ClientLinks): ClientLinks {
    return {
      send: (connection, frame) => {
        this.points.passed('ack.before')
        real.send(connection, frame)
      },
      close: connection => real.close(connection),
    }
  }

  replicaLinks(real: ReplicaLinks): ReplicaLinks {
    return {
      send: (to, frame) => {
        this.points.passed(`send.${commandName(frame[prefix.command.at]!) ?? frame[prefix.command.at]}`)
        return real.send(to, frame)
      },
      isConnected: peer => real.isConnected(peer),
      ...(real.lastSent && { lastSent: to => real.lastSent!(to) }),
    }
  }

  /** A request at `/faults/…`. @throws EngineError BadFault, NoSuchPoint, TooManyPoints */
  handle(method: string, path: readonly string[], query: URLSearchParams): FaultsAnswer {
    const what = path.length === 0 && method === 'GET' ? 'state' : path.length === 1 && method === 'POST' ? path[0] : ''
    let released: number | undefined
    if (what === 'arm') {
      const times = query.has('times') ? count(query, 'times') : undefined
      this.points.arm(text(query, 'point'), {
        effect: effectOf(query),
        after: query.has('after') ? count(query, 'after') : 0,
        ...(times !== undefined && { times }),
      })
    } else if (what === 'disarm') this.points.disarm(text(query, 'point'))
    else if (what === 'release') released = this.points.release(text(query, 'point'))
    else if (what === 'clock') this.clockByMs += Number(text(query, 'byMs'))
    else if (what !== 'state') throw new EngineError('BadFault', `${method} /faults/${path.join('/')} is nothing`)
    return { points: this.points.state(), clockByMs: this.clockByMs, ...(released !== undefined && { released }) }
  }
}

function effectOf(query: URLSearchParams): FaultEffect {
  const error = query.get('error') === 'NoSpace' ? 'NoSpace' : 'Io'
  const effect = text(query, 'effect')
  switch (effect) {
    case 'kill':
    case 'hold':
    case 'count':
      return { effect }
    case 'error':
      return { effect, error }
    case 'delay':
      return { effect, ms: count(query, 'ms') }
    case 'short':
      return { effect, bytes: count(query, 'bytes'), error }
    default:
      throw new EngineError('BadFault', `${JSON.stringify(effect)} is no effect`)
  }
}

function text(query: URLSearchParams, name: string): string {
  const value = query.get(name)
  if (value === null || value === '') throw new EngineError('BadFault', `${name} is missing`)
  return value
}

function count(query: URLSearchParams, name: string): number {
  const value = text(query, name)
  if (!/^\d{1,9}$/.test(value)) throw new EngineError('BadFault', `${name} is a whole number`)
  return Number(value)
}
