/**
 * `snapshot.bin` as a boot reads it and a checkpoint writes it (spec metadata-storage.md §3.1). Reading proves the bytes and
 * looks at three leading integers; nothing is decoded before the pairing with the superblock has been judged.
 */
import { EngineError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { type Checksum, Op } from '../bytes/units.ts'
import { type Disk, isNotFound, readFile } from './disk.ts'
import { joinPath } from './paths.ts'
import {
  peekIntegers,
  SNAPSHOT_FILE,
  SNAPSHOT_FORMAT_VERSION,
  SNAPSHOT_MAGIC,
  SNAPSHOT_TRAILER_BYTES,
} from './snapshot-file.ts'

/** Bound of a snapshot file: what a transfer would carry at most. */
export const SNAPSHOT_BYTES_MAX = 1024 * 1024 * 1024

export interface StoredSnapshot {
  readonly path: string
  readonly payload: Uint8Array
  /** Of the payload bytes: what a superblock pairs with. */
  readonly checksum: Checksum
  readonly sealed: boolean
  /** 0 when the payload does not even start as a snapshot does; decoding says more. */
  readonly op: Op
}

export interface Pairing {
  readonly op: Op
  readonly checksum: Checksum
}

const hex = (value: bigint): string => `0x${value.toString(16).padStart(16, '0')}`

/**
 * Undefined when there is no snapshot.
 * @throws EngineError SnapshotChecksum, SnapshotVersion, FileTooLarge; DiskError.
 */
export async function readSnapshot(disk: Disk, directory: string, hash: Hash): Promise<StoredSnapshot | undefined> {
  const path = joinPath(directory, SNAPSHOT_FILE)
  let bytes: Uint8Array
  try {
    bytes = await readFile(disk, path, SNAPSHOT_BYTES_MAX + SNAPSHOT_TRAILER_BYTES)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  const end = bytes.length - SNAPSHOT_TRAILER_BYTES
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const sealed = end >= 0 && view.getUint32(end, true) === SNAPSHOT_MAGIC
  const payload = sealed ? bytes.subarray(0, end) : bytes
  const checksum = hash.xxh3(payload)
  if (sealed) {
    const stored = view.getBigUint64(end + 4, true) | (view.getBigUint64(end + 12, true) << 64n)
    if (stored !== checksum) {
      throw new EngineError('SnapshotChecksum', `${path} does not match its checksum`, {
        path,
        position: end + 4,
        expected: hex(checksum),
        actual: hex(stored),
        advice: 'in a cluster wipe this node and let it rejoin; a solo node needs a copy of its directory',
      })
    }
  }
  const { version, op } = peekIntegers(payload)
  if (version !== undefined && version !== SNAPSHOT_FORMAT_VERSION) {
    throw new EngineError('SnapshotVersion', `${path} has format version ${version}`, {
      path,
      position: 1,
      expected: `${SNAPSHOT_FORMAT_VERSION}`,
      actual: `${version}`,
      advice: 'start the build that wrote this snapshot',
    })
  }
  return { path, payload, checksum, sealed, op: Op(op ?? 0n) }
}

/**
 * Judges a snapshot, or its absence, against the pairing in the superblock (§3.4). `pairing` is undefined when no superblock
 * was ever written; op 0 in it means that it names no snapshot.
 * @throws EngineError CheckpointAheadOfSnapshot, CheckpointChecksumMismatch, SnapshotUnsealed.
 */
export function checkPairing(
  directory: string,
  snapshot: StoredSnapshot | undefined,
  pairing: Pairing | undefined,
): 'none' | 'equal' | 'newer' | 'unsealed' {
  const path = joinPath(directory, SNAPSHOT_FILE)
  const held = snapshot?.op ?? 0n
  if (pairing !== undefined && pairing.op > held) {
    throw new EngineError(
      'CheckpointAheadOfSnapshot',
      `the superblock was written with a snapshot of op ${pairing.op}, ${snapshot ? `this one is of op ${held}` : 'there is none'}`,
      {
        path,
        position: 0,
        op: pairing.op,
        expected: `op ${pairing.op}`,
        actual: snapshot ? `op ${held}` : 'no snapshot',
        advice: 'the snapshot was lost or put back: put the right one back, or in a cluster wipe this node',
      },
    )
  }
  if (snapshot === undefined) return 'none'
  const paired = pairing !== undefined && pairing.op === held && held > 0n
  if (paired && pairing.checksum !== snapshot.checksum) {
    throw new EngineError('CheckpointChecksumMismatch', `${path} is not the snapshot of op ${held} that was written`, {
      path,
      position: 0,
      op: pairing.op,
      expected: hex(pairing.checksum),
      actual: hex(snapshot.checksum),
      advice: 'in a cluster wipe this node and let it rejoin; a solo node needs a copy of its directory',
    })
  }
  if (snapshot.sealed) return paired ? 'equal' : 'newer'
  if (paired) return 'unsealed'
  throw new EngineError('SnapshotUnsealed', `${path} has no trailer, and no superblock vouches for its bytes`, {
    path,
    position: Math.max(0, snapshot.payload.length - SNAPSHOT_TRAILER_BYTES),
    expected: `trailer magic ${hex(BigInt(SNAPSHOT_MAGIC))}`,
    actual: 'none',
    advice: 'in a cluster wipe this node and let it rejoin; a solo node needs a copy of its directory',
  })
}

/**
 * Writes a snapshot with a fresh trailer: temp, sync, rename, sync of the directory. Durable once it resolves.
 * @throws EngineError SnapshotWrite, whose `stage` in the message says how far it came; the old snapshot stands unless the
 * stage is the last one.
 */
export async function writeSnapshot(disk: Disk, directory: string, payload: Uint8Array, hash: Hash): Promise<Checksum> {
  const path = joinPath(directory, SNAPSHOT_FILE)
  const temp = `${path}.tmp`
  const checksum = hash.xxh3(payload)
  const trailer = new Uint8Array(SNAPSHOT_TRAILER_BYTES)
  const view = new DataView(trailer.buffer)
  view.setUint32(0, SNAPSHOT_MAGIC, true)
  view.setBigUint64(4, checksum, true)
  let stage = 'write'
  try {
    const file = await disk.open(temp, 'create')
    try {
      await file.write(0, [payload, trailer])
      stage = 'sync'
      await file.sync()
    } finally {
      await file.close()
    }
    stage = 'rename'
    await disk.rename(temp, path)
    stage = 'directory sync'
    await disk.syncDirectory(directory)
    return checksum
  } catch (cause) {
    if (stage !== 'directory sync') await disk.unlink(temp).catch(() => {})
    throw new EngineError('SnapshotWrite', `${path} could not be written (${stage})`, { path }, { cause })
  }
}
