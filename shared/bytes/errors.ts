/**
 * Every error of the engine carries a stable code, says what to do next, and names the path, op or byte it concerns.
 */
export interface ErrorContext {
  /** File the error concerns, relative to the node's data directory. */
  readonly path?: string
  /** Byte position inside `path`, or inside the decoded buffer. */
  readonly position?: number
  readonly op?: bigint
  readonly expected?: string
  readonly actual?: string
  /** What a person should do next. */
  readonly advice?: string
}

export class EngineError extends Error {
  readonly code: string
  readonly context: ErrorContext

  constructor(code: string, message: string, context: ErrorContext = {}, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'EngineError'
    this.code = code
    this.context = context
  }
}

/** Damaged or malformed input. `position` counts from the start of the decoded buffer. */
export class DecodeError extends EngineError {
  readonly position: number

  constructor(code: DecodeCode, position: number, message: string, context: ErrorContext = {}) {
    super(code, `${message} (at byte ${position})`, { ...context, position })
    this.name = 'DecodeError'
    this.position = position
  }
}

/** Stable codes of decoding failures; the inspector prints them, tests compare them. */
export type DecodeCode =
  | 'TooShort'
  | 'TooLong'
  | 'WrongLength'
  | 'BadMagic'
  | 'BadVersion'
  | 'BadCommand'
  | 'BadOperation'
  | 'BadSize'
  | 'BadChecksum'
  | 'BadBodyChecksum'
  | 'ReservedNotZero'
  | 'BadValue'
  | 'BadCount'
  | 'BadUtf8'
  | 'TrailingBytes'
