/**
 * Checksums of replica frames (spec consensus.md §2.1). Three things share the `checksum` field and must not be mixed up:
 *
 * - the **seal** of a control frame: XXH3-64 over the 240 header bytes [16, 256), checked before any other field is read.
 *   There is no "zero means unsealed": a zero checksum has to match like any other.
 * - the **identity** of a Prepare or RepairPrepare: XXH3-64 over all 256 header bytes, with `checksum` and `view` zeroed and
 *   the command set to Prepare. It survives a restamped view and a repair. Zero means unsealed legacy and is skipped.
 * - nothing, on Request, Reply, Eviction and handshake frames.
 *
 * `checksumBody` (at 16) is XXH3-64 over [256, size), bounded by `size` and never by the end of the buffer.
 * The two header ranges straddle 240 bytes, where XXH3 changes its algorithm.
 */
import { DecodeError } from '../bytes/errors.ts'
import type { Hash } from '../bytes/hash.ts'
import { getBigUint128, setBigUint128 } from '../bytes/layout.ts'
import type { Checksum, View } from '../bytes/units.ts'
import { Command } from './commands.ts'
import { HEADER_BYTES } from './headers.ts'

const CHECKSUM_AT = 0
const CHECKSUM_BODY_AT = 16
const SIZE_AT = 48
const VIEW_AT = 52
const COMMAND_AT = 60

const viewOf = (frame: Uint8Array): DataView => new DataView(frame.buffer, frame.byteOffset, frame.length)

const readU128 = (frame: Uint8Array, at: number): bigint => getBigUint128(viewOf(frame), at)

const writeU128 = (frame: Uint8Array, at: number, value: bigint): void => setBigUint128(viewOf(frame), at, value)

/** Size field of a frame whose header is complete. */
export const frameSize = (frame: Uint8Array): number => viewOf(frame).getUint32(SIZE_AT, true)

/** Bytes behind the header, as far as `size` says; a view of `frame`, not a copy. */
export const frameBody = (frame: Uint8Array): Uint8Array => frame.subarray(HEADER_BYTES, frameSize(frame))

/** Fails unless `frame` is exactly as long as its size field says. Throws DecodeError TooShort, BadSize or WrongLength. */
export function checkFrameLength(frame: Uint8Array): void {
  if (frame.length < HEADER_BYTES) {
    throw new DecodeError('TooShort', 0, `a frame needs ${HEADER_BYTES} bytes, ${frame.length} are there`)
  }
  const size = frameSize(frame)
  if (size < HEADER_BYTES) throw new DecodeError('BadSize', SIZE_AT, `frame size ${size} is below ${HEADER_BYTES}`)
  if (size !== frame.length) {
    throw new DecodeError('WrongLength', SIZE_AT, `frame size ${size} does not match its ${frame.length} bytes`)
  }
}

/** Stamps the seal of a control frame in place and returns the frame. Everything else must be final. */
export function sealControlFrame(hash: Hash, frame: Uint8Array): Uint8Array {
  writeU128(frame, CHECKSUM_AT, hash.xxh3(frame.subarray(CHECKSUM_BODY_AT, HEADER_BYTES)))
  return frame
}

/**
 * Checks length and seal of a control frame; call it before reading any other field.
 * @throws DecodeError TooShort, BadChecksum; then BadSize or WrongLength.
 */
export function openControlFrame(hash: Hash, frame: Uint8Array): void {
  if (frame.length < HEADER_BYTES) {
    throw new DecodeError('TooShort', 0, `a frame needs ${HEADER_BYTES} bytes, ${frame.length} are there`)
  }
  const seal = hash.xxh3(frame.subarray(CHECKSUM_BODY_AT, HEADER_BYTES))
  const stored = readU128(frame, CHECKSUM_AT)
  if (stored !== seal) {
    throw new DecodeError('BadChecksum', CHECKSUM_AT, 'the seal of the frame does not match its header', {
      expected: seal.toString(16),
      actual: stored.toString(16),
    })
  }
  checkFrameLength(frame)
}

