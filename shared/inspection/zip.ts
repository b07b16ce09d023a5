/**
 * Just enough of ZIP (PKWARE APPNOTE 6.3, no Zip64) to carry a bundle: entries are stored, not deflated, because what they
 * hold is compressed already. So an archive can't be larger inside than outside. The reader takes exactly what the writer
 * makes, and refuses the rest: other methods, encryption, entries that overlap, names that lead anywhere.
 */
import { RecordingError } from './recording.ts'

const LOCAL = 0x0403_4b50
const CENTRAL = 0x0201_4b50
const END = 0x0605_4b50
const LOCAL_BYTES = 30
const CENTRAL_BYTES = 46
const END_BYTES = 22
export const ENTRIES_MAX = 256
/** What 32 bits hold. */
const ARCHIVE_BYTES_MAX = 0xffff_ffff
/** Letters, digits, dots and one level of folders; never `..`, an absolute path, a drive or a backslash. */
const NAME = /^(?!.*\.\.)[a-z0-9][a-z0-9.-]{0,63}(\/[a-z0-9][a-z0-9.-]{0,63})?$/i

export interface ZipEntry {
  readonly name: string
  readonly bytes: Uint8Array
}
/** Random access to an archive of known size: a file, an answer, an array. */
export interface RandomBytes {
  readonly size: number
  read(position: number, length: number): Promise<Uint8Array>
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb8_8320 ^ (c >>> 1) : c >>> 1
  return c >>> 0
})
/** CRC-32 as ZIP has it. */
export function crc32(bytes: Uint8Array): number {
  let c = 0xffff_ffff
  for (let i = 0; i < bytes.length; i++) c = table[(c ^ bytes[i]!) & 0xff]! ^ (c >>> 8)
  return (c ^ 0xffff_ffff) >>> 0
}

/** Writes an archive piece by piece: `entry` for each file, `end` once; concatenated they are the archive. */
export class ZipWriter {
  #position = 0
  readonly #central: Uint8Array[] = []

  entry({ name, bytes }: ZipEntry): Uint8Array[] {
    const path = new TextEncoder().encode(name)
    const local = new DataView(new ArrayBuffer(LOCAL_BYTES))
    const central = new DataView(new ArrayBuffer(CENTRAL_BYTES))
    const crc = crc32(bytes)
    local.setUint32(0, LOCAL, true)
    central.setUint32(0, CENTRAL, true)
    central.setUint16(4, 20, true)
    for (const [view, start] of [
      [local, 4],
      [central, 6],
    ] as const) {
      view.setUint16(start, 20, true)
      // 1 January 1980: the archive of a recording depends on the recording alone.
      view.setUint16(start + 8, 0x21, true)
      view.setUint32(start + 10, crc, true)
      view.setUint32(start + 14, bytes.length, true)
      view.setUint32(start + 18, bytes.length, true)
      view.setUint16(start + 22, path.length, true)
    }
    central.setUint32(42, this.#position, true)
    this.#central.push(new Uint8Array(central.buffer), path)
    this.#position += LOCAL_BYTES + path.length + bytes.length
    return [new Uint8Array(local.buffer), path, bytes]
  }

  end(): Uint8Array[] {
    const size = this.#central.reduce((sum, part) => sum + part.length, 0)
    const end = new DataView(new ArrayBuffer(END_BYTES))
    end.setUint32(0, END, true)
    end.setUint16(8, this.#central.length / 2, true)
    end.setUint16(10, this.#central.length / 2, true)
    end.setUint32(12, size, true)
    end.setUint32(16, this.#position, true)
    return [...this.#central, new Uint8Array(end.buffer)]
  }
}

export interface ZipFile {
  readonly names: readonly string[]
  bytesOf(name: string): number | undefined
  /** @throws RecordingError when the entry is not there, or its bytes are not those that were written */
  read(name: string): Promise<Uint8Array>
}

/** @throws RecordingError CON_RECORDING_FOREIGN, CON_RECORDING_DAMAGED, CON_RECORDING_TOO_LARGE */
export async function openZip(archive: RandomBytes): Promise<ZipFile> {
  if (archive.size > ARCHIVE_BYTES_MAX)
    throw new RecordingError('CON_RECORDING_TOO_LARGE', `The file has ${archive.size} bytes.`)
  const tail = archive.size < END_BYTES ? new Uint8Array() : await archive.read(archive.size - END_BYTES, END_BYTES)
  const end = viewOf(tail)
  if (tail.length < END_BYTES || end.getUint32(0, true) !== END) {
    const head = viewOf(await archive.read(0, Math.min(4, archive.size)))
    if (head.byteLength === 4 && head.getUint32(0, true) === LOCAL)
      throw new RecordingError('CON_RECORDING_DAMAGED', 'The end of the bundle is missing: it was cut off.')
    throw new RecordingError('CON_RECORDING_FOREIGN', 'The file is not a bundle.')
  }
  const count = end.getUint16(10, true)
  const [size, start] = [end.getUint32(12, true), end.getUint32(16, true)]
  if (count > ENTRIES_MAX) throw new RecordingError('CON_RECORDING_TOO_LARGE', `The bundle has ${count} parts.`)
  if (start + size + END_BYTES !== archive.size) throw damaged('its directory is not where it says')
  const entries = new Map<string, { position: number; length: number; crc: number }>()
  const central = await archive.read(start, size)
  const view = viewOf(central)
  let [at, expected] = [0, 0]
  for (let index = 0; index < count; index++) {
    if (at + CENTRAL_BYTES > size || view.getUint32(at, true) !== CENTRAL) throw damaged('its directory is cut')
    const nameLength = view.getUint16(at + 28, true)
    const [extra, comment] = [view.getUint16(at + 30, true), view.getUint16(at + 32, true)]
    const name = new TextDecoder().decode(central.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameLength))
    if (!NAME.test(name) || extra !== 0 || comment !== 0)
      throw new RecordingError('CON_RECORDING_FOREIGN', `No bundle has a part named ${JSON.stringify(name)}.`)
    if (entries.has(name)) throw damaged(`two parts are named ${name}`)
    if (view.getUint16(at + 8, true) !== 0 || view.getUint16(at + 10, true) !== 0)
      throw new RecordingError('CON_RECORDING_FOREIGN', `${name} is packed in a way that no bundle is.`)
    const length = view.getUint32(at + 20, true)
    const position = view.getUint32(at + 42, true)
    // Back to back from the first byte on: nothing overlaps, and nothing is hidden between.
    if (position !== expected || view.getUint32(at + 24, true) !== length) throw damaged(`${name} is misplaced`)
    expected = position + LOCAL_BYTES + nameLength + length
    entries.set(name, { position: position + LOCAL_BYTES + nameLength, length, crc: view.getUint32(at + 16, true) })
    at += CENTRAL_BYTES + nameLength
  }
  if (at !== size || expected !== start) throw damaged('its parts do not fill it')
  return {
    names: [...entries.keys()],
    bytesOf: name => entries.get(name)?.length,
    async read(name) {
      const entry = entries.get(name)
      if (!entry) throw damaged(`${name} is missing`)
      const bytes = await archive.read(entry.position, entry.length)
      if (bytes.length !== entry.length || crc32(bytes) !== entry.crc) throw damaged(`${name} is not as it was written`)
      return bytes
    },
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const damaged = (why: string): RecordingError =>
  new RecordingError('CON_RECORDING_DAMAGED', `The bundle is damaged: ${why}.`)
