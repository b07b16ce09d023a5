import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { toHex } from '../bytes/hex.ts'
import { batchHeaderLayout, checkBatch, decodeBatch, encodeBatch, messageHeaderLayout, produceBatch } from './batch.ts'
import { type Codec, decodeBody, encodeBody } from './codec.ts'
import { commandOf } from './command-codes.ts'
import { Command } from './commands.ts'
import { encodeFrame } from './frames.ts'
import { prepareLayout, replyLayout, requestLayout } from './headers.ts'
import { polledMessages, pollReply, sendMessages } from './messages.ts'
import { isMetadataPlane, Operation } from './operations.ts'
import { replicatedBodies } from './replicated.ts'
import { readResult, successBody } from './replies.ts'
import { readClientFrame } from './requests.ts'
import { decodeLogin } from './session.ts'
import {
  type GoldenFrame,
  goldenAbsent,
  goldenFrames,
  goldenJson,
  nonZeroGapBytes,
  throughJson,
  wholeFrame,
} from './testing/golden.ts'
import { userHeaders } from './tlv.ts'

const FILES = ['solo-client.jsonl', 'three-client.jsonl']

interface Exchange {
  readonly request: GoldenFrame
  readonly reply: GoldenFrame
}

/** Requests with their replies: a connection is lockstep (wire.md §0). */
function exchanges(file: string): Exchange[] {
  const open = new Map<number, GoldenFrame>()
  const pairs: Exchange[] = []
  for (const frame of goldenFrames(file)) {
    if (frame.inbound) open.set(frame.connection, frame)
    else pairs.push({ request: open.get(frame.connection)!, reply: frame })
  }
  return pairs
}

const roundTrip = <T>(codec: Codec<T>, body: Uint8Array): Uint8Array =>
  encodeBody(codec, codec.fromJson(throughJson(codec.toJson(decodeBody(codec, body)))))

/** A batch through JSON: headers as records, payloads as hex. */
function batchThroughJson(bytes: Uint8Array): Uint8Array {
  const batch = decodeBatch(bytes)
  const json = throughJson({
    header: batchHeaderLayout.toJson(batch.header),
    messages: batch.messages.map(message => ({
      header: messageHeaderLayout.toJson(message.header),
      payload: toHex(message.payload),
      userHeaders: userHeaders.toJson(decodeBody(userHeaders, message.userHeaders)),
    })),
  })
  return encodeBatch({
    header: batchHeaderLayout.fromJson(json.header),
    messages: json.messages.map(message => ({
      header: messageHeaderLayout.fromJson(message.header),
      payload: Buffer.from(message.payload, 'hex'),
      userHeaders: encodeBody(userHeaders, userHeaders.fromJson(message.userHeaders)),
    })),
  })
}

