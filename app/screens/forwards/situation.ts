/** The first sentences of the forwards screen: how the forwards ended, why there are any, and what comes next. Pure. */
import type { ForwardChain, ForwardsAnswer } from '../../../shared/inspection/forwards.ts'
import { groupName } from '../../names.ts'
import { type Divergence, divergenceWords } from '../../planes.ts'
import { count, grouped, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import { originHeard } from './evidence.ts'

const labelOf = (chain: ForwardChain | undefined): string =>
  chain
    ? `${chain.nonce.slice(-6)}, ${groupName(chain.group)}, client ${visible(chain.client)} at node-${chain.origin}${chain.status === undefined ? '' : `, ${originHeard(chain) ? 'told status' : 'answered by its primary with status'} ${chain.status}`}`
    : 'Writes at the wrong door'

/** `chosen`: the forward that is shown below; `answer` is undefined until there is one. */
export function forwardsSituation(
  answer: ForwardsAnswer | undefined,
  error: unknown,
  chosen: ForwardChain | undefined,
  divergence: Divergence,
): NowWords {
  const why =
    divergenceWords(divergence, groupName) ??
    (divergence.metadata === undefined
      ? 'The metadata group has no primary now: a client that follows the roster finds no door.'
      : 'No partition has a primary now, or there is none yet: there is nothing to forward a write to.')
  const none = { tone: 'plain', glyph: 'absent', colour: 'none', label: labelOf(chosen), why } as const
  if (!answer)
    return {
      ...none,
      glyph: 'unknown',
      what: error ? 'The forwards are not known.' : 'The forwards are being read.',
      next: error
        ? 'They are asked for again every second.'
        : 'Each node tells of its own end; both are joined by nonce.',
    }
  const all = answer.forwards
  const countOf = (state: ForwardChain['state']): number => all.filter(chain => chain.state === state).length
  const [unknown, refused, waiting] = [countOf('unknown'), countOf('refused'), countOf('waiting')]
  const silent = answer.nodes.filter(node => node.error !== undefined).length
  const next =
    unknown > 0
      ? 'Look for the write in its partition: only the log says what became of it.'
      : waiting > 0
        ? `${count(waiting, 'write waits', 'writes wait')} for a result, or for the timer that tells status 57.`
        : divergence.elsewhere.length > 0
          ? 'The next write that follows the roster takes one hop more.'
          : 'A client that stays at another node has each write forwarded; so has every client once the planes diverge.'
  if (all.length === 0)
    return {
      ...none,
      what:
        silent === answer.nodes.length && silent > 0
          ? 'No node tells of its forwards now.'
          : 'No write was forwarded yet.',
      next,
    }
  const looks =
    unknown > 0
      ? ({ tone: 'change', glyph: 'unknown', colour: 'none' } as const)
      : waiting > 0
        ? ({ tone: 'plain', glyph: 'prepared', colour: 'none' } as const)
        : ({ tone: 'plain', glyph: 'ok', colour: 'ok' } as const)
  return {
    ...none,
    ...looks,
    what:
      unknown > 0
        ? `${count(unknown, 'write')} of ${grouped(all.length)} ended with outcome unknown.`
        : refused > 0
          ? `${count(refused, 'forward')} of ${grouped(all.length)} refused, each answered at once${waiting > 0 ? `; ${grouped(waiting)} still wait` : ''}.`
          : waiting > 0
            ? `${grouped(waiting)} of ${count(all.length, 'forwarded write')} still ${waiting === 1 ? 'waits' : 'wait'} for an answer.`
            : `All ${count(all.length, 'forwarded write')} were answered.`,
    next,
  }
}
