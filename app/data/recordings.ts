/** The recordings of the console: the list, and what can be done with one. */
import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { recordingsAnswer } from '../../shared/inspection/recording.ts'
import { newKey, perform } from './actions.ts'
import { liveSource } from './live.ts'
import { toast } from './notices.ts'
import { queryClient } from './queries.ts'

const LIST_MS = 3_000
const deleted = z.object({ deleted: z.string() })

export const recordingsQuery = () =>
  queryOptions({
    queryKey: ['recordings'],
    queryFn: ({ signal }) => liveSource.read('/api/recordings', recordingsAnswer, signal),
    refetchInterval: LIST_MS,
  })

export const DELETE_KEY = ['recordings', 'delete'] as const

export async function deleteRecording(id: string, words: string): Promise<void> {
  const done = await perform(
    DELETE_KEY,
    () => liveSource.act(`/api/recordings/${id}`, undefined, deleted, newKey(), 'DELETE'),
    'Delete the recording',
  ).catch(() => undefined)
  if (done) toast({ tone: 'plain', words: `The recording ${words} is deleted.` })
  await queryClient.invalidateQueries({ queryKey: ['recordings'] })
}
