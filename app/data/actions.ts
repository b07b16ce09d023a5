/**
 * Acts on the cluster. An act is pending from the click on; what it did is never assumed, it comes back on the stream.
 * Every act carries a key, so that a repeated request (a lost answer, a double click) does nothing twice.
 */
import { MutationObserver, useMutationState } from '@tanstack/react-query'
import type { z } from 'zod'
import {
  actionResult,
  type createStreamBody,
  createStreamResult,
  type createTopicBody,
  createTopicResult,
  type LoadCommand,
  loadState,
  type NodeAction,
  resetResult,
  writeResult,
} from '../../shared/inspection/api.ts'
import { type LinkAction, linksAnswer, VOTES, VOTES_HOLD } from '../../shared/inspection/links.ts'
import { storeOffsetResult } from '../../shared/inspection/polls.ts'
import { useCell } from './cell.ts'
import { liveSource } from './live.ts'
import { toast } from './notices.ts'
import { type PartitionAt, queryClient } from './queries.ts'
import { SourceError } from './source.ts'
import { asOf, connection, shown, sourceKind } from './store.ts'
import { isViewer, token, VIEWER_WHY } from './token.ts'

/** Random, not secret: only unlike every other key of this console's run. */
export const newKey = (): string => `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 12)}`

export function perform<T>(key: readonly (string | number)[], work: () => Promise<T>, what: string): Promise<T> {
  const observer = new MutationObserver<T, unknown, void>(queryClient, {
    mutationKey: [...key],
    mutationFn: work,
    retry: (failures, error) => failures < 2 && error instanceof SourceError && error.status === 0,
    onError: error => {
      const code = error instanceof SourceError ? `${error.code}. ` : ''
      const advice = error instanceof SourceError ? ` ${error.advice}` : ''
      toast({
        tone: 'bad',
        words: `${what} failed.`,
        detail: `${code}${error instanceof Error ? error.message : ''}${advice}`,
      })
    },
  })
  return observer.mutate()
}

/** Whether an act of this kind is on its way. */
export function usePending(key: readonly (string | number)[]): boolean {
  return useMutationState({ filters: { mutationKey: [...key], status: 'pending' } }).length > 0
}

const SAID: Readonly<Record<NodeAction, string>> = {
  kill: 'SIGKILL sent to',
  terminate: 'SIGTERM sent to',
  pause: 'SIGSTOP sent to',
  resume: 'SIGCONT sent to',
  start: 'Started',
  wipe: 'Wiped',
}
export const ACTION_NAMES: Readonly<Record<NodeAction, string>> = {
  kill: 'Kill',
  terminate: 'Terminate',
  pause: 'Pause',
  resume: 'Resume',
  start: 'Start',
  wipe: 'Wipe',
}

export async function actOnNode(node: number, action: NodeAction): Promise<void> {
  const key = newKey()
  const before = shown.get().view.nodes.get(node)?.process?.pid
  const result = await perform(
    ['node', node, action],
    () => liveSource.act(`/api/nodes/${node}/${action}`, {}, actionResult, key),
    `${ACTION_NAMES[action]} node-${node}`,
  ).catch(() => undefined)
  if (!result) return
  const pid = result.node.pid ?? before ?? undefined
  toast({
    tone: action === 'start' || action === 'resume' ? 'good' : 'plain',
    words: `${SAID[action]} node-${node}${pid === undefined ? '.' : `, pid ${pid}.`}`,
    action:
      action === 'kill' || action === 'terminate'
        ? { label: 'Start it', run: () => void actOnNode(node, 'start') }
        : action === 'pause'
          ? { label: 'Resume it', run: () => void actOnNode(node, 'resume') }
          : undefined,
  })
}

/** A new console run follows: this tab finds it by itself, and begins anew. */
export async function resetCluster(nodes: 1 | 3 | 5): Promise<void> {
  const key = newKey()
  const { run } = shown.get().view
  const made = await perform(
    ['reset'],
    () => liveSource.act('/api/clusters/current/reset', { nodes, ...(run !== undefined && { run }) }, resetResult, key),
    'Start anew',
  ).catch(() => undefined)
  if (made) toast({ tone: 'plain', words: `Starts anew with ${nodes === 1 ? 'one node' : `${nodes} nodes`}.` })
}

export async function actOnLoad(command: LoadCommand): Promise<void> {
  const key = newKey()
  await perform(
    ['load'],
    () => liveSource.act('/api/load', command, loadState, key),
    { start: 'Start load', stop: 'Stop load', rate: 'Change the rate' }[command.action],
  ).catch(() => undefined)
}

