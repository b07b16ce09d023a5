/**
 * What nobody asked for and nobody should miss: a process that ended by itself, a boot that was refused. It stays on every
 * screen until it is dismissed, while the line of the log goes on to the next fact. Pure, but for the doing.
 */
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import type { Toast } from './notices.ts'

const isBySelf = ({ data }: EventEnvelope): boolean => data.state === 'crashed' || data.state === 'refused'

/** @param afterSeq what the console told up to here was history when this tab opened */
export function alarmsOf(message: StreamMessage, afterSeq: number): Omit<Toast, 'id'>[] {
  if (message.event !== 'batch') return []
  return message.data.flatMap(item => {
    if ('fromSeq' in item || item.node !== CONSOLE_NODE || item.kind !== 'process_exited') return []
    if ((item.consoleSeq ?? 0) <= afterSeq || !isBySelf(item)) return []
    const node = String(item.data.node)
    return [
      {
        tone: 'bad' as const,
        words: item.data.state === 'refused' ? `node-${node} refused to boot.` : `node-${node} ended by itself.`,
        detail: typeof item.data.meaning === 'string' ? `${item.data.meaning}.` : undefined,
      },
    ]
  })
}
