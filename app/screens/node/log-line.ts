/** One line of a node's log: JSON with a level and a message, or whatever else was printed, as it is. */
export interface LogLine {
  readonly raw: string
  readonly atMs: number | undefined
  readonly level: string
  readonly message: string
  /** The other fields, as text. */
  readonly rest: string
}

/** Those of the logger. */
const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

export function logLine(raw: string): LogLine {
  const plain = { raw, atMs: undefined, level: '', message: raw, rest: '' }
  let json: unknown
  try {
    json = JSON.parse(raw)
  } catch {
    return plain
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return plain
  const {
    time,
    level,
    msg,
    message,
    replica: _own,
    pid: _pid,
    hostname: _host,
    ...rest
  } = json as Record<string, unknown>
  const said = typeof msg === 'string' ? msg : message
  return {
    raw,
    atMs: typeof time === 'number' ? time : undefined,
    level: typeof level === 'number' ? (LEVELS[level] ?? String(level)) : String(level ?? ''),
    message: typeof said === 'string' ? said : '',
    rest: Object.entries(rest)
      .map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', '),
  }
}
