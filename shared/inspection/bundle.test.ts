/** What a bundle of somebody else may do to a page: nothing but be refused, in bounded time and memory. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { BUNDLE_FORMAT, BUNDLE_VERSION, type Bundle, eventsPart, MANIFEST, openBundle } from './bundle.ts'
import { LINE_CHARS_MAX, PART_PLAIN_BYTES_MAX, parseLine, type RecordedLine, RecordingError } from './recording.ts'
import { openZip, ZipWriter } from './zip.ts'

const hello = {
  t: 1,
  event: 'hello',
  data: { run: 'r', seq: 1, firstSeq: 1, wallUs: '1', readOnly: false, replicaCount: 3, name: 'c' },
}
const lines = (...items: unknown[]) => gzipSync(items.map(item => `${JSON.stringify(item)}\n`).join(''))
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

let unpacked = 0
const ports = {
  gunzip: async (bytes: Uint8Array, maxOutputLength: number): Promise<Uint8Array> => {
    try {
      const plain = await promisify(gunzip)(bytes, { maxOutputLength })
      unpacked = Math.max(unpacked, plain.length)
      return plain
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
        throw new RecordingError('CON_RECORDING_TOO_LARGE', 'too much comes out')
      throw error
    }
  },
  sha256: async (bytes: Uint8Array) => sha256(bytes),
}

const zipOf = (entries: Record<string, Uint8Array>): Uint8Array => {
  const zip = new ZipWriter()
  const pieces = Object.entries(entries).flatMap(([name, bytes]) => zip.entry({ name, bytes }))
  return Buffer.concat([...pieces, ...zip.end()])
}
const manifestOf = (entries: Record<string, Uint8Array>, changes: object = {}) => ({
  format: BUNDLE_FORMAT,
  version: BUNDLE_VERSION,
  run: 'r',
  name: 'c',
  replicaCount: 3,
  fromMs: 1,
  toMs: 2,
  firstSeq: 1,
  lastSeq: 1,
  leftOut: [],
  parts: Object.entries(entries).map(([path, bytes]) => ({ path, bytes: bytes.length, sha256: sha256(bytes) })),
  ...changes,
})
const bundleOf = (entries: Record<string, Uint8Array>, changes: object = {}): Uint8Array =>
  zipOf({ ...entries, [MANIFEST]: Buffer.from(JSON.stringify(manifestOf(entries, changes))) })

const openBytes = (bytes: Uint8Array): Promise<Bundle> =>
  openBundle({ size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) }, ports)
async function readAll(bytes: Uint8Array): Promise<RecordedLine[]> {
  const bundle = await openBytes(bytes)
  const found: RecordedLine[] = []
  for (const part of bundle.events) for await (const line of bundle.lines(part)) found.push(line)
  return found
}
const codeOf = async (bytes: Uint8Array): Promise<string> =>
  readAll(bytes).then(
    () => 'opened',
    error => (error instanceof RecordingError ? error.code : `not typed: ${error}`),
  )
const good = { [eventsPart(1)]: lines(hello) }

it('a whole bundle opens', async () => {
  expect(await readAll(bundleOf(good))).toMatchObject([{ event: 'hello' }])
})

describe('a bundle that is damaged', () => {
  const whole = bundleOf(good)
  it('is refused wherever it was cut', async () => {
    for (let end = 0; end < whole.length; end++)
      expect({ end, said: await codeOf(whole.subarray(0, end)) }).not.toEqual({ end, said: 'opened' })
    expect(await codeOf(whole.subarray(0, whole.length - 1))).toBe('CON_RECORDING_DAMAGED')
  })
  it('is refused, or says the same, whichever byte was changed', async () => {
    for (let at = 0; at < whole.length; at++) {
      const changed = Uint8Array.from(whole)
      changed[at]! ^= 0x55
      const said = await codeOf(changed)
      expect({ at, said }).toEqual({ at, said: expect.stringMatching(/^(CON_RECORDING_\w+|opened)$/) })
      // Times and versions in the frames of the archive are the only bytes that say nothing.
      if (said === 'opened') expect(await readAll(changed)).toEqual(await readAll(whole))
    }
  })
  it('is refused when a part is missing, altered, or not listed', async () => {
    const altered = { [eventsPart(1)]: lines({ ...hello, t: 2 }) }
    const listing = Buffer.from(JSON.stringify(manifestOf(good)))
    expect(await codeOf(zipOf({ ...altered, [MANIFEST]: listing }))).toBe('CON_RECORDING_DAMAGED')
    expect(await codeOf(zipOf({ [MANIFEST]: listing }))).toBe('CON_RECORDING_DAMAGED')
    expect(await codeOf(zipOf({ ...good, 'config.json': Buffer.from('{}'), [MANIFEST]: listing }))).toBe(
      'CON_RECORDING_FOREIGN',
    )
  })
  it('is refused when what its parts hold is not a recording', async () => {
    for (const [part, code] of [
      [gzipSync('not json\n'), 'CON_RECORDING_DAMAGED'],
      [gzipSync(Buffer.from([0xff, 0xfe, 0x0a])), 'CON_RECORDING_DAMAGED'],
      [Buffer.from('not gzip'), 'CON_RECORDING_DAMAGED'],
      [lines({ t: 1, event: 'batch', data: [{ v: 1 }] }), 'CON_RECORDING_DAMAGED'],
      [lines({ ...hello, data: { ...hello.data, replicaCount: 1e9 } }), 'CON_RECORDING_DAMAGED'],
      [lines({ t: 1, event: 'later', data: 1 }), 'opened'],
    ] as const)
      expect(await codeOf(bundleOf({ [eventsPart(1)]: part }))).toBe(code)
  })
})

it('a bundle of a later version is refused by name, whatever else it holds', async () => {
  expect(await codeOf(bundleOf(good, { version: BUNDLE_VERSION + 1, parts: 'otherwise' }))).toBe('CON_RECORDING_NEWER')
})

it('what is no bundle is refused as foreign', async () => {
  for (const bytes of [
    Buffer.from('{"json":1}'.repeat(10)),
    zipOf({ 'a.txt': Buffer.from('x') }),
    zipOf({ [MANIFEST]: Buffer.from('{"format":"something-else","version":1}') }),
  ])
    expect(await codeOf(bytes)).toBe('CON_RECORDING_FOREIGN')
})

describe('a hostile bundle', () => {
  it('can’t name a file outside itself', async () => {
    for (const name of [
      '../x',
      '/etc/passwd',
      'a/../../x',
      'c:\\x',
      'a\\..\\x',
      'events/../../x',
      'a/b/c',
      '.hidden',
      '',
    ])
      expect({ name, said: await codeOf(bundleOf({ ...good, [name]: Buffer.from('x') })) }).toEqual({
        name,
        said: 'CON_RECORDING_FOREIGN',
      })
  })
  it('unpacks to no more than the bound', async () => {
    const bomb = gzipSync(Buffer.alloc(PART_PLAIN_BYTES_MAX + 1))
    expect(bomb.length).toBeLessThan(100_000)
    unpacked = 0
    expect(await codeOf(bundleOf({ [eventsPart(1)]: bomb }))).toBe('CON_RECORDING_TOO_LARGE')
    expect(unpacked).toBeLessThanOrEqual(PART_PLAIN_BYTES_MAX)
  })
  it('has no line and no text above the bound', async () => {
    const huge = gzipSync(`"${'x'.repeat(LINE_CHARS_MAX)}"\n`)
    expect(await codeOf(bundleOf({ [eventsPart(1)]: huge }))).toBe('CON_RECORDING_TOO_LARGE')
    expect(() => parseLine('x'.repeat(LINE_CHARS_MAX + 1))).toThrow(RecordingError)
  })
  it('has no more parts than the bound, no two of a name, and none that overlap', async () => {
    const zip = new ZipWriter()
    const pieces = Array.from({ length: 300 }, (_, i) => zip.entry({ name: `p${i}`, bytes: Buffer.from('x') })).flat()
    expect(await codeOf(Buffer.concat([...pieces, ...zip.end()]))).toBe('CON_RECORDING_TOO_LARGE')
    const twice = new ZipWriter()
    const two = [1, 2].flatMap(() => twice.entry({ name: 'a', bytes: Buffer.from('x') }))
    expect(await codeOf(Buffer.concat([...two, ...twice.end()]))).toBe('CON_RECORDING_DAMAGED')
    // the second entry of the directory points at the first
    const whole = Buffer.from(bundleOf(good))
    const second = whole.indexOf(Buffer.from([0x50, 0x4b, 1, 2]), whole.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 4)
    whole.writeUInt32LE(0, second + 42)
    expect(await codeOf(whole)).toBe('CON_RECORDING_DAMAGED')
  })
  it('is not believed to be larger than it is, nor packed in another way', async () => {
    await expect(openZip({ size: 2 ** 40, read: async () => new Uint8Array() })).rejects.toMatchObject({
      code: 'CON_RECORDING_TOO_LARGE',
    })
    const whole = Buffer.from(bundleOf(good))
    whole.writeUInt16LE(8, whole.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 10)
    expect(await codeOf(whole)).toBe('CON_RECORDING_FOREIGN')
  })
})
