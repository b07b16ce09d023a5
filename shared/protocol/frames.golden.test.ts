import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import type { Fields, Layout } from '../bytes/layout.ts'
import { commandName } from './commands.ts'
import {
  decodeSuffix,
  encodeFrame,
  encodeSuffix,
  parseReplicaFrame,
  type ReplicaFrameKind,
  replicaLayouts,
} from './frames.ts'
import { genericLayout, HEADER_BYTES, prepareLayout } from './headers.ts'
import {
  fromRepairPrepare,
  openControlFrame,
  prepareIdentity,
  toRepairPrepare,
  verifyPrepare,
  viewBodyMatches,
} from './seal.ts'
import { goldenAbsent, goldenFrames, nonZeroGapBytes, throughJson, wholeFrame } from './testing/golden.ts'

const FILES = ['three-replica.jsonl', 'transfer-replica.jsonl', 'checkpoint-replica.jsonl']
const frames = () => FILES.flatMap(file => [...goldenFrames(file)])

/** Bytes that the layouts read as nothing; each must be zero in the data, or the round trip would lose it. */
const IGNORED: Partial<Record<ReplicaFrameKind | 'Handshake', string>> = {
  Prepare: '209+7',
  RepairPrepare: '209+7',
  PrepareOk: '62+66 193+7 208+48',
  Commit: '62+66 176+80',
  StartViewChange: '62+66 136+120',
  DoViewChange: '62+66 158+2 208+16',
  StartView: '62+66 169+7 184+56',
  RequestStartView: '62+66 136+104',
  RequestPrepares: '62+66 168+88',
  RepairDone: '62+66 168+88',
  RangeEvicted: '62+66 168+88',
  RequestStateTransfer: '62+66 152+104',
  StateTransferTarget: '62+66 162+6 176+80',
  RequestStateChunk: '62+66 168+88',
  StateChunk: '62+66 164+92',
  Handshake: '62+66',
}

describe.skipIf(goldenAbsent)('recorded replica frames', () => {
  let hash: Hash
  beforeAll(async () => {
    hash = await createHash()
  })

  it('every frame goes through plain JSON and back to the same bytes', () => {
    const counts = new Map<string, number>()
    for (const frame of frames()) {
      const name = commandName(frame.command)!
      const known = name in replicaLayouts
      const kind = known ? (name as ReplicaFrameKind) : 'Handshake'
      const layout = (known ? replicaLayouts[name as ReplicaFrameKind] : genericLayout) as unknown as Layout<Fields>
      const ignored = layout.gaps.filter(gap => gap.rule === 'ignored')
      expect(ignored.map(gap => `${gap.at}+${gap.size}`).join(' '), kind).toBe(IGNORED[kind])
      expect(nonZeroGapBytes(frame.header, ignored), frame.where).toEqual([])
      const json = throughJson(layout.toJson(layout.decode(frame.header)))
      expect(layout.encode(layout.fromJson(json)), frame.where).toEqual(frame.header)
      counts.set(name, (counts.get(name) ?? 0) + 1)

      if (!frame.body) continue
      const body = name === 'DoViewChange' || name === 'StartView' ? suffixThroughJson(frame.body) : frame.body
      expect(encodeFrame(layout, layout.fromJson(json), body), frame.where).toEqual(wholeFrame(frame))
    }
    expect(Object.fromEntries(counts)).toEqual({
      ReplicaHello: 10,
      ReplicaChallenge: 10,
      ReplicaFinish: 10,
      Commit: 1902,
      Prepare: 200,
      PrepareOk: 201,
      StartViewChange: 120,
      DoViewChange: 110,
      StartView: 20,
      RequestStartView: 105,
      RequestStateTransfer: 2,
      StateTransferTarget: 2,
      RequestPrepares: 9,
      RepairPrepare: 201,
      RepairDone: 9,
      RangeEvicted: 1,
      RequestStateChunk: 2,
      StateChunk: 2,
    })
  })

  it('every seal, identity and body checksum verifies', () => {
    let sealed = 0
    let prepares = 0
    let bodies = 0
    for (const frame of frames()) {
      const name = commandName(frame.command)!
      if (name === 'Prepare' || name === 'RepairPrepare') {
        const header = prepareLayout.decode(frame.header)
        expect(header.checksum, frame.where).not.toBe(0n)
        expect(prepareIdentity(hash, frame.header), frame.where).toBe(header.checksum)
        prepares++
        if (!frame.body) continue
        expect(verifyPrepare(hash, wholeFrame(frame)), frame.where).toBe('ok')
        if (header.checksumBody !== 0n) bodies++
      } else if (name in replicaLayouts) {
        const seen = new Uint8Array(frame.size)
        seen.set(frame.header)
        seen.set(frame.bodyPrefix, HEADER_BYTES)
        expect(() => openControlFrame(hash, seen), frame.where).not.toThrow()
        sealed++
        if (name === 'DoViewChange' || name === 'StartView') {
          expect(viewBodyMatches(hash, wholeFrame(frame)), frame.where).toBe(true)
          if (frame.size > HEADER_BYTES) bodies++
        }
      }
    }
    expect({ sealed, prepares, bodies }).toEqual({ sealed: 2485, prepares: 401, bodies: 152 })
  })

  it('every whole frame passes the typed parse, and a repair serve differs in its command alone', () => {
    for (const frame of frames()) {
      const name = commandName(frame.command)!
      if (!(name in replicaLayouts) || !frame.body) continue
      const bytes = wholeFrame(frame)
      const parsed = parseReplicaFrame(hash, bytes)
      expect(parsed.kind).toBe(name)
      expect(parsed.body, frame.where).toEqual(frame.body)
      if (parsed.kind !== 'RepairPrepare') continue
      const stored = fromRepairPrepare(bytes)
      expect(verifyPrepare(hash, stored)).toBe('ok')
      expect(toRepairPrepare(stored)).toEqual(bytes)
    }
  })
})

function suffixThroughJson(body: Uint8Array): Uint8Array {
  const headers = decodeSuffix(body)
  for (const [index] of headers.entries()) {
    expect(nonZeroGapBytes(body, [{ at: 209, size: 7 }], index * HEADER_BYTES)).toEqual([])
  }
  const json = throughJson(headers.map(header => prepareLayout.toJson(header)))
  return encodeSuffix(json.map(entry => prepareLayout.fromJson(entry)))
}
