/**
 * What may be said today about a forward, from both ends: what the client was told is one thing, what became of the write
 * another. Unknown is not failed; it stays unknown until an end says more.
 */
import type { ForwardChain } from '../../../shared/inspection/forwards.ts'
import type { Look } from '../../ui/states.ts'

export const OUTCOME_LOOK: Readonly<Record<ForwardChain['state'], Look>> = {
  accepted: { glyph: 'ok', colour: 'ok', word: 'Reply' },
  refused: { glyph: 'fail', colour: 'danger', word: 'Refused' },
  unknown: { glyph: 'unknown', colour: 'none', word: 'Unknown' },
  waiting: { glyph: 'prepared', colour: 'none', word: 'Waiting' },
}

export interface Evidence {
  readonly tone: 'pass' | 'fail' | 'unknown' | 'warn'
  readonly what: string
  readonly why: string
}

export function evidenceOf(chain: ForwardChain): Evidence {
  const has = (step: ForwardChain['steps'][number]['step']): boolean => chain.steps.some(item => item.step === step)
  if (chain.state === 'refused')
    return {
      tone: 'fail',
      what: 'Not written.',
      why: has('taken')
        ? `node-${chain.primary} refused it before it became an op; the client may send it again.`
        : 'It never left its origin; the client may send it again.',
    }
  if (chain.state === 'accepted')
    return has('accepted')
      ? {
          tone: 'pass',
          what: 'Committed.',
          why: `node-${chain.primary} answered once, for this nonce.${originHeard(chain) ? '' : ` node-${chain.origin} does not tell of its end: whether its client was told is not known.`}`,
        }
      : { tone: 'pass', what: 'Committed.', why: 'The origin got a reply; the primary no longer tells of it.' }
  if (has('accepted'))
    return {
      tone: 'warn',
      what: 'Committed, and the client was not told.',
      why: `node-${chain.primary} answered after the origin had given up. A retry writes it twice.`,
    }
  if (chain.atPrimary === 'refused')
    return {
      tone: 'fail',
      what: 'Not written, and the client was not told.',
      why: `node-${chain.primary} refused it before it became an op, but the refusal never reached node-${chain.origin}.`,
    }
  const still = chain.state === 'waiting' ? 'Still waiting.' : 'Still unknown.'
  // Given up with status 57: the op was prepared, and whoever leads now may have kept it.
  if (chain.atPrimary === 'unknown')
    return {
      tone: 'unknown',
      what: still,
      why: `node-${chain.primary} had made an op of it and gave it up${chain.primaryReason === undefined ? '' : `: ${reasonWords(chain.primaryReason)}`}. The group may have kept that op.`,
    }
  if (has('taken'))
    return {
      tone: 'unknown',
      what: still,
      why: `node-${chain.primary} took it and has not said how it ended: it may be in the log.`,
    }
  if (chain.matched || has('sent'))
    return {
      tone: 'unknown',
      what: still,
      why: `It left node-${chain.origin}. Nobody has reported its arrival: lost on the way, taken by a life of node-${chain.primary} that has ended, or among those of which node-${chain.primary} tells no more.`,
    }
  return { tone: 'unknown', what: still, why: 'Only its beginning is known.' }
}

/** Whether its origin tells of it: what the client was told is known from nobody else. */
export const originHeard = (chain: ForwardChain): boolean => chain.steps.some(step => step.step === 'received')

export const reasonWords = (reason: string | undefined): string => (reason ?? '').replaceAll('_', ' ')
