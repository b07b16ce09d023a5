import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { buildEntry } from '../cluster/testing/build-entry.ts'
import { runLoop, verifyLedger } from './closed-loop.ts'
import { SoloNode } from './solo-node.ts'

let built: Awaited<ReturnType<typeof buildEntry>>
let directory: string
beforeAll(async () => {
  built = await buildEntry()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'solo-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

it('a measured node syncs once for each batch without group commit, loses nothing when it is killed, and is refused with data', async () => {
  const hash = await createHash()
  const measure = ['persist=serial', 'group-commit=off', 'sync=none']
  const nodes: SoloNode[] = []
  const start = async (switches?: readonly string[]) => {
    const node = await SoloNode.start({ directory, entry: built.entry, ...(switches && { measure: switches }) })
    nodes.push(node)
    return node
  }
  try {
    const node = await start(measure)
    const loop = { producers: 4, batchMessages: 3, messageBytes: 100, partitions: 2, warmMs: 100, measureMs: 300 }
    const run = await runLoop(node, hash, loop, { enforceFsync: true, messagesRequiredToSave: 1 })
    expect(run.batches).toBeGreaterThan(0)
    const batches = run.ledger.confirmed.reduce((sum, { size }) => sum + size, 0)
    const { measuring, logSyncs, indexSyncs } = await node.counts()
    expect(measuring).toEqual({ persist: { halves: 'serial', groupCommit: false }, sync: { kind: 'none' } })
    expect([logSyncs, indexSyncs]).toEqual([batches, batches])
    await node.kill()

    const again = await start()
    expect(await verifyLedger(again, hash, run.ledger)).toBe(3 * batches)
    await expect(again.counts()).rejects.toMatchObject({ code: 'NodeRefused' })
    const confirmed = run.ledger.confirmed.map(batch => new Map(batch))
    confirmed[1]!.set(1n << 40n, run.ledger.built[0]![0]!)
    await expect(verifyLedger(again, hash, { ...run.ledger, confirmed })).rejects.toMatchObject({ code: 'LostWrite' })
    await again.kill()

    await expect(start(measure)).rejects.toMatchObject({
      message: expect.stringMatching(/ended with 64[\s\S]*MeasureRefused/),
    })
  } finally {
    for (const node of nodes) await node.kill()
  }
})
