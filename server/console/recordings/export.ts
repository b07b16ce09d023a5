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
  MANIFEST,
} from '../../../shared/inspection/bundle.ts'
import type { RecordedLine } from '../../../shared/inspection/recording.ts'
import { TraceWriter } from '../../../shared/inspection/trace.ts'
import { ZipWriter } from '../../../shared/inspection/zip.ts'
import { publicLine } from './public-line.ts'
import type { Contents, Recordings } from './store.ts'

const pack = promisify(gzip) as (text: string, options: { level: number }) => Promise<Buffer>
/** Some minutes of a busy cluster: what a page unpacks at once. */
const PART_CHARS = 16 * 2 ** 20

const LEFT_OUT = [
  'Bytes of segments and of write-ahead logs: a recording never holds them.',
  'Flow events are those that the nodes sampled; their counts are exact.',
  'Paths of the machine, commands, and logs of processes.',
]

/** The pieces of a bundle, in order; joined they are the archive. */
export async function* bundlePieces(store: Recordings, contents: Contents): AsyncGenerator<Uint8Array> {
  const { info } = contents
  const zip = new ZipWriter()
  const parts: BundlePart[] = []
  const entry = (path: string, bytes: Uint8Array, span: Partial<BundlePart> = {}): Uint8Array[] => {
    parts.push({ path, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), ...span })
    return zip.entry({ name: path, bytes })
  }
  const verdicts: Verdicts = { load: null, drills: null }
  let number = 0
  for await (const group of keyframeGroups(store, contents)) {
    number += 1
    for (const line of group) learn(verdicts, line)
    const text = group.map(line => `${JSON.stringify(publicLine(line))}\n`).join('')
    yield* entry(eventsPart(number), await pack(text, { level: 6 }), spanOf(group))
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
      ...(info.tornBytes > 0 ? [`${info.tornBytes} bytes at the end that a killed console had not finished.`] : []),
    ],
    parts,
  }
  yield* zip.entry({ name: MANIFEST, bytes: json(manifest) })
  yield* zip.end()
}

/** Every line, one JSON text a line. */
export async function* linePieces(store: Recordings, contents: Contents): AsyncGenerator<string> {
  for (const part of contents.parts) {
    for (const block of part.blocks) {
      const lines: string[] = []
      for await (const line of store.lines([{ part, block }])) lines.push(`${JSON.stringify(publicLine(line))}\n`)
      yield lines.join('')
    }
  }
}

/** The trace event format that Chrome's tracing page and Perfetto read. */
export async function* tracePieces(store: Recordings, contents: Contents): AsyncGenerator<string> {
  const trace = new TraceWriter(contents.info.replicaCount)
  yield trace.begin(contents.info.name)
  for (const part of contents.parts) {
    for (const block of part.blocks) {
      let text = ''
      for await (const line of store.lines([{ part, block }])) text += trace.line(line)
      if (text !== '') yield text
    }
  }
  yield trace.end()
}

/** Lines in groups of bounded size, each from a keyframe on. */
async function* keyframeGroups(store: Recordings, { parts }: Contents): AsyncGenerator<RecordedLine[]> {
  let group: RecordedLine[] = []
  let chars = 0
  for (const part of parts) {
    for (const block of part.blocks) {
      if (block.keyframe && chars + block.plainBytes > PART_CHARS && group.length > 0) {
        yield group
        group = []
        chars = 0
      }
      for await (const line of store.lines([{ part, block }])) group.push(line)
      chars += block.plainBytes
    }
  }
  if (group.length > 0) yield group
}

function spanOf(group: readonly RecordedLine[]): Partial<BundlePart> {
  const seqs = group.flatMap(line => (line.event === 'batch' ? line.data.flatMap(item => item.consoleSeq ?? []) : []))
  return {
    fromMs: group[0]!.t,
    toMs: group.at(-1)!.t,
    ...(seqs.length > 0 && { firstSeq: seqs[0]!, lastSeq: seqs.at(-1)! }),
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
