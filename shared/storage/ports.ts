/**
 * The rest of the engine's outside world. Each port has a real and a simulated implementation; nothing under `shared/`
 * reaches the clock, chance, the event loop or the process in any other way.
 */
import type { EngineError } from '../bytes/errors.ts'
import type { Micros } from '../bytes/units.ts'

export interface Clock {
  /** Wall time, for prepare timestamps and for people. May step back. */
  nowMicros(): Micros
  /** Monotonic time since the boot of the node, for measuring. */
  monoMicros(): number
}

export interface Entropy {
  /** A random u64. */
  u64(): bigint
  bytes(length: number): Uint8Array
}

export interface Scheduler {
  /** Lets the event loop breathe; the only way to do so in engine code. */
  yield(): Promise<void>
}

/** For work that is worth a short wait, of a length that was measured. */
export interface Pacing {
  /** Monotonic. */
  monoMicros(): number
  /** Lets the event loop go on for so long, or until `over` says so. */
  pause(micros: number, over: () => boolean): Promise<void>
}

/** One list for the whole project (design: exit statuses). */
export const ExitStatus = {
  Clean: 0,
  UnreconcilableLogHead: 2,
  WedgedSuperblock: 3,
  Configuration: 64,
  RefusedBoot: 65,
  /** A port is taken, or another process owns the data directory. */
  Unavailable: 69,
  /** A fault of this program: an exception that nobody caught. */
  Internal: 70,
  FailedPersist: 74,
} as const
export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus]

export interface Halt {
  /** The only way to die: logs `error` synchronously, then ends the process with `status`. Does not return. */
  fatal(status: ExitStatus, error: EngineError): never
}
