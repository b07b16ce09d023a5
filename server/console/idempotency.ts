/**
 * One answer for each idempotency key: a retry after a lost answer must not kill a node twice. The answer is kept as a
 * promise, so that a retry which arrives while the first is still at work waits for it.
 */
import { ConsoleError } from './errors.ts'

/** A person or a script makes a few a minute; an hour of that. */
const KEYS_MAX = 1_000
const KEY_CHARS_MAX = 200

export class IdempotentActions<T> {
  readonly #done = new Map<string, { readonly what: string; readonly answer: Promise<T> }>()

  /** Runs `work` unless `key` was seen. `what` names the action, so that a key can't be used for two. */
  async run(key: unknown, what: string, work: () => Promise<T>): Promise<{ repeated: boolean; answer: T }> {
    if (typeof key !== 'string' || key === '' || key.length > KEY_CHARS_MAX) {
      throw new ConsoleError(
        'CON_KEY_MISSING',
        `This action needs an Idempotency-Key header of 1 to ${KEY_CHARS_MAX} characters.`,
      )
    }
    const known = this.#done.get(key)
    if (known) {
      if (known.what !== what) throw new ConsoleError('CON_KEY_REUSED', `This key was used for: ${known.what}.`)
      return { repeated: true, answer: await known.answer }
    }
    const answer = work()
    this.#done.set(key, { what, answer })
    if (this.#done.size > KEYS_MAX) this.#done.delete(this.#done.keys().next().value!)
    try {
      return { repeated: false, answer: await answer }
    } catch (error) {
      // A refused action did nothing, so the same key may try again.
      this.#done.delete(key)
      throw error
    }
  }
}
