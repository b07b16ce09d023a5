/**
 * The recorded sessions of an official client, replayed: the requests of served commands are fed to this replica with the
 * recorded clock, and every reply is compared byte by byte, as are the log, the segments and the offset files that they lead
 * to.
 *
 * Skipped: groups and users, which are not served. Hence two things are not compared: the commit position in local
 * replies after the first skipped metadata op (it must be lower by exactly the number skipped), and in `stats` what only the
 * recorded machine knows, and what skipped commands would have added. The secret of a token is drawn by chance: its length is
 * compared. The log is compared up to the first op that follows a skipped one, whose number must differ. Of the session with three nodes the part that their
 * first primary served is replayed; its roster names three nodes and is left out, and what the second primary answered after
 * the first one was killed depends on an election that one node cannot have.
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

interface Recording {
  readonly file: string
  readonly directory: string
  readonly compared: number
  /** Codes that are answered otherwise by one node. */
  readonly skipped: readonly number[]
}
const RECORDINGS: readonly Recording[] = [
  { file: 'solo-client.jsonl', directory: `${goldenRoot}solo-killed/node-0/`, compared: 95, skipped: [] },
  {
    file: 'three-client.jsonl',
    directory: `${goldenRoot}three-clean/node-0/`,
    compared: 93,
    skipped: [ClientCommands.roster.code],
  },
]
/** Batches to the segmented topic, whose bodies were too long to be recorded. */
const LONG_BATCHES = 60
const SEGMENTED = 'streams/0/topics/1/partitions/0'
const EAGER = 'streams/1/topics/0/partitions/0'

const SERVED_READS: ReadonlySet<number> = new Set(
  [
    ClientCommands.roster,
    ClientCommands.getTopic,
    ClientCommands.listStreams,
    ClientCommands.stats,
    ClientCommands.getOffset,
    ClientCommands.listTokens,
  ].map(command => command.code),
)

/** Requests of the first connection with their replies, in order. */
function* recorded(file: string): Generator<{ request: GoldenFrame; reply: GoldenFrame }> {
  let request: GoldenFrame | undefined
  for (const frame of goldenFrames(file)) {
    if (frame.connection !== 0) continue
    if (frame.inbound) request = frame
    else if (request) {
      yield { request, reply: frame }
      request = undefined
    }
  }
}

/** The batches of the segmented topic as their producer sent them: its requests were recorded by their start and hash only. */
function producedBatches(directory: string): Uint8Array[] {
  const batches: Uint8Array[] = []
  for (const start of [0, 176, 352]) {
    const log = new Uint8Array(readFileSync(`${directory}${SEGMENTED}/${String(start).padStart(20, '0')}.log`))
    for (let at = 0; at < log.length; ) {
      const length = Number(new DataView(log.buffer).getBigUint64(at + 32, true))
      const batch = log.slice(at, at + length)
      stampBatch(hash, batch, 0, { partitionId: 0, baseOffset: Offset(0n), baseTimestamp: Micros(0n) })
      batches.push(batch)
      at += length
    }
  }
  return batches.slice(0, LONG_BATCHES)
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

function isServed(request: GoldenFrame, skipped: readonly number[]): boolean {
  const { operation, code } = requestLayout.decode(request.header)
  if (operation === Operation.NonReplicated) {
    // A poll of a single consumer that commits nothing.
    if (code === ClientCommands.poll.code) return request.body?.[0] === 1 && request.body.at(-1) === 0
    return SERVED_READS.has(code) && !skipped.includes(code)
  }
  const unserved = operation >= Operation.CreateConsumerGroup && operation < Operation.SendMessages
  return !unserved || operation === Operation.CreatePersonalAccessToken
}

describe.skipIf(goldenAbsent)('a recorded session', () => {
  test.each(RECORDINGS)('$file: every reply of a served command is equal, and so are the files', async recording => {
    const { file, directory, skipped } = recording
    const solo = await Solo.boot()
    solo.connect(1)
    const wal = new Uint8Array(readFileSync(`${directory}metadata/journal.wal`))
    const longBatches = producedBatches(directory)
    let skippedOps = 0
    let compared = 0
    for (const { request, reply } of recorded(file)) {
      const asked = requestLayout.decode(request.header)
      if (!isServed(request, skipped)) {
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
      const isToken = asked.operation === Operation.CreatePersonalAccessToken
      const local = asked.operation === Operation.NonReplicated || isToken
      const commit = local ? expected.commit - BigInt(skippedOps) : expected.commit
      const isStats = asked.operation === Operation.NonReplicated && asked.code === ClientCommands.stats.code
      const size = isStats ? actual.size : expected.size
      expect(actual, request.where).toEqual({ ...expected, commit, size })
      if (isStats) compareStats(frameBody(answer), reply.body!)
      else if (isToken) expect(toHex(frameBody(answer).subarray(0, 5))).toBe(toHex(reply.body!.subarray(0, 5)))
      else if (reply.body) expect(toHex(frameBody(answer)), request.where).toBe(toHex(reply.body))
      else expect(toHex(frameBody(answer)).startsWith(toHex(reply.bodyPrefix)), request.where).toBe(true)
      compared++
    }
    expect(longBatches).toEqual([])
    expect(compared).toBe(recording.compared)

    const log = await read(solo, 'metadata/journal.wal')
    const alike = lengthOfOps(wal, 6)
    // And the token's, behind which nothing entered the log.
    expect(alike + lengthOfOps(log.subarray(alike), 1)).toBe(log.length)
    expect(toHex(log.subarray(0, alike))).toBe(toHex(wal.subarray(0, alike)))
    for (const path of [
      ...[0, 176, 352].map(start => `${SEGMENTED}/${String(start).padStart(20, '0')}.log`),
      `${EAGER}/00000000000000000000.log`,
      `${SEGMENTED}/offsets/consumers/7`,
      `${EAGER}/offsets/consumers/1`,
    ]) {
      const golden = new Uint8Array(readFileSync(`${directory}${path}`))
      const own = await read(solo, path)
      // Three nodes went on after this session.
      const same = recording === RECORDINGS[0] ? golden : golden.subarray(0, own.length)
      expect(own.length, path).toBe(same.length)
      expect(hash.xxh3(own), path).toBe(hash.xxh3(same))
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
