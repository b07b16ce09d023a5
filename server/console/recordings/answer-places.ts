/**
 * Where the answers stand in a block of a recording, found without reading the events around them: those are nine tenths of
 * it, and whoever looks at a past moment asks for one answer of one screen.
 */
export interface AnswerPlace {
  readonly path: string
  /** When it was given, milliseconds since 1970. */
  readonly t: number
  /** Of the last event before it; undefined where the block tells none before it. */
  readonly seq: number | undefined
  /** Bytes of its line. */
  readonly start: number
  readonly end: number
}

/** As the recorder begins each line (recorder.ts). */
const LINE = /^\{"t":(\d+),"event":"(hello|batch|answer)","data":/
const LINE_HEAD_BYTES = 64
/** As the rounds of answers begin each of theirs (answers.ts); a path holds no quote that is not escaped. */
const PATH = /^\{"path":("(?:[^"\\]|\\.)*")/
const PATH_BYTES = 8192

/** @param text whole lines, each ended by a line break */
export function answerPlaces(text: Buffer): AnswerPlace[] {
  const found: AnswerPlace[] = []
  let seq: number | undefined
  /** Lines that say how far the events had come, since the last answer. */
  let unread: Buffer[] = []
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf(0x0a, start)
    const end = newline === -1 ? text.length : newline
    const head = LINE.exec(text.toString('latin1', start, Math.min(end, start + LINE_HEAD_BYTES)))
    const data = text.subarray(start + (head?.[0].length ?? 0), Math.max(start, end - 1))
    if (head?.[2] === 'answer') {
      seq = lastSeq(unread, seq)
      unread = []
      const path = PATH.exec(data.toString('utf8', 0, PATH_BYTES))?.[1]
      if (path !== undefined) found.push({ path: JSON.parse(path), t: Number(head[1]), seq, start, end })
    } else if (head) unread.push(data)
    start = end + 1
  }
  return found
}

function lastSeq(lines: readonly Buffer[], before: number | undefined): number | undefined {
  for (let index = lines.length - 1; index >= 0; index--) {
    const data: { seq?: number } | { consoleSeq: number }[] = JSON.parse(lines[index]!.toString())
    const seq = Array.isArray(data) ? data.at(-1)?.consoleSeq : data.seq
    if (seq !== undefined) return seq
  }
  return before
}
