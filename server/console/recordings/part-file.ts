/**
 * One file of a recording, written only at its end. A header, then blocks; a block is some lines, compressed by
 * themselves, behind a fixed frame with sizes, what they span, and a checksum. So a console that is killed loses what it
 * had not flushed and at most tears the last block, and a reader learns spans and sizes without unpacking.
 *
 *   header   magic "QSREC\0", version u16, bytes of JSON u32, XXH3-64 of the JSON, JSON (RecordingHead)
 *   block    magic "QSBK", or "QSKF" when it begins with a keyframe; packed bytes u32, plain bytes u32, lines u32, first
 *            and last ms f64, first and last console sequence f64 (first 0: no event in it), XXH3-64 of the packed bytes,
 *            packed bytes (raw deflate of NDJSON)
 *
 * All little-endian.
 */
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { z } from 'zod'
import type { Hash } from '../../../shared/bytes/hash.ts'
import { PART_PLAIN_BYTES_MAX, RECORDING_VERSION, RecordingError } from '../../../shared/inspection/recording.ts'

const MAGIC = Buffer.from('QSREC\0', 'latin1')
const HEAD_BYTES = 20
const HEAD_JSON_BYTES_MAX = 64 * 1024
const BLOCK_MAGIC = 0x4b42_5351
const KEYFRAME_MAGIC = 0x464b_5351
export const BLOCK_BYTES = 56
/** Snapshots of one second are alike, and the quick setting finds that already. */
const LEVEL = 3

const pack = promisify(deflateRaw) as (bytes: Buffer, options: { level: number }) => Promise<Buffer>
const unpack = promisify(inflateRaw) as (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

export const recordingHead = z.object({
  run: z.string().regex(/^[0-9a-f]{1,32}$/),
  /** Number of this file in its recording, from 1. */
  part: z.number().int().min(1),
  startedMs: z.number(),
  name: z.string(),
  replicaCount: z.number().int().min(1),
  config: z.record(z.string(), z.unknown()),
})
export type RecordingHead = z.infer<typeof recordingHead>

export interface BlockSpan {
  /** It begins with what a new reader is told first. */
  readonly keyframe: boolean
  readonly lines: number
  readonly firstMs: number
  readonly lastMs: number
  readonly firstSeq: number
  readonly lastSeq: number
}
export interface Block extends BlockSpan {
  readonly position: number
  readonly packedBytes: number
  readonly plainBytes: number
}

export function encodeHead(head: RecordingHead, hash: Hash, version = RECORDING_VERSION): Buffer {
  const json = Buffer.from(JSON.stringify(head))
  const bytes = Buffer.alloc(HEAD_BYTES)
  MAGIC.copy(bytes)
  bytes.writeUInt16LE(version, 6)
  bytes.writeUInt32LE(json.length, 8)
  bytes.writeBigUInt64LE(hash.xxh3(json), 12)
  return Buffer.concat([bytes, json])
}

/** The lines `text`, each ended by a line break, as one block. */
export async function encodeBlock(text: string, span: BlockSpan, hash: Hash): Promise<Buffer> {
  const plain = Buffer.from(text)
  const packed = await pack(plain, { level: LEVEL })
  const frame = Buffer.alloc(BLOCK_BYTES)
  frame.writeUInt32LE(span.keyframe ? KEYFRAME_MAGIC : BLOCK_MAGIC, 0)
  frame.writeUInt32LE(packed.length, 4)
  frame.writeUInt32LE(plain.length, 8)
  frame.writeUInt32LE(span.lines, 12)
  frame.writeDoubleLE(span.firstMs, 16)
  frame.writeDoubleLE(span.lastMs, 24)
  frame.writeDoubleLE(span.firstSeq, 32)
  frame.writeDoubleLE(span.lastSeq, 40)
  frame.writeBigUInt64LE(hash.xxh3(packed), 48)
  return Buffer.concat([frame, packed])
}

export interface PartIndex {
  readonly version: number
  readonly head: RecordingHead
  readonly blocks: readonly Block[]
  readonly bytes: number
  /** Bytes behind the last whole block. */
  readonly tornBytes: number
}

/**
 * What a file holds, from its frames alone. A last block that is not whole is torn and counted, never an error: that is
 * how a killed console leaves it. `known` is what an earlier read of the same file found: only what was appended since is
 * read then.
 * @throws RecordingError CON_RECORDING_FOREIGN, CON_RECORDING_NEWER, CON_RECORDING_DAMAGED
 */
export async function readIndex(path: string, hash: Hash, known?: PartIndex): Promise<PartIndex> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const { version, head, blocks, end: from } = known ? { ...known, end: endOf(known) } : await begin(file, path, hash)
    const found = [...blocks]
    let position = from
    while (position + BLOCK_BYTES <= size) {
      const frame = await read(file, position, BLOCK_BYTES)
      const packedBytes = frame.readUInt32LE(4)
      const plainBytes = frame.readUInt32LE(8)
      const magic = frame.readUInt32LE(0)
      if ((magic !== BLOCK_MAGIC && magic !== KEYFRAME_MAGIC) || plainBytes > PART_PLAIN_BYTES_MAX) break
      if (position + BLOCK_BYTES + packedBytes > size) break
      found.push({
        keyframe: magic === KEYFRAME_MAGIC,
        position,
        packedBytes,
        plainBytes,
        lines: frame.readUInt32LE(12),
        firstMs: frame.readDoubleLE(16),
        lastMs: frame.readDoubleLE(24),
        firstSeq: frame.readDoubleLE(32),
        lastSeq: frame.readDoubleLE(40),
      })
      position += BLOCK_BYTES + packedBytes
    }
    return { version, head, blocks: found, bytes: size, tornBytes: size - position }
  } finally {
    await file.close()
  }
}

