import type { Clock, Pacing, Scheduler } from '../../shared/storage/ports.ts'

/** Lets sockets, timers and completions run before the caller goes on. */
export const immediateScheduler: Scheduler = {
  yield: () => new Promise(resolve => setImmediate(resolve)),
}

/** Turns of the event loop, since a timer has whole milliseconds only. */
export const turnPacing = ({ monoMicros }: Clock): Pacing => ({
  monoMicros,
  pause: (micros, over) =>
    new Promise(resolve => {
      const until = monoMicros() + micros
      const look = () => {
        if (over() || monoMicros() >= until) resolve()
        else setImmediate(look)
      }
      setImmediate(look)
    }),
})
