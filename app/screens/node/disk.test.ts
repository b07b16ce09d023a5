import { describe, expect, it } from 'vitest'
import type { FileRow, FilesAnswer } from '../../../shared/inspection/files.ts'
import { changeWords, isChanged, sinceBefore, sinceLast } from './disk.ts'
import { logLine } from './log-line.ts'

const at = (sizeBytes: number | null) => (sizeBytes === null ? null : { sizeBytes, modifiedWallMs: sizeBytes })
const row = (path: string, before: number | null, last: number | null, now: number | null): FileRow => ({
  path,
  bootBefore: at(before),
  lastBoot: at(last),
  now: at(now),
})
const answer = (rows: FileRow[], boots: Partial<FilesAnswer> = {}): FilesAnswer => ({
  node: 0,
  takenWallUs: '0',
  dataDirectory: '/data',
  files: rows.length,
  bytes: 0,
  leftOut: 0,
  lastBootWallMs: 2000,
  bootBeforeWallMs: 1000,
  total: rows.length,
  rows,
  ...boots,
})

describe('what changed on disk', () => {
  it('is said in one sentence, the gravest first, with the bytes that came to it', () => {
    const rows = [
      row('log', 1024, 3072, 3072),
      row('b', null, 1024, 2048),
      row('c', 512, null, null),
      row('d', 8, 8, 8),
    ]
    expect(changeWords(answer(rows))).toMatch(/: 1 file gone, 1 file new, 1 file grown, 2\.5 KiB in all\.$/)
    expect(rows.map(one => isChanged(one, answer(rows)))).toEqual([true, true, true, false])
    expect(changeWords(answer([row('d', 8, 8, 9)]))).toMatch(/found every file as the boot of .* had found it/)
  })

  it('is not known of a boot that nobody saw, and a file is not new because of it', () => {
    const first = answer([row('a', null, 5, 6)], { bootBeforeWallMs: null })
    expect(changeWords(first)).toContain('is the first that was seen')
    expect([sinceBefore(first.rows[0]!, first), sinceLast(first.rows[0]!, first)]).toEqual([undefined, 'grown'])
    const none = answer([row('a', null, null, 6)], { bootBeforeWallMs: null, lastBootWallMs: null })
    expect(changeWords(none)).toContain('No boot')
    expect(isChanged(none.rows[0]!, none)).toBe(false)
  })
})

it('reads a line of the log, and takes what is none as it is', () => {
  expect(logLine('{"level":40,"time":5,"replica":1,"msg":"late","ms":3,"of":{"a":1}}')).toMatchObject({
    atMs: 5,
    level: 'warn',
    message: 'late',
    rest: 'ms 3, of {"a":1}',
  })
  for (const raw of ['Killed', '{"level":', '[1]', 'null', '7'])
    expect(logLine(raw)).toMatchObject({ atMs: undefined, level: '', message: raw, rest: '' })
})