describe.skipIf(goldenAbsent)('recorded client frames', () => {
  let hash: Hash
  beforeAll(async () => {
    hash = await createHash()
  })

  it('every header goes through plain JSON and back to the same bytes', () => {
    let count = 0
    for (const frame of FILES.flatMap(file => [...goldenFrames(file)])) {
      const layout = frame.command === Command.Request ? requestLayout : replyLayout
      const ignored = layout.gaps.map(gap => `${gap.at}+${gap.size}`).join(' ')
      expect(ignored).toBe(frame.command === Command.Request ? '62+66 177+7 200+56' : '62+66 209+7 220+36')
      expect(nonZeroGapBytes(frame.header, layout.gaps), frame.where).toEqual([])
      const record = layout.decode(frame.header)
      expect(record.size).toBe(frame.size)
      // biome-ignore lint/suspicious/noExplicitAny: both layouts have the same shape of JSON
      const again = (layout as any).fromJson(throughJson(layout.toJson(record as any)))
      // biome-ignore lint/suspicious/noExplicitAny: as above
      expect((layout as any).encode(again), frame.where).toEqual(frame.header)
      if (frame.body) expect(encodeFrame(layout as never, again, frame.body), frame.where).toEqual(wholeFrame(frame))
      count++
    }
    expect(count).toBe(2 * (102 + 139))
  })

  it('every whole body goes through plain JSON and back to the same bytes', () => {
    const seen = new Map<string, number>()
    const count = (key: string) => seen.set(key, (seen.get(key) ?? 0) + 1)
    for (const { request, reply } of FILES.flatMap(exchanges)) {
      const sent = requestLayout.decode(request.header)
      const command = commandOf(sent.operation, sent.code)!
      expect(command, request.where).toBeDefined()
      if (request.body) {
        expect(readClientFrame(wholeFrame(request)), request.where).not.toHaveProperty('invalid')
        expect(roundTrip(command.request, request.body), request.where).toEqual(request.body)
        count(`→ ${command.name}`)
      }
      if (!reply.body) continue
      const operation = replyLayout.decode(reply.header).operation
      expect(commandOf(operation, sent.code)?.name, reply.where).toBe(command.name)
      const result = readResult(operation, reply.body)
      if (!result.ok) throw new Error(`${reply.where}: error ${result.code}`)
      const payload = roundTrip(command.reply, result.payload)
      expect(payload, reply.where).toEqual(result.payload)
      if (payload.length !== reply.body.length) {
        const value = decodeBody(command.reply, payload)
        expect(successBody(command.reply, value), reply.where).toEqual(reply.body)
      }
      count(`← ${command.name}`)
    }
    expect(Object.fromEntries(seen)).toMatchObject({
      '→ login': 3,
      '← login': 3,
      '→ message.send': 37,
      '← message.send': 167,
      '→ message.poll': 14,
      '← message.poll': 8,
      '← topic.create': 6,
      '← stream.list': 3,
      '← topic.get': 6,
      '← stats': 3,
      '← cluster.metadata': 6,
      '← user.create': 2,
      '→ user.create': 2,
      '← user.list': 3,
      '← pat.list': 3,
      '← group.create': 2,
      '← group.sync': 2,
      '← offset.get': 6,
      '→ offset.store': 4,
    })
    expect(seen.size).toBe(2 * 19)
  })

  it('every batch that was sent or polled verifies, goes through plain JSON, and is what a producer of these messages builds', () => {
    let sent = 0
    let polled = 0
    let messages = 0
    for (const { request, reply } of FILES.flatMap(exchanges)) {
      const { operation, code } = requestLayout.decode(request.header)
      if (operation === Operation.SendMessages && request.body) {
        const { batch } = decodeBody(sendMessages, request.body)
        const verdict = checkBatch(batch, 0, hash)
        expect(verdict, request.where).toMatchObject({ ok: true, end: batch.length })
        expect(batchThroughJson(batch), request.where).toEqual(batch)
        const decoded = decodeBatch(batch)
        const again = produceBatch(
          hash,
          decoded.messages.map(message => ({
            id: message.header.id,
            payload: message.payload,
            userHeaders: message.userHeaders,
            originTimestamp: (decoded.header.originTimestamp + BigInt(message.header.timestampDelta)) as never,
          })),
        )
        expect(again, request.where).toEqual(batch)
        sent++
        messages += decoded.messages.length
      }
      if (operation === Operation.NonReplicated && code === 100 && reply.body) {
        const { records } = decodeBody(pollReply, reply.body)
        for (let at = 0; at < records.length; ) {
          const verdict = checkBatch(records, at, hash)
          if (!verdict.ok) throw new Error(`${reply.where}: ${verdict.message}`)
          expect(batchThroughJson(records.subarray(at, verdict.end)), reply.where).toEqual(
            records.slice(at, verdict.end),
          )
          at = verdict.end
          polled++
        }
      }
    }
    expect({ sent, polled, messages }).toEqual({ sent: 37, polled: 29, messages: 85 })
  })

  it('decodes what the official client decoded', () => {
    // biome-ignore lint/suspicious/noExplicitAny: the recorded steps have as many shapes as there are commands
    const steps = goldenJson('solo-a.json') as any[]
    const polls = exchanges('solo-client.jsonl').filter(
      ({ request }) => requestLayout.decode(request.header).code === 100,
    )
    const expected = steps.filter(step => step.result?.messages)
    expect(polls).toHaveLength(expected.length)
    let compared = 0
    for (const [index, { reply }] of polls.entries()) {
      if (!reply.body) continue
      const decoded = decodeBody(pollReply, reply.body)
      const theirs = expected[index].result
      expect(decoded.partitionId).toBe(theirs.partitionId)
      expect(decoded.currentOffset.toString()).toBe(theirs.currentOffset.bigint)
      const messages = polledMessages(decoded).map(message => ({
        offset: message.offset.toString(),
        id: message.id.toString(),
        checksum: message.checksum.toString(),
        payload: toHex(message.payload),
        timestamp: new Date(Number(message.timestamp / 1000n)).toISOString(),
        originTimestamp: new Date(Number(message.originTimestamp / 1000n)).toISOString(),
      }))
      expect(messages).toEqual(
        // biome-ignore lint/suspicious/noExplicitAny: as above
        theirs.messages.map((message: any) => ({
          offset: message.headers.offset.bigint,
          id: message.headers.id.bigint,
          checksum: message.headers.checksum.bigint,
          payload: message.payload.hex,
          timestamp: message.headers.timestamp,
          originTimestamp: message.headers.originTimestamp,
        })),
      )
      compared += messages.length
    }
    expect(compared).toBe(41)
  })

  it('a recorded login is read as a password login and not as a token', () => {
    for (const { request } of FILES.flatMap(exchanges)) {
      if (requestLayout.decode(request.header).operation !== Operation.Register) continue
      const login = decodeLogin(request.body!)
      expect(login.password).toMatchObject({ sdkName: 'node-sdk', username: 'iggy', password: 'iggy' })
      expect(login.token).toBeUndefined()
    }
  })

  it('every body of the metadata log, and every batch of a partition log, goes through plain JSON', () => {
    const operations = new Map<number, number>()
    for (const file of ['three-replica.jsonl', 'checkpoint-replica.jsonl', 'transfer-replica.jsonl']) {
      for (const frame of goldenFrames(file)) {
        if (frame.command !== Command.Prepare && frame.command !== Command.RepairPrepare) continue
        const { operation } = prepareLayout.decode(frame.header)
        if (!frame.body) continue
        operations.set(operation, (operations.get(operation) ?? 0) + 1)
        if (isMetadataPlane(operation)) {
          expect(roundTrip(replicatedBodies.get(operation)!, frame.body), frame.where).toEqual(frame.body)
        } else if (operation === Operation.SendMessages) {
          expect(checkBatch(frame.body, 0, hash), frame.where).toMatchObject({ ok: true, end: frame.body.length })
          expect(batchThroughJson(frame.body), frame.where).toEqual(frame.body)
        }
      }
    }
    expect([...operations.keys()].sort((a, b) => a - b)).toEqual([1, 3, 64, 128, 139, 141, 146, 148, 160, 161])
  })
})