const endOf = (index: PartIndex): number => index.bytes - index.tornBytes

/** The header of a file, and where its blocks begin. */
async function begin(file: FileHandle, path: string, hash: Hash) {
  const start = await read(file, 0, HEAD_BYTES)
  if (start.length < HEAD_BYTES || !start.subarray(0, MAGIC.length).equals(MAGIC))
    throw new RecordingError('CON_RECORDING_FOREIGN', `${path} is not a recording.`)
  const version = start.readUInt16LE(6)
  if (version > RECORDING_VERSION)
    throw new RecordingError('CON_RECORDING_NEWER', `${path} has version ${version}; ${RECORDING_VERSION} is read.`)
  const length = start.readUInt32LE(8)
  const json = length > HEAD_JSON_BYTES_MAX ? Buffer.alloc(0) : await read(file, HEAD_BYTES, length)
  const head = json.length === length && hash.xxh3(json) === start.readBigUInt64LE(12) && headOf(json)
  if (!head) throw new RecordingError('CON_RECORDING_DAMAGED', `The header of ${path} is damaged.`)
  return { version, head, blocks: [] as Block[], end: HEAD_BYTES + length }
}

function headOf(json: Buffer): RecordingHead | undefined {
  try {
    return recordingHead.safeParse(JSON.parse(json.toString())).data
  } catch {
    return undefined
  }
}

/** The lines of one block. @throws RecordingError CON_RECORDING_DAMAGED */
export async function readBlock(path: string, block: Block, hash: Hash): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const bytes = await read(file, block.position, BLOCK_BYTES + block.packedBytes)
    const packed = bytes.subarray(BLOCK_BYTES)
    if (packed.length === block.packedBytes && hash.xxh3(packed) === bytes.readBigUInt64LE(48)) {
      const plain = await unpack(packed, { maxOutputLength: PART_PLAIN_BYTES_MAX }).catch(() => undefined)
      if (plain?.length === block.plainBytes) return plain
    }
    throw new RecordingError('CON_RECORDING_DAMAGED', `The block at ${block.position} of ${path} is damaged.`)
  } finally {
    await file.close()
  }
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, position)
  return bytes.subarray(0, bytesRead)
}
