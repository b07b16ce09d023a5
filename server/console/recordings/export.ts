/** A recording as something to take away: a bundle (shared/inspection/bundle.ts), lines of JSON, or a Chrome trace. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  BUNDLE_FORMAT,
  BUNDLE_VERSION,
  type BundleManifest,
  type BundlePart,
  eventsPart,
  linesOf,
  MANIFEST,
} from '../../../shared/inspection/bundle.ts'
import type { RecordedLine } from '../../../shared/inspection/recording.ts'
import { TraceWriter } from '../../../shared/inspection/trace.ts'
import { ZipWriter } from '../../../shared/inspection/zip.ts'
import { publicLine } from './public-line.ts'
import type { Contents, Recordings } from './store.ts'

const pack = promisify(gzip) as (text: string, options: { level: number }) => Promise<Buffer>
/** Of lines: some minutes of a busy cluster, which a page unpacks at once. */
const PART_BYTES = 16 * 2 ** 20
/** Of events; an archive takes some more entries. A recording that is larger gets larger parts. */
const PARTS_MAX = 200

const LEFT_OUT = [
  'Bytes of segments and of write-ahead logs: a recording never holds them.',
  'Prepares, acknowledgements and commits: all of a group that somebody watched, else a sample; each event says of which.',
  'Paths of the machine, commands, and logs of processes.',
]

/** The pieces of a bundle, in order; joined they are the archive. */
export async function* bundlePieces(
  store: Recordings,
  contents: Contents,
  partBytes = PART_BYTES,
): AsyncGenerator<Uint8Array> {
  const { info } = contents
  const zip = new ZipWriter()
  const parts: BundlePart[] = []
  const entry = (path: string, bytes: Uint8Array, span: Partial<BundlePart> = {}): Uint8Array[] => {
    parts.push({ path, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), ...span })
    return zip.entry({ name: path, bytes })
  }
  const verdicts: Verdicts = { load: null, drills: null }
  let number = 0
  let missing = 0
  for await (const group of keyframeGroups(store, contents, partBytes, verdicts)) {
    number += 1
    missing += group.missing
    yield* entry(eventsPart(number), await pack(group.texts.join(''), { level: 6 }), group.span)
  }
  yield* entry('verdicts.json', json(verdicts))
  yield* entry('config.json', json(contents.parts[0]?.head.config ?? {}))
  yield* entry('README.txt', new TextEncoder().encode(readme(info.name, info.id)))
  const manifest: BundleManifest = {
    format: BUNDLE_FORMAT,
    version: BUNDLE_VERSION,
    run: info.id,
    name: info.name,
    replicaCount: info.replicaCount,
    fromMs: info.fromMs,
    toMs: info.toMs,
    firstSeq: info.firstSeq,
    lastSeq: info.lastSeq,
    leftOut: [
      ...LEFT_OUT,
      ...(info.beginningGone ? ['The beginning: it was removed when the recording had reached its bound.'] : []),
      ...(missing > 0
        ? [`${missing} events that were damaged, or removed, before this was exported: a gap stands for them.`]
        : []),
      ...(info.tornBytes > 0 ? [`${info.tornBytes} bytes at the end that a killed console had not finished.`] : []),
    ],
    parts,
  }
  yield* zip.entry({ name: MANIFEST, bytes: json(manifest) })
  yield* zip.end()
}

/** Every line, one JSON text a line. */
export async function* linePieces(store: Recordings, contents: Contents): AsyncGenerator<string> {
  for await (const { text } of store.texts(blocksOf(contents))) {
    let lines = ''
    for (const line of linesOf(text)) lines += textOf(line)
    yield lines
  }
}

/** The trace event format that Chrome's tracing page and Perfetto read. */
export async function* tracePieces(store: Recordings, contents: Contents): AsyncGenerator<string> {
  const trace = new TraceWriter(contents.info.replicaCount)
  yield trace.begin(contents.info.name)
  for await (const { text } of store.texts(blocksOf(contents))) {
    let events = ''
    for (const line of linesOf(text)) events += trace.line(line)
    if (events !== '') yield events
  }
  yield trace.end()
}

const blocksOf = ({ parts }: Contents) => parts.flatMap(part => part.blocks.map(block => ({ part, block })))
const textOf = (line: RecordedLine): string => `${JSON.stringify(publicLine(line))}\n`

interface Group {
  readonly texts: string[]
  readonly span: { fromMs: number; toMs: number; firstSeq?: number; lastSeq?: number }
  /** Events that are not there any more and that nobody had told of while it was recorded. */
  missing: number
}

/** Lines in groups that each begin with a keyframe: as large as asked for, or as large as so few of them must be. */
async function* keyframeGroups(
  store: Recordings,
  contents: Contents,
  partBytes: number,
  verdicts: Verdicts,
): AsyncGenerator<Group> {
  const blocks = blocksOf(contents)
  const whole = blocks.reduce((sum, { block }) => sum + block.plainBytes, 0)
  const enough = Math.max(partBytes, whole / PARTS_MAX)
  let group: Group | undefined
  let bytes = 0
  for await (const { block, gap, text } of store.texts(blocks)) {
    if (group && block.keyframe && bytes >= enough) {
      yield group
      group = undefined
      bytes = 0
    }
    for (const line of linesOf(text)) {
      group ??= { texts: [], span: { fromMs: line.t, toMs: line.t }, missing: 0 }
      if (gap && line.event === 'gap' && line.data.reason !== 'slow_reader')
        group.missing += line.data.toSeq - line.data.fromSeq + 1
      learn(verdicts, line)
      group.texts.push(textOf(line))
      reach(group.span, line)
    }
    bytes += block.plainBytes
  }
  if (group) yield group
}

function reach(span: Group['span'], line: RecordedLine): void {
  span.toMs = line.t
  if (line.event !== 'batch') return
  for (const { consoleSeq } of line.data) {
    if (consoleSeq === undefined) continue
    span.firstSeq ??= consoleSeq
    span.lastSeq = consoleSeq
  }
}

interface Verdicts {
  load: unknown
  drills: unknown
}
function learn(verdicts: Verdicts, line: RecordedLine): void {
  if (line.event === 'load' && line.data.run !== null) {
    const { run, state, settings, ledger, verdict } = line.data
    verdicts.load = { atMs: line.t, run, state, settings, ledger, verdict }
  }
  if (line.event === 'answer' && line.data.path === '/api/drills/runs' && line.data.status === 200)
    verdicts.drills = line.data.json
}

const json = (value: unknown): Uint8Array => new TextEncoder().encode(`${JSON.stringify(value, undefined, 2)}\n`)

const readme = (name: string, run: string): string =>
  `A recording of the cluster ${name}, made by Quorumscope (run ${run}).

Open it on the Recordings screen of any console: it is shown read-only, nothing is sent anywhere.
events/ holds the lines of the recording (gzip, one JSON text a line), verdicts.json what was concluded,
config.json what the cluster was. manifest.json has the SHA-256 of each part; a bundle that differs is refused.
`