/** Writes `checksumBody` over the body, in place. An empty body gets the hash of the empty input, not 0. */
export function sealBody(hash: Hash, frame: Uint8Array): Uint8Array {
  writeU128(frame, CHECKSUM_BODY_AT, hash.xxh3(frameBody(frame)))
  return frame
}

/**
 * Body check of DoViewChange and StartView: an empty body needs none, a non-empty one must match; a zero checksum beside
 * a non-empty body is corruption.
 */
export function viewBodyMatches(hash: Hash, frame: Uint8Array): boolean {
  const body = frameBody(frame)
  return body.length === 0 || readU128(frame, CHECKSUM_BODY_AT) === hash.xxh3(body)
}

/** Seals a DoViewChange or StartView frame in place: the body checksum when there is a body, then the header. */
export function sealViewFrame(hash: Hash, frame: Uint8Array): Uint8Array {
  if (frame.length > HEADER_BYTES) sealBody(hash, frame)
  return sealControlFrame(hash, frame)
}

/** Hashing is synchronous and never re-entered, so that one scratch header serves all. */
const scratch = new Uint8Array(HEADER_BYTES)

/** Identity checksum of a Prepare or RepairPrepare header that starts at `base`. Changes nothing. */
export function prepareIdentity(hash: Hash, header: Uint8Array, base = 0): Checksum {
  scratch.set(header.subarray(base, base + HEADER_BYTES))
  scratch.fill(0, CHECKSUM_AT, CHECKSUM_AT + 16)
  scratch.fill(0, VIEW_AT, VIEW_AT + 4)
  scratch[COMMAND_AT] = Command.Prepare
  return hash.xxh3(scratch)
}

/** Stamps the identity of a Prepare in place and returns it; the body checksum, when there is one, must be final. */
export function sealPrepare(hash: Hash, frame: Uint8Array): Checksum {
  const identity = prepareIdentity(hash, frame)
  writeU128(frame, CHECKSUM_AT, identity)
  return identity
}

/**
 * Checks a Prepare or RepairPrepare: its length, its identity unless 0, its body unless `checksumBody` is 0 (partition
 * prepares; their batch has a checksum of its own). Answers which check failed first. Never throws.
 */
export function verifyPrepare(hash: Hash, frame: Uint8Array): 'ok' | 'length' | 'identity' | 'body' {
  if (frame.length < HEADER_BYTES || frameSize(frame) !== frame.length) return 'length'
  const identity = readU128(frame, CHECKSUM_AT)
  if (identity !== 0n && identity !== prepareIdentity(hash, frame)) return 'identity'
  const checksumBody = readU128(frame, CHECKSUM_BODY_AT)
  if (checksumBody !== 0n && checksumBody !== hash.xxh3(frame.subarray(HEADER_BYTES))) return 'body'
  return 'ok'
}

/** The same prepare with another `view`; a copy, unless the view is already the wanted one. The identity is unchanged. */
export function restampView(frame: Uint8Array, view: View): Uint8Array {
  if (viewOf(frame).getUint32(VIEW_AT, true) === view) return frame
  const copy = copyOf(frame)
  viewOf(copy).setUint32(VIEW_AT, view, true)
  return copy
}

/** A stored Prepare as it is served to a repair: only the command byte differs. Copies. */
export function toRepairPrepare(frame: Uint8Array): Uint8Array {
  const copy = copyOf(frame)
  copy[COMMAND_AT] = Command.RepairPrepare
  return copy
}

/** Inverse of `toRepairPrepare`: the Prepare to verify and to store. Copies. */
export function fromRepairPrepare(frame: Uint8Array): Uint8Array {
  const copy = copyOf(frame)
  copy[COMMAND_AT] = Command.Prepare
  return copy
}

/** Not `slice`, which gives a view and no copy when `frame` is a Node Buffer. */
function copyOf(frame: Uint8Array): Uint8Array {
  const copy = new Uint8Array(frame.length)
  copy.set(frame)
  return copy
}
