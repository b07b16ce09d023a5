/**
 * The recorded frames of the golden data, for tests. Where the folder is absent the tests are skipped with a printed
 * reason, except in CI, where its absence is a failure.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fromHex } from '../../bytes/hex.ts'

export const goldenRoot = fileURLToPath(new URL('../../../../shared/golden/', import.meta.url))

export const goldenAbsent = !existsSync(goldenRoot)
if (goldenAbsent) {
  const reason = `golden data is absent (${goldenRoot})`
  if (process.env.CI) throw new Error(`${reason}; in CI that is a failure`)
  console.warn(`skipped: ${reason}`)
}

export interface GoldenFrame {
  /** File and line, for messages. */
  readonly where: string
  readonly connection: number
  readonly inbound: boolean
  /** Port of the recorded node: the accepting side of the link. */
  readonly port: number
  readonly command: number
  readonly size: number
  readonly header: Uint8Array
  /** Undefined where only a prefix of a long body was recorded. */
  readonly body: Uint8Array | undefined
  readonly bodyPrefix: Uint8Array
}

export function* goldenFrames(file: string): Generator<GoldenFrame> {
  const lines = readFileSync(`${goldenRoot}${file}`, 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    if (line === '') continue
    const json = JSON.parse(line)
    const body = json.body_prefix === undefined ? fromHex(json.body ?? '') : undefined
    yield {
      where: `${file}:${index + 1}`,
      connection: json.conn,
      inbound: json.dir === 'in',
      port: json.dir === 'in' ? json.to : json.from,
      command: json.command,
      size: json.size,
      header: fromHex(json.header),
      body,
      bodyPrefix: body ?? fromHex(json.body_prefix),
    }
  }
}

export const goldenJson = (file: string): unknown => JSON.parse(readFileSync(`${goldenRoot}${file}`, 'utf8'))

/** Header and whole body in one buffer. */
export function wholeFrame(frame: GoldenFrame): Uint8Array {
  if (!frame.body) throw new Error(`${frame.where}: only a prefix of the body was recorded`)
  const bytes = new Uint8Array(frame.header.length + frame.body.length)
  bytes.set(frame.header)
  bytes.set(frame.body, frame.header.length)
  return bytes
}

/** What a value becomes when it travels as JSON text. */
export const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value))

/** Bytes of `gaps` of a record that are not zero: ignored bytes are only honestly ignored while they carry nothing. */
export function nonZeroGapBytes(bytes: Uint8Array, gaps: readonly { at: number; size: number }[], base = 0): number[] {
  const found: number[] = []
  for (const gap of gaps) for (let at = gap.at; at < gap.at + gap.size; at++) if (bytes[base + at] !== 0) found.push(at)
  return found
}
