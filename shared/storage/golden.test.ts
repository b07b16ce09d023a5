/**
 * Every record of the golden directories: decode, plain JSON text, and back to the very bytes. No encoder sees its input.
 */
import { describe, expect, it } from 'vitest'
import { createHash } from '../bytes/hash.ts'
import { fromHex, toHex } from '../bytes/hex.ts'
import { batchHeaderLayout, decodeBatch, encodeBatch, messageHeaderLayout } from '../protocol/batch.ts'
import { encodeFrame } from '../protocol/frames.ts'
import { prepareLayout } from '../protocol/headers.ts'
import { nonZeroGapBytes, throughJson } from '../protocol/testing/golden.ts'
import { decodeIndex, encodeIndex, indexEntryLayout } from './index-file.ts'
import { decodeOffsetFile, encodeOffsetFile } from './offset-file.ts'
import { purgeGenLayout } from './purge-gen.ts'
import { scanSegment } from './segment-scan.ts'
import {
  classifySlot,
  decodeVsrState,
  encodeSuperblockRecord,
  superblockHeaderLayout,
  vsrStateLayouts,
} from './superblock-record.ts'
import { GOLDEN_NODES, goldenAbsent, goldenBytes, goldenDisk, goldenFiles } from './testing/golden-directories.ts'
import { concat } from './testing/prepares.ts'
import { scanWal } from './wal-scan.ts'

const hash = await createHash()

interface JsonCodec<T> {
  toJson(record: T): Record<string, unknown>
  fromJson(json: Record<string, unknown>): T
}

/** One record through JSON text and back. */
const viaJson = <T>(codec: JsonCodec<T>, record: T): T => codec.fromJson(throughJson(codec.toJson(record)))

const counts = { superblocks: 0, walEntries: 0, batches: 0, messages: 0, indexEntries: 0, offsets: 0, purges: 0 }

describe.skipIf(goldenAbsent).each(GOLDEN_NODES)('golden directory %s gives back every byte', node => {
  const files = (pattern: RegExp) => goldenFiles(node).filter(path => pattern.test(path))

  it('superblock slots, of the layout they were written with', () => {
    for (const path of files(/superblock\.[ab]$/)) {
      const bytes = goldenBytes(node, path)
      const slot = classifySlot(bytes, hash)
      if (slot.kind !== 'valid') throw new Error(`${path}: ${slot.kind}`)
      const header = viaJson(superblockHeaderLayout, slot.header)
      const { layoutBytes, state } = decodeVsrState(slot.payload)
      expect(layoutBytes, path).toBe(66)
      const payload = vsrStateLayouts[66].encode(viaJson(vsrStateLayouts[66], state))
      expect(toHex(encodeSuperblockRecord({ ...header, payload }, hash)), path).toBe(toHex(bytes))
      counts.superblocks++
    }
  })

  it('entries of the write-ahead log', async () => {
    for (const path of files(/journal\.wal$/)) {
      const bytes = goldenBytes(node, path)
      const file = await goldenDisk(node).open(path, 'read')
      const rebuilt: Uint8Array[] = []
      const scan = await scanWal(file, bytes.length, hash, ({ header, frame }) => {
        expect(nonZeroGapBytes(frame, prepareLayout.gaps), `ignored bytes of op ${header.op}`).toEqual([])
        const { json, body } = throughJson({ json: prepareLayout.toJson(header), body: toHex(frame.subarray(256)) })
        rebuilt.push(encodeFrame(prepareLayout, prepareLayout.fromJson(json), fromHex(body)))
      })
      expect(scan.end, path).toEqual({ kind: 'clean', position: bytes.length })
      expect(toHex(concat(rebuilt)), path).toBe(toHex(bytes))
      counts.walEntries += scan.entries
    }
  })

  it('batches and messages of every segment', async () => {
    const disk = goldenDisk(node)
    for (const path of files(/\.log$/)) {
      const bytes = goldenBytes(node, path)
      const file = await disk.open(path, 'read')
      const startOffset = BigInt(path.slice(-24, -4)) as never
      const scan = await scanSegment(file, bytes.length, hash, {
        startOffset,
        onBatch: ({ position, lengthBytes }) => {
          const record = bytes.subarray(position, position + lengthBytes)
          const { header, messages } = decodeBatch(record, 0, hash)
          const json = throughJson({
            header: batchHeaderLayout.toJson(header),
            messages: messages.map(message => ({
              header: messageHeaderLayout.toJson(message.header),
              payload: toHex(message.payload),
              userHeaders: toHex(message.userHeaders),
            })),
          })
          const again = encodeBatch({
            header: batchHeaderLayout.fromJson(json.header),
            messages: json.messages.map(message => ({
              header: messageHeaderLayout.fromJson(message.header),
              payload: fromHex(message.payload),
              userHeaders: fromHex(message.userHeaders),
            })),
          })
          if (Buffer.compare(again, record) !== 0) throw new Error(`${path}: the batch at ${position} differs`)
          return true
        },
      })
      expect(scan.end, path).toEqual({ kind: 'clean' })
      counts.batches += scan.batches
      counts.messages += Number(scan.messages)
    }
  })

  it('index entries', () => {
    for (const path of files(/\.index$/)) {
      const bytes = goldenBytes(node, path)
      const { entries, trailingBytes } = decodeIndex(bytes)
      expect(trailingBytes, path).toBe(0)
      expect(toHex(encodeIndex(entries.map(entry => viaJson(indexEntryLayout, entry)))), path).toBe(toHex(bytes))
      counts.indexEntries += entries.length
    }
  })

  it('consumer offsets and purge marks', () => {
    for (const path of files(/offsets\/\w+\/\d+$/)) {
      const bytes = goldenBytes(node, path)
      const verdict = decodeOffsetFile(bytes, hash)
      if (verdict.kind !== 'valid') throw new Error(`${path}: ${verdict.kind}`)
      const { offset } = throughJson({ offset: verdict.offset.toString() })
      expect(toHex(encodeOffsetFile(BigInt(offset) as never, hash)), path).toBe(toHex(bytes))
      counts.offsets++
    }
    for (const path of files(/purge\.gen$/)) {
      const bytes = goldenBytes(node, path)
      expect(toHex(purgeGenLayout.encode(viaJson(purgeGenLayout, purgeGenLayout.decode(bytes)))), path).toBe(
        toHex(bytes),
      )
      counts.purges++
    }
  })
})

it.skipIf(goldenAbsent)('nothing was missed: the golden directories hold what their README counts', () => {
  expect(counts).toEqual({
    superblocks: 40,
    walEntries: 180,
    batches: 471,
    messages: 2943,
    indexEntries: 392,
    offsets: 15,
    purges: 6,
  })
})