/** One node, or every other one. */
export type LinkEnd = number | 'all'
export interface LinkOrder {
  readonly from: LinkEnd
  readonly to: LinkEnd
  readonly action: LinkAction
  readonly body?: Readonly<Record<string, string | number | boolean | readonly string[]>>
}
export const linkPath = (order: Pick<LinkOrder, 'from' | 'to' | 'action'>): string =>
  `/api/links/${order.from}/${order.to}/${order.action}`

export const HOLD_VOTES: LinkOrder = {
  from: 'all',
  to: 'all',
  action: 'hold',
  body: { name: VOTES_HOLD, commands: VOTES },
}
export const RELEASE_VOTES: LinkOrder = { from: 'all', to: 'all', action: 'release', body: { name: VOTES_HOLD } }

/** The answer is what all links are now; the page shows it at once, and the stream confirms it. */
export async function actOnLink(order: LinkOrder): Promise<void> {
  const key = newKey()
  const answer = await perform(
    ['link', order.action, order.from, order.to],
    () => liveSource.act(linkPath(order), order.body ?? {}, linksAnswer, key),
    `${order.action} ${order.from} to ${order.to}`,
  ).catch(() => undefined)
  if (answer) queryClient.setQueryData(['links'], answer)
}

export async function createStream(body: z.input<typeof createStreamBody>): Promise<boolean> {
  const key = newKey()
  const made = await perform(
    ['topics'],
    () => liveSource.act('/api/streams', body, createStreamResult, key),
    'Create stream',
  ).catch(() => undefined)
  await queryClient.invalidateQueries({ queryKey: ['topics'] })
  return made !== undefined
}

export async function createTopic(body: z.input<typeof createTopicBody>): Promise<boolean> {
  const key = newKey()
  const made = await perform(
    ['topics'],
    () => liveSource.act('/api/topics', body, createTopicResult, key),
    'Create topic',
  ).catch(() => undefined)
  await queryClient.invalidateQueries({ queryKey: ['topics'] })
  if (made) toast({ tone: 'good', words: `Topic ${made.name} exists, ${made.partitions} partitions.` })
  return made !== undefined
}

export const WRITE_KEY = ['write'] as const

/** Writes one message; resolves to its offset, or to undefined when it was not acknowledged, which was said then. */
export async function writeMessage(at: PartitionAt, text: string): Promise<string | undefined> {
  const key = newKey()
  const path = `/api/partitions/${at.stream}/${at.topic}/${at.partition}/messages`
  const written = await perform(
    WRITE_KEY,
    () => liveSource.act(path, { messages: [text] }, writeResult, key),
    'Write the message',
  ).catch(() => undefined)
  await queryClient.invalidateQueries({ predicate: query => query.queryKey.includes('partition') })
  if (written) toast({ tone: 'good', words: `Acknowledged at offset ${written.baseOffset ?? '(not told)'}.` })
  return written?.baseOffset ?? undefined
}

export const STORE_KEY = ['store-offset'] as const

/** Stores up to where a consumer has read. */
export async function storeOffset(at: PartitionAt, consumer: string, offset: string): Promise<void> {
  const key = newKey()
  const stored = await perform(
    STORE_KEY,
    () =>
      liveSource.act(
        `/api/partitions/${at.stream}/${at.topic}/${at.partition}/offsets`,
        { consumer, offset },
        storeOffsetResult,
        key,
      ),
    'Store the offset',
  ).catch(() => undefined)
  await queryClient.invalidateQueries({ predicate: query => query.queryKey.includes('consumers') })
  if (stored) toast({ tone: 'good', words: `Stored ${stored.offset} for consumer ${stored.consumer}.` })
}

/** Why nothing may be changed from this tab; undefined when it may. */
export function useForbidden(): string | undefined {
  const readOnly = useCell(shown, state => state.view.readOnly)
  const known = useCell(token)
  const past = useCell(asOf) !== undefined
  const recorded = useCell(sourceKind) !== 'LIVE'
  const lost = useCell(connection, link => link.state !== 'live')
  if (recorded) return 'This is a recording: nothing runs in it that could be changed. Go live to act.'
  if (past) return 'What is shown is in the past: go live first.'
  if (lost) return 'The console does not answer; nothing can be asked of it now.'
  if (readOnly) return 'This console was started with --read-only.'
  if (isViewer(known)) return VIEWER_WHY
  if (known === undefined) return 'Changes need the token that was printed when the console started.'
  return undefined
}
