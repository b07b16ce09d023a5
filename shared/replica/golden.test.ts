/**
 * The recorded session of an official client with a solo node, replayed: the requests of served commands are fed to this
 * replica with the recorded clock, and every reply is compared byte by byte, as are the log and the segments they lead to.
 *
 * Skipped: consumer offsets, groups, users and tokens, which are not served. Hence two things are not compared: the commit
 * position in local replies after the first skipped metadata op (it must be lower by exactly the number skipped), and in
 * `stats` what only the recorded machine knows, and what skipped commands would have added.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { toHex } from '../bytes/hex.ts'
import { Micros, Offset } from '../bytes/units.ts'
import { stampBatch } from '../protocol/batch.ts'
import { decodeBody } from '../protocol/codec.ts'
import { ClientCommands } from '../protocol/command-codes.ts'
import { prepareLayout, replyLayout, requestLayout } from '../protocol/headers.ts'
import { isMetadata, Operation } from '../protocol/operations.ts'
import { frameBody, frameSize } from '../protocol/seal.ts'
import { type GoldenFrame, goldenAbsent, goldenFrames, goldenRoot } from '../protocol/testing/golden.ts'
import { hash, Solo } from './testing/solo.ts'

const NODE = `${goldenRoot}solo-killed/node-0/`
const SEGMENTED = 'streams/0/topics/1/partitions/0'
const EAGER = 'streams/1/topics/0/partitions/0'

const SERVED_READS: ReadonlySet<number> = new Set(
  [ClientCommands.roster, ClientCommands.getTopic, ClientCommands.listStreams, ClientCommands.stats].map(
    command => command.code,
  ),
)

/** Requests with their replies, in order. */
function* recorded(): Generator<{ request: GoldenFrame; reply: GoldenFrame }> {
  let request: GoldenFrame | undefined
  for (const frame of goldenFrames('solo-client.jsonl')) {
    if (frame.inbound) request = frame
    else if (request) {
      yield { request, reply: frame }
      request = undefined
    }
  }
}

/** The batches of the segmented topic as their producer sent them: its requests were recorded by their start and hash only. */
function producedBatches(): Uint8Array[] {
  const batches: Uint8Array[] = []
  for (const start of [0, 176, 352]) {
    const log = new Uint8Array(readFileSync(`${NODE}${SEGMENTED}/${String(start).padStart(20, '0')}.log`))
    for (let at = 0; at < log.length; ) {
      const length = Number(new DataView(log.buffer).getBigUint64(at + 32, true))
      const batch = log.slice(at, at + length)
      stampBatch(hash, batch, 0, { partitionId: 0, baseOffset: Offset(0n), baseTimestamp: Micros(0n) })
      batches.push(batch)
      at += length
    }
  }
  return batches
}

function wholeRequest(request: GoldenFrame, longBatches: Uint8Array[]): Uint8Array {
  let body = request.body
  if (!body) {
    const batch = longBatches.shift()!
    const metadata = request.bodyPrefix.subarray(0, request.size - 256 - batch.length)
    body = new Uint8Array([...metadata, ...batch])
    expect(toHex(body.subarray(0, request.bodyPrefix.length))).toBe(toHex(request.bodyPrefix))
  }
  const frame = new Uint8Array(256 + body.length)
  frame.set(request.header)
  frame.set(body, 256)
  return frame
}

function isServed(request: GoldenFrame): boolean {
  const { operation, code } = requestLayout.decode(request.header)
  if (operation === Operation.NonReplicated) {
    // A poll of a single consumer that commits nothing.
    if (code === ClientCommands.poll.code) return request.body?.[0] === 1 && request.body.at(-1) === 0
    return SERVED_READS.has(code)
  }
  const unserved = operation >= Operation.CreateConsumerGroup && operation < Operation.SendMessages
  return !unserved && operation <= Operation.SendMessages
}

describe.skipIf(goldenAbsent)('the recorded session with a solo node', () => {
  test('every reply of a served command is equal, and so are the log and the segments', async () => {
    const solo = await Solo.boot()
    solo.connect(1)
    const wal = new Uint8Array(readFileSync(`${NODE}metadata/journal.wal`))
    const longBatches = producedBatches()
    let skippedOps = 0
    let compared = 0
    for (const { request, reply } of recorded()) {
      const asked = requestLayout.decode(request.header)
      if (!isServed(request)) {
        if (isMetadata(asked.operation)) skippedOps++
        continue
      }
      const expected = replyLayout.decode(reply.header)
      // The time of the prepare; a login's is only in the log.
      solo.wallMicros =
        asked.operation === Operation.Register ? prepareLayout.decode(wal).timestamp : expected.timestamp
      const answer = await solo.exchange(1, wholeRequest(request, longBatches))
      if (!answer) throw new Error(`${request.where}: the connection was closed`)
      const actual = replyLayout.decode(answer)
      const commit =
        asked.operation === Operation.NonReplicated ? expected.commit - BigInt(skippedOps) : expected.commit
      const isStats = asked.operation === Operation.NonReplicated && asked.code === ClientCommands.stats.code
      const size = isStats ? actual.size : expected.size
      expect(actual, request.where).toEqual({ ...expected, commit, size })
      if (isStats) compareStats(frameBody(answer), reply.body!)
      else if (reply.body) expect(toHex(frameBody(answer)), request.where).toBe(toHex(reply.body))
      else expect(toHex(frameBody(answer)).startsWith(toHex(reply.bodyPrefix)), request.where).toBe(true)
      compared++
    }
    expect(longBatches).toEqual([])
    expect(compared).toBe(89)

    const log = await read(solo, 'metadata/journal.wal')
    expect(log.length).toBe(lengthOfOps(wal, 6))
    expect(toHex(log)).toBe(toHex(wal.subarray(0, log.length)))
    for (const path of [
      ...[0, 176, 352].map(start => `${SEGMENTED}/${String(start).padStart(20, '0')}.log`),
      `${EAGER}/00000000000000000000.log`,
    ]) {
      const golden = new Uint8Array(readFileSync(`${NODE}${path}`))
      const own = await read(solo, path)
      expect(own.length, path).toBe(golden.length)
      expect(hash.xxh3(own), path).toBe(hash.xxh3(golden))
    }
  })
})

function compareStats(own: Uint8Array, golden: Uint8Array): void {
  const pick = (body: Uint8Array) => {
    const {
      streamsCount,
      topicsCount,
      partitionsCount,
      segmentsCount,
      messagesCount,
      messagesSizeBytes,
      clientsCount,
      serverVersion,
      serverSemver,
    } = decodeBody(ClientCommands.stats.reply, body)
    return {
      streamsCount,
      topicsCount,
      partitionsCount,
      segmentsCount,
      messagesCount,
      messagesSizeBytes,
      clientsCount,
      serverVersion,
      serverSemver,
    }
  }
  expect(pick(own)).toEqual(pick(golden))
}

async function read(solo: Solo, path: string): Promise<Uint8Array> {
  const file = await solo.disk.open(path, 'read')
  const bytes = new Uint8Array(await file.sizeBytes())
  await file.read(0, bytes)
  await file.close()
  return bytes
}

/** Bytes of the first `count` entries of a log. */
function lengthOfOps(wal: Uint8Array, count: number): number {
  let at = 0
  for (let op = 0; op < count; op++) at += frameSize(wal.subarray(at))
  return at
}
