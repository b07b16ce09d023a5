/** The first sentence of the load screen. Pure: from what the load client last said to words. */
import type { LoadState } from '../../../shared/inspection/api.ts'
import { count, duration, grouped, groupedDigits, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import type { LoadGap } from './gaps.ts'

const LABEL = 'Steady load'

export function loadSituation(load: LoadState | undefined, gaps: readonly LoadGap[]): NowWords {
  if (!load || load.state === 'idle' || !load.settings)
    return {
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      label: LABEL,
      what: 'No load runs.',
      why: 'A cluster that nobody writes to shows no gap when a node dies.',
      next: 'Start it here; then kill a node on the cluster screen and read the gap below.',
    }
  const { ledger, settings } = load
  const where = `${visible(settings.stream)}/${visible(settings.topic)}`
  const wrong = wrongOf(load)
  if (wrong !== undefined)
    return {
      tone: 'bad',
      glyph: 'fail',
      colour: 'danger',
      label: LABEL,
      what: wrong,
      why: 'The reader came past the place of an acknowledged message and compared what stood there with what was sent.',
      next: 'Keep the data directory: the partition screen shows the bytes that the reader saw.',
    }
  const open = gaps.at(-1)?.open ? gaps.at(-1) : undefined
  if (open)
    return {
      tone: 'change',
      glyph: 'change',
      colour: 'change',
      label: LABEL,
      what: `Nothing has been acknowledged for ${duration(open.toMs - open.fromMs)}.`,
      why: open.cause ? `${open.cause.words}.` : 'No node takes writes for the partitions of this load now.',
      next: open.elected
        ? `${open.elected.words}; senders find it with their next attempt.`
        : 'A majority elects a new primary; senders go on by themselves.',
    }
  switch (load.state) {
    case 'starting':
      return words('change', 'Starting: the topic is made, or found, and read once.', where, 'Senders connect.')
    case 'stopping':
    case 'verifying':
      return words(
        'plain',
        `Stopped sending; ${grouped(ledger.acked - ledger.readBack)} acknowledged messages are to be read back.`,
        'The verdict is read from the log and not concluded from acknowledgements.',
        'The verdict stands below once everything was read.',
      )
    case 'failed':
      return {
        ...words(
          'bad',
          'The load failed.',
          load.lastError ? `${load.lastError.code}: ${visible(load.lastError.message)}` : 'It did not say why.',
          'Start it again when a node serves.',
        ),
        glyph: 'fail',
        colour: 'danger',
      }
    case 'done':
      return {
        ...words(
          'good',
          `Ended: ${grouped(ledger.acked)} acknowledged, ${grouped(ledger.lost)} lost, ${grouped(ledger.unknown)} unknown.`,
          `${groupedDigits(load.verdict.words)}.`,
          'Start it again with other figures, or kill a node while it runs.',
        ),
        glyph: 'ok',
        colour: 'ok',
      }
  }
  const last = gaps.at(-1)
  return {
    ...words(
      'good',
      `${grouped(recentRate(load))} messages a second are acknowledged, of ${grouped(settings.ratePerSecond)} asked.`,
      last
        ? `The last gap was ${duration(last.toMs - last.fromMs)} long${last.cause ? `: ${last.cause.words}` : ''}.`
        : `${count(load.connections.filter(item => item.state === 'connected').length, 'connection')} of ${load.connections.length} write to ${where}.`,
      'Kill a node on the cluster screen: the gap is drawn here, and the ledger says what was lost.',
    ),
    glyph: 'ok',
    colour: 'ok',
  }
}

const words = (tone: NowWords['tone'], what: string, why: string, next: string): NowWords => ({
  tone,
  glyph: 'prepared',
  colour: 'none',
  label: LABEL,
  what,
  why,
  next,
})

/** Of the last five whole seconds. */
export function recentRate(load: LoadState): number {
  const seconds = load.seconds.slice(0, -1).slice(-5)
  return seconds.length === 0 ? 0 : Math.round(seconds.reduce((sum, second) => sum + second.acked, 0) / seconds.length)
}

function wrongOf({ ledger }: LoadState): string | undefined {
  if (ledger.lost > 0) return `${count(ledger.lost, 'acknowledged message')} lost.`
  if (ledger.corrupt > 0)
    return `${count(ledger.corrupt, 'message')} read back with other content or at another offset.`
  if (ledger.duplicate > 0) return `${count(ledger.duplicate, 'message')} stored more than once.`
  if (ledger.refusedFound > 0)
    return `${count(ledger.refusedFound, 'message')} refused as surely not stored, and stored.`
  return undefined
}
