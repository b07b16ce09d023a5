import { destination, type Logger, pino } from 'pino'
import type { Values } from './config/settings.ts'

export type Log = Pick<Logger, 'info' | 'warn' | 'error'> & { flush(): void }

/** Lines of JSON on stdout, written at once: what a process said before it died is what one wants to read. */
export function openLog(level: Values['system.logging.level'], replica: number): Log {
  const out = destination({ dest: 1, sync: true })
  const log = pino({ level: level === 'off' ? 'silent' : level, base: { replica } }, out)
  return {
    info: log.info.bind(log),
    warn: log.warn.bind(log),
    error: log.error.bind(log),
    flush: () => out.flushSync(),
  }
}
