export interface Term {
  readonly name: string
  /** Two sentences. */
  readonly words: string
  /** `page#anchor` in docs/book. */
  readonly read: string
}

export const term = (name: string, read: string, words: string): Term => ({ name, words, read })
