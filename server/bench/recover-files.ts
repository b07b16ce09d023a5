/** Partition directories to recover: whole ones of any size, and such as somebody forged. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Hash } from '../../shared/bytes/hash.ts'
import { Checksum, Micros, Offset } from '../../shared/bytes/units.ts'
import {
  BATCH_HEADER_BYTES,
  batchChecksum,
  batchHeaderLayout,
  MESSAGE_HEADER_BYTES,
  type ProducedMessage,
  produceBatch,
  stampBatch,
} from '../../shared/protocol/batch.ts'
import { RECOVERED, RECOVERED_LOG } from './recover-worker.ts'

const NOW = 1_700_000_000_000_000n

function template(hash: Hash, messages: number, payloadBytes: number): Uint8Array {
  const list: ProducedMessage[] = Array.from({ length: messages }, (_, index) => ({
    id: BigInt(index + 1),
    payload: new Uint8Array(payloadBytes).fill(1 + (index % 250)),
    originTimestamp: Micros(NOW),
  }))
  return produceBatch(hash, list)
}

function writeLog(root: string, write: (file: number) => void): void {
  mkdirSync(join(root, RECOVERED), { recursive: true })
  const file = openSync(join(root, RECOVERED_LOG), 'w')
  try {
    write(file)
  } finally {
    closeSync(file)
  }
}

/** Whole batches, as many as fit into `bytes`; answers how many messages. */
export function writeWhole(root: string, hash: Hash, bytes: number, messages: number, payloadBytes: number): number {
  const batch = template(hash, messages, payloadBytes)
  let written = 0
  writeLog(root, file => {
    for (let at = 0; at + batch.length <= bytes; at += batch.length) {
      stamp(hash, batch, written)
      writeSync(file, batch)
      written += messages
    }
  })
  return written
}

function stamp(hash: Hash, batch: Uint8Array, offset: number): void {
  const baseTimestamp = Micros(NOW + BigInt(offset))
  stampBatch(hash, batch, 0, { partitionId: 0, baseOffset: Offset(BigInt(offset)), baseTimestamp })
}

const SOUND_MESSAGES = 100

function header(length: number, messages: number): Uint8Array {
  return batchHeaderLayout.encode({
    partitionId: 0n,
    baseOffset: Offset(BigInt(SOUND_MESSAGES)),
    baseTimestamp: Micros(NOW),
    originTimestamp: Micros(NOW),
    batchLength: BigInt(length),
    checksum: Checksum(1n),
    messageCount: messages,
  })
}

/** A sound batch and `bytes` of headers behind it, each of which claims a mebibyte of what follows. */
export function writeForgedHeaders(root: string, hash: Hash, bytes: number): void {
  const sound = template(hash, SOUND_MESSAGES, 100)
  stamp(hash, sound, 0)
  const forged = new Uint8Array(bytes)
  for (let at = 0; at + BATCH_HEADER_BYTES <= bytes; at += BATCH_HEADER_BYTES)
    forged.set(header(Math.min(2 ** 20, bytes - at), 1), at)
  writeLog(root, file => {
    writeSync(file, sound)
    writeSync(file, forged)
  })
}

/** More than the budget of a search lets it read. */
const NESTED = 6
const SMALL_FRAME_BYTES = MESSAGE_HEADER_BYTES + 1

/**
 * A sound batch, and behind it about `bytes` of the smallest messages, all of them sound but the last one, under sealed
 * headers that lie in each other's first payload and claim all the rest: what costs most to find out about.
 */
export function writeForgedMessages(root: string, hash: Hash, bytes: number): void {
  const sound = template(hash, SOUND_MESSAGES, 100)
  stamp(hash, sound, 0)
  const nest: Uint8Array[] = [new Uint8Array(0)]
  for (let depth = 0; depth < NESTED; depth++)
    nest.push(produceBatch(hash, [{ id: 1n, payload: nest.at(-1)!, originTimestamp: Micros(NOW) }]))
  const first = nest.at(-1)!
  const count = Math.floor((bytes - first.length) / SMALL_FRAME_BYTES)
  const tail = new Uint8Array(first.length + count * SMALL_FRAME_BYTES)
  tail.set(first)
  const small = template(hash, 1, 1).subarray(BATCH_HEADER_BYTES)
  for (let at = first.length; at < tail.length; at += small.length) tail.set(small, at)
  tail[tail.length - 1]! ^= 1
  // The innermost header first: the frame in front of it covers its checksum.
  for (const { length } of nest.slice(1)) {
    const at = first.length - length
    const view = new DataView(tail.buffer, at)
    view.setBigUint64(8, BigInt(SOUND_MESSAGES), true)
    view.setBigUint64(32, BigInt(tail.length - at), true)
    view.setUint32(48, count + 1, true)
    view.setBigUint64(40, batchChecksum(hash, tail, at), true)
    if (at === 0) continue
    const frame = at - MESSAGE_HEADER_BYTES
    new DataView(tail.buffer, frame).setBigUint64(0, hash.xxh3(tail.subarray(frame + 8, first.length)), true)
  }
  writeLog(root, file => {
    writeSync(file, sound)
    writeSync(file, tail)
  })
}
