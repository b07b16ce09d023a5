/** The same question to several nodes at once; a slow or dead one delays only its own answer. */
import { type UseQueryOptions, useQueries } from '@tanstack/react-query'

export interface EachAnswer<T> {
  readonly node: number
  readonly data: T | undefined
  readonly error: unknown
  /** When the console's answer arrived, milliseconds since the Unix epoch by the browser's clock. */
  readonly answeredMs: number
  readonly loading: boolean
}

export function useEach<T>(
  nodes: readonly number[],
  // biome-ignore lint/suspicious/noExplicitAny: the key's type differs by question and is not used here
  question: (node: number) => UseQueryOptions<T, Error, T, any>,
  /** A node that is not asked keeps its last answer. */
  asked: (node: number) => boolean = () => true,
): EachAnswer<T>[] {
  const answers = useQueries({ queries: nodes.map(node => ({ ...question(node), enabled: asked(node) })) })
  return nodes.map((node, index) => {
    const answer = answers[index]!
    return {
      node,
      data: answer.data as T | undefined,
      error: answer.error,
      answeredMs: answer.dataUpdatedAt,
      loading: answer.isPending,
    }
  })
}
