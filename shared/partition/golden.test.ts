import { readdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { toHex } from '../bytes/hex.ts'
import { Micros, Offset } from '../bytes/units.ts'
import { batchHeaderLayout, batchLengthAt } from '../protocol/batch.ts'
import type { PartitionKey } from '../protocol/groups.ts'
import { polledMessages } from '../protocol/messages.ts'
import { goldenAbsent, goldenJson, goldenRoot } from '../protocol/testing/golden.ts'
import { MemoryDisk } from '../storage/memory-disk.ts'
import { purgeGenLayout } from '../storage/purge-gen.ts'
import type { PollResult } from './contract.ts'
import { openPartition } from './open.ts'
import { must, prepare, TestHost, testOptions, until } from './testing/harness.ts'

const MIB = 1024 * 1024

/** Directories of one recorded node's partitions, and a disk that holds the whole node. */
function load(node: string): { disk: MemoryDisk; partitions: { key: PartitionKey; directory: string }[] } {
  const disk = new MemoryDisk()
  const partitions: { key: PartitionKey; directory: string }[] = []
  const walk = (relative: string) => {
    const match = /^streams\/(\d+)\/topics\/(\d+)\/partitions\/(\d+)$/.exec(relative)
    if (match) {
      const [stream, topic, partition] = match.slice(1).map(Number) as [number, number, number]
      partitions.push({ key: { stream, topic, partition }, directory: relative })
    }
    for (const name of readdirSync(`${goldenRoot}${node}/${relative}`)) {
      const path = `${relative}/${name}`
      if (statSync(`${goldenRoot}${node}/${path}`).isDirectory()) walk(path)
      else disk.put(path, new Uint8Array(readFileSync(`${goldenRoot}${node}/${path}`)))
    }
  }
  walk('streams')
  return { disk, partitions }
}

async function open(disk: MemoryDisk, key: PartitionKey, directory: string, segmentSizeBytes = MIB) {
  const host = new TestHost(disk)
  const named = disk.peek(`${directory}/purge.gen`)
  const createdRevision = named ? purgeGenLayout.decode(named).createdRevision : 7n
  const partition = await openPartition({ ...testOptions(host, { segmentSizeBytes }), key, directory, createdRevision })
  return { host, partition }
}

const segmentFiles = (disk: MemoryDisk, directory: string) =>
  [...disk.snapshot()].filter(([path]) => path.startsWith(`${directory}/`) && /\.(log|index)$/.test(path))

const NODES = [
  'solo-killed/node-0',
  'solo-clean/node-0',
  ...['three-clean', 'three-checkpoint'].flatMap(run => [0, 1, 2].map(node => `${run}/node-${node}`)),
]

/** A group's offset that was stored while its messages were only in memory, and what a boot without them makes of it. */
const BOOKMARKS: Record<string, string[]> = {
  'solo-killed/node-0/streams/0/topics/0/partitions/0': ['offset_dropped'],
  'solo-clean/node-0/streams/0/topics/0/partitions/0': ['offset_clamped'],
}

interface RecordedMessage {
  headers: { checksum: { bigint: string }; id: { bigint: string }; offset: { bigint: string }; timestamp: string }
  payload: { hex: string }
}
interface RecordedPoll {
  name: string
  result: { partitionId: number; currentOffset: { bigint: string }; count: number; messages: RecordedMessage[] }
}

/** The recorded polls by the name of their step, and the partition that each asked. */
const POLLS: Record<string, PartitionKey> = {
  'poll sync all': { stream: 1, topic: 0, partition: 0 },
  'poll seg tail': { stream: 0, topic: 1, partition: 0 },
  'poll eu/0': { stream: 0, topic: 0, partition: 0 },
  'poll eu/1': { stream: 0, topic: 0, partition: 1 },
}

function messages(result: PollResult) {
  const records = new Uint8Array(result.records.reduce((sum, record) => sum + record.length, 0))
  let at = 0
  for (const record of result.records) {
    records.set(record, at)
    at += record.length
  }
  return polledMessages({ partitionId: 0, currentOffset: result.currentOffset, count: result.messages, records })
}

describe.skipIf(goldenAbsent)('recorded directories', () => {
  it('all open without damage, and opening changes no segment byte', async () => {
    let opened = 0
    for (const node of NODES) {
      const { disk, partitions } = load(node)
      for (const { key, directory } of partitions) {
        const before = segmentFiles(disk, directory)
        const { host, partition } = await open(disk, key, directory)
        expect(host.kinds(), `${node}/${directory}`).toEqual(BOOKMARKS[`${node}/${directory}`] ?? [])
        expect(
          partition.recovery.filter(
            step => step.step === 'index' && step.verdict !== 'intact' && step.verdict !== 'empty',
          ),
        ).toEqual([])
        await partition.close()
        const after = segmentFiles(disk, directory)
        expect(after.map(([path]) => path)).toEqual(before.map(([path]) => path))
        for (const [index, [path, bytes]] of before.entries()) {
          expect(Buffer.from(after[index]![1]!).equals(bytes!), `${node}/${path}`).toBe(true)
        }
        opened++
      }
    }
    expect(opened).toBeGreaterThan(50)
  })

  for (const [node, recording, polls] of [
    ['solo-killed/node-0', 'solo-a.json', ['poll sync all', 'poll seg tail']],
    ['solo-clean/node-0', 'solo-b.json', Object.keys(POLLS)],
    ['three-clean/node-0', 'three-b-from-1.json', Object.keys(POLLS)],
    ['three-clean/node-1', 'three-b-from-1.json', Object.keys(POLLS)],
    ['three-clean/node-2', 'three-b-from-1.json', Object.keys(POLLS)],
  ] as const) {
    it(`${node} polls back what the official client saw`, async () => {
      const { disk } = load(node)
      const steps = goldenJson(recording) as RecordedPoll[]
      for (const name of polls) {
        const { result } = must(steps.find(step => step.name === name))
        const key = must(POLLS[name])
        const directory = `streams/${key.stream}/topics/${key.topic}/partitions/${key.partition}`
        const { partition } = await open(disk, key, directory)
        const from = Offset(BigInt(must(result.messages[0]).headers.offset.bigint))
        const polled = await partition.poll({ kind: 'offset', offset: from }, result.count, 64 * MIB)
        expect(polled.currentOffset).toBe(BigInt(result.currentOffset.bigint))
        expect(
          messages(polled).map(message => ({
            offset: message.offset.toString(),
            checksum: message.checksum.toString(),
            id: message.id.toString(),
            milliseconds: message.timestamp / 1000n,
            payload: toHex(message.payload),
          })),
          name,
        ).toEqual(
          result.messages.map(({ headers, payload }) => ({
            offset: headers.offset.bigint,
            checksum: headers.checksum.bigint,
            id: headers.id.bigint,
            milliseconds: BigInt(Date.parse(headers.timestamp)),
            payload: payload.hex,
          })),
        )
      }
    })
  }

  it('the stored offsets are the ones that the client was told', async () => {
    const { disk } = load('three-clean/node-1')
    const sync = await open(disk, POLLS['poll sync all']!, 'streams/1/topics/0/partitions/0')
    expect(sync.partition.storedOffset({ kind: 'consumer', id: 1 })).toBe(3n)
    const seg = await open(disk, POLLS['poll seg tail']!, 'streams/0/topics/1/partitions/0')
    expect(seg.partition.storedOffset({ kind: 'consumer', id: 7 })).toBe(100n)
  })

  it('the recorded batches, received again as prepares, give the recorded .log files byte for byte', async () => {
    const { disk, partitions } = load('three-clean/node-2')
    for (const { key, directory } of partitions) {
      const recorded = segmentFiles(disk, directory).filter(([path]) => path.endsWith('.log'))
      for (const everyBatch of [true, false]) {
        const fresh = new MemoryDisk()
        const { host, partition } = await open(fresh, key, directory)
        let op = 0n
        for (const [, bytes] of recorded) {
          for (let at = 0; at < bytes!.length; at += batchLengthAt(bytes!, at)) {
            const body = bytes!.subarray(at, at + batchLengthAt(bytes!, at))
            const { baseTimestamp } = batchHeaderLayout.decode(body)
            const { header, frame } = prepare(++op, body, { timestamp: Micros(baseTimestamp) })
            const appended = partition.append('backup', header, frame)
            expect(appended.ok ? 'ok' : appended.error.message).toBe('ok')
            partition.apply(header)
            if (everyBatch) await partition.flush()
          }
        }
        await partition.flush()
        await until(() => partition.info().flusher.state === 'idle')
        expect(host.failures).toEqual([])
        const written = segmentFiles(fresh, directory).filter(([path]) => path.endsWith('.log'))
        expect(written.map(([path]) => path)).toEqual(recorded.map(([path]) => path))
        for (const [index, [path, bytes]] of recorded.entries()) {
          expect(Buffer.from(written[index]![1]!).equals(bytes!), path).toBe(true)
        }
      }
    }
  })
})
