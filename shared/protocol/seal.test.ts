import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Checksum, ClientId, GroupId, Micros, Op, ReplicaId, View } from '../bytes/units.ts'
import { Command } from './commands.ts'
import { encodeFrame, sealFrame } from './frames.ts'
import { METADATA_GROUP } from './groups.ts'
import { HEADER_BYTES, type PrepareHeader, prepareLayout } from './headers.ts'
import { Operation } from './operations.ts'
import {
  fromRepairPrepare,
  openControlFrame,
  prepareIdentity,
  restampView,
  sealBody,
  sealControlFrame,
  sealPrepare,
  sealViewFrame,
  toRepairPrepare,
  verifyPrepare,
  viewBodyMatches,
} from './seal.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const header: PrepareHeader = {
  checksum: Checksum(0n),
  checksumBody: Checksum(0n),
  cluster: 7n,
  size: 0,
  view: View(3),
  release: 0,
  command: Command.Prepare,
  replica: ReplicaId(1),
  client: ClientId(5n),
  parent: Checksum(9n),
  requestChecksum: Checksum(0n),
  op: Op(12n),
  commit: Op(11n),
  timestamp: Micros(1_700_000_000_000_000n),
  request: 4n,
  operation: Operation.CreateStream,
  group: METADATA_GROUP,
  userId: 0,
  purgeGeneration: 0n,
}
const prepare = (body = Uint8Array.of(1, 2, 3)) => {
  const frame = encodeFrame(prepareLayout, header, body)
  sealBody(hash, frame)
  sealPrepare(hash, frame)
  return frame
}
const commit = () =>
  sealFrame(hash, 'Commit', {
    cluster: 7n,
    view: View(3),
    replica: ReplicaId(1),
    commitChecksum: Checksum(0n),
    timestampMonotonic: 1n,
    commit: Op(4n),
    checkpointOp: Op(0n),
    group: GroupId(0n),
  })
const flip = (frame: Uint8Array, at: number) => {
  const copy = frame.slice()
  copy[at]! ^= 0x10
  return copy
}

describe('seal of a control frame', () => {
  it('covers every header byte behind it, and is itself compared whole', () => {
    const frame = commit()
    expect(() => openControlFrame(hash, frame)).not.toThrow()
    for (let at = 0; at < HEADER_BYTES; at++) {
      expect(() => openControlFrame(hash, flip(frame, at)), `byte ${at}`).toThrow(
        expect.objectContaining({ code: 'BadChecksum', position: 0 }),
      )
    }
  })

  it('zero is no pass', () => {
    const frame = commit()
    frame.fill(0, 0, 16)
    expect(() => openControlFrame(hash, frame)).toThrow(expect.objectContaining({ code: 'BadChecksum' }))
  })

  it('hashes 240 bytes, where the identity of a prepare hashes 256', () => {
    const frame = commit()
    const seal = new DataView(frame.buffer).getBigUint64(0, true)
    expect(seal).toBe(hash.xxh3(frame.subarray(16, 256)))
    expect(seal).not.toBe(prepareIdentity(hash, frame))
  })

  it('is followed by the length, which must be that of the frame', () => {
    expect(() => openControlFrame(hash, commit().subarray(0, 255))).toThrow(
      expect.objectContaining({ code: 'TooShort' }),
    )
    const longer = new Uint8Array(300)
    longer.set(commit())
    expect(() => openControlFrame(hash, longer)).toThrow(expect.objectContaining({ code: 'WrongLength', position: 48 }))
  })
})

describe('identity of a prepare', () => {
  it('survives another view and a repair, and nothing else', () => {
    const frame = prepare()
    expect(verifyPrepare(hash, frame)).toBe('ok')
    expect(verifyPrepare(hash, restampView(frame, View(99)))).toBe('ok')
    const served = toRepairPrepare(frame)
    expect(verifyPrepare(hash, served)).toBe('ok')
    expect(fromRepairPrepare(served)).toEqual(frame)
    for (let at = 0; at < HEADER_BYTES; at++) {
      if (at >= 48 && at < 56) continue // size and view
      if (at === 60) continue // command
      expect(verifyPrepare(hash, flip(frame, at)), `byte ${at}`).toBe('identity')
    }
    expect(verifyPrepare(hash, flip(frame, 48))).toBe('length')
  })

  it('says when it is the body that is damaged, within the size of the frame', () => {
    expect(verifyPrepare(hash, flip(prepare(), 257))).toBe('body')
    const cut = prepare().subarray(0, 258)
    expect(verifyPrepare(hash, cut)).toBe('length')
  })

  it('zero is unsealed legacy and skipped; so is a zero body checksum', () => {
    const frame = prepare()
    frame.fill(0, 0, 16)
    expect(verifyPrepare(hash, flip(frame, 180))).toBe('ok')
    frame.fill(0, 16, 32)
    expect(verifyPrepare(hash, flip(frame, 257))).toBe('ok')
  })

  it('a body-less metadata prepare carries the hash of nothing, not zero', () => {
    const frame = prepare(new Uint8Array(0))
    expect(prepareLayout.decode(frame).checksumBody).toBe(0x2d06800538d394c2n)
    expect(verifyPrepare(hash, frame)).toBe('ok')
  })

  it('does not change what it is given', () => {
    const frame = prepare()
    const before = frame.slice()
    prepareIdentity(hash, frame)
    restampView(frame, View(9))
    toRepairPrepare(frame)
    expect(frame).toEqual(before)
    expect(restampView(frame, View(3))).toBe(frame)
    const buffer = Buffer.from(frame)
    restampView(buffer, View(9))
    toRepairPrepare(buffer)
    expect(new Uint8Array(buffer)).toEqual(before)
  })
})

describe('body of a view change frame', () => {
  it('needs no check when it is empty, and must match otherwise; zero beside a body is damage', () => {
    const frame = new Uint8Array(512).fill(1)
    new DataView(frame.buffer).setUint32(48, 512, true)
    sealViewFrame(hash, frame)
    expect(viewBodyMatches(hash, frame)).toBe(true)
    expect(viewBodyMatches(hash, flip(frame, 300))).toBe(false)
    frame.fill(0, 16, 32)
    expect(viewBodyMatches(hash, sealControlFrame(hash, frame))).toBe(false)
    const bare = frame.slice(0, 256)
    new DataView(bare.buffer).setUint32(48, 256, true)
    expect(viewBodyMatches(hash, bare)).toBe(true)
  })
})
