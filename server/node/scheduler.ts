import type { Scheduler } from '../../shared/storage/ports.ts'

/** Lets sockets, timers and completions run before the caller goes on. */
export const immediateScheduler: Scheduler = {
  yield: () => new Promise(resolve => setImmediate(resolve)),
}
