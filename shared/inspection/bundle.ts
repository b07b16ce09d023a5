/**
 * A bundle: one recording as one file for other people (ui.md §2 rows 44, 45). A ZIP archive of
 *
 *   events/000001.ndjson.gz …   the lines of the recording (see recording.ts), oldest first, each part from a keyframe on
 *   verdicts.json               what was concluded: the ledger of the load, the drills
 *   config.json                 what the cluster was; without paths of the machine, commands, or secrets
 *   README.txt                  how to open it
 *   manifest.json               version, span, and size and SHA-256 of every other part
 *
 * It is opened only whole: an archive of a later version, a part that is missing, unnamed or altered, is refused with a
 * typed error. Bounds hold before anything is unpacked, whatever the archive says of itself.
 */
import { z } from 'zod'
import { LINE_CHARS_MAX, PART_PLAIN_BYTES_MAX, parseLine, type RecordedLine, RecordingError } from './recording.ts'
import { openZip, type RandomBytes } from './zip.ts'

export const BUNDLE_FORMAT = 'quorumscope-bundle'
export const BUNDLE_VERSION = 1
export const MANIFEST = 'manifest.json'
const JSON_BYTES_MAX = 4 * 2 ** 20
export const eventsPart = (number: number): string => `events/${String(number).padStart(6, '0')}.ndjson.gz`
const EVENTS = /^events\/\d{6}\.ndjson\.gz$/
const OTHERS = new Set(['verdicts.json', 'config.json', 'README.txt', MANIFEST])

const part = z.object({
  path: z.string(),
  bytes: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of events: what the part spans. */
  fromMs: z.number().optional(),
  toMs: z.number().optional(),
  firstSeq: z.number().optional(),
  lastSeq: z.number().optional(),
})
export type BundlePart = z.infer<typeof part>
export const bundleManifest = z.object({
  format: z.literal(BUNDLE_FORMAT),
  version: z.number().int().min(1),
  /** Of the console that recorded. */
  run: z.string().max(64),
  name: z.string().max(255),
  replicaCount: z.number().int().min(1).max(32),
  fromMs: z.number(),
  toMs: z.number(),
  firstSeq: z.number(),
  lastSeq: z.number(),
  /** In words: what a recording does not hold, and what this one lost. */
  leftOut: z.array(z.string().max(500)).max(20),
  parts: z.array(part).max(256),
})
export type BundleManifest = z.infer<typeof bundleManifest>

export interface BundlePorts {
  /** @throws RecordingError CON_RECORDING_TOO_LARGE once more than `maxBytes` would come out; any other error is damage. */
  gunzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array>
  /** Hex. */
  sha256(bytes: Uint8Array): Promise<string>
}

export interface Bundle {
  readonly manifest: BundleManifest
  /** Parts with events, oldest first. */
  readonly events: readonly BundlePart[]
  /** The lines of one part. */
  lines(part: BundlePart): AsyncGenerator<RecordedLine>
  json(name: 'verdicts.json' | 'config.json'): Promise<unknown>
}

/** @throws RecordingError */
export async function openBundle(archive: RandomBytes, ports: BundlePorts): Promise<Bundle> {
  const zip = await openZip(archive)
  if ((zip.bytesOf(MANIFEST) ?? JSON_BYTES_MAX + 1) > JSON_BYTES_MAX)
    throw new RecordingError('CON_RECORDING_FOREIGN', 'The file is an archive, and not a bundle: it has no manifest.')
  const manifest = readManifest(await zip.read(MANIFEST))
  const listed = new Map(manifest.parts.map(item => [item.path, item]))
  for (const name of zip.names) {
    if (name === MANIFEST) continue
    if (!listed.has(name) || (!EVENTS.test(name) && !OTHERS.has(name)))
      throw new RecordingError('CON_RECORDING_FOREIGN', `The manifest does not list ${name}.`)
  }
  const read = async (item: BundlePart): Promise<Uint8Array> => {
    const bytes = await zip.read(item.path)
    if (bytes.length !== item.bytes || (await ports.sha256(bytes)) !== item.sha256)
      throw new RecordingError('CON_RECORDING_DAMAGED', `${item.path} is not what the manifest says it is.`)
    return bytes
  }
  for (const item of manifest.parts) if (zip.bytesOf(item.path) !== item.bytes) throw missing(item.path)
  const events = manifest.parts.filter(item => EVENTS.test(item.path)).sort((a, b) => (a.path < b.path ? -1 : 1))
  if (events.length === 0) throw new RecordingError('CON_RECORDING_DAMAGED', 'The bundle has no events.')
  return {
    manifest,
    events,
    async *lines(item) {
      const packed = await read(item)
      let plain: Uint8Array
      try {
        plain = await ports.gunzip(packed, PART_PLAIN_BYTES_MAX)
      } catch (error) {
        if (error instanceof RecordingError) throw error
        throw new RecordingError('CON_RECORDING_DAMAGED', `${item.path} can't be unpacked.`)
      }
      yield* linesOf(plain)
    },
    async json(name) {
      const item = listed.get(name)
      if (!item) throw missing(name)
      if (item.bytes > JSON_BYTES_MAX)
        throw new RecordingError('CON_RECORDING_TOO_LARGE', `${name} has ${item.bytes} bytes.`)
      return parseJson(name, await read(item))
    },
  }
}

/** Lines of plain text that holds whole lines. @throws RecordingError */
export function* linesOf(plain: Uint8Array): Generator<RecordedLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for (let start = 0; start < plain.length; ) {
    const newline = plain.indexOf(0x0a, start)
    const end = newline === -1 ? plain.length : newline
    if (end - start > LINE_CHARS_MAX)
      throw new RecordingError('CON_RECORDING_TOO_LARGE', `A line of the recording has ${end - start} bytes.`)
    let text: string
    try {
      text = decoder.decode(plain.subarray(start, end))
    } catch {
      throw new RecordingError('CON_RECORDING_DAMAGED', 'A line of the recording is not text.')
    }
    const line = text === '' ? undefined : parseLine(text)
    if (line) yield line
    start = end + 1
  }
}

function readManifest(bytes: Uint8Array): BundleManifest {
  const json = parseJson(MANIFEST, bytes) as { format?: unknown; version?: unknown } | null
  if (json?.format !== BUNDLE_FORMAT)
    throw new RecordingError('CON_RECORDING_FOREIGN', 'The manifest is not one of a bundle.')
  // First: a later version may look like anything.
  if (typeof json.version === 'number' && json.version > BUNDLE_VERSION)
    throw new RecordingError(
      'CON_RECORDING_NEWER',
      `The bundle has version ${json.version}; this page reads version ${BUNDLE_VERSION}.`,
    )
  const parsed = bundleManifest.safeParse(json)
  if (parsed.success) return parsed.data
  const where = parsed.error.issues[0]
  throw new RecordingError('CON_RECORDING_DAMAGED', `The manifest is wrong at ${where?.path.join('.') ?? 'its root'}.`)
}

function parseJson(name: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw new RecordingError('CON_RECORDING_DAMAGED', `${name} is not JSON.`)
  }
}

const missing = (name: string): RecordingError =>
  new RecordingError('CON_RECORDING_DAMAGED', `${name} is missing, or of another size than the manifest says.`)
