/** Two ways to start a cluster for the first time, and what must come of them (design.md §3, Start-up). */
import { expect } from 'vitest'
import type { Hash } from '../../../shared/bytes/hash.ts'
import type { LaunchEntry } from '../launcher.ts'
import type { LocalSupervisor } from '../supervisor.ts'
import { sleep, snapshotOf, withClient, withCluster } from './local-cluster.ts'

/** Longer than a heartbeat timeout: what was about to elect has done so. */
const SETTLE_MS = 6_000

/** Where one start takes so much longer than another one, the nodes come otherwise than they were asked to. */
const UNEVEN_MS = 2_000
const TRIES = 3

/** Node N starts after `delays[N]` ms: no election, view 0 on the metadata plane and on groups created then. */
export async function startInAnyOrder(entry: LaunchEntry, hash: Hash, delays: readonly number[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    let bootsMs: number[] = []
    try {
      return await withCluster(entry, async supervisor => {
        bootsMs = await Promise.all(
          delays.map(async (delay, replica) => {
            await sleep(delay)
            return (await supervisor.start(replica)).readyMs!
          }),
        )
        await expectView0(supervisor, hash, delays)
      })
    } catch (error) {
      const uneven = Math.max(...bootsMs) - Math.min(...bootsMs) > UNEVEN_MS
      if (!uneven || attempt === TRIES) throw error
    }
  }
}

async function expectView0(supervisor: LocalSupervisor, hash: Hash, delays: readonly number[]): Promise<void> {
  await withClient(supervisor, hash, async client => {
    await client.createStream('s')
    await client.createTopic('s', 't', 3)
    for (let partition = 0; partition < 3; partition++) {
      await client.sendMessages('s', 't', { kind: 'partition', partition }, [{ payload: 'x' }])
    }
  })
  await sleep(SETTLE_MS)
  for (const replica of [0, 1, 2]) {
    const { metadata, groups, counters } = await snapshotOf(supervisor, replica)
    const seen = { replica, views: groups.map(({ view }) => view), elections: counters.view_change_started ?? 0 }
    expect({ delays, ...seen }).toEqual({ delays, replica, views: groups.map(() => 0), elections: 0 })
    expect(metadata).toMatchObject({ view: 0, status: 'normal', primary: 0 })
    expect(groups.length).toBeGreaterThanOrEqual(3)
  }
}

/** Nodes 1 and 2 start, node 0 never does: they elect and serve. Answers how long that took, milliseconds. */
export async function startWithoutNode0(entry: LaunchEntry, hash: Hash): Promise<number> {
  let servedMs = Number.NaN
  await withCluster(entry, async supervisor => {
    const began = performance.now()
    await Promise.all([supervisor.start(1), supervisor.start(2)])
    await withClient(supervisor, hash, async client => {
      await client.createStream('s')
      await client.createTopic('s', 't', 1)
      await client.sendMessages('s', 't', { kind: 'partition', partition: 0 }, [{ payload: 'x' }])
    })
    servedMs = Math.round(performance.now() - began)
    const { metadata, counters } = await snapshotOf(supervisor, 1)
    expect(metadata.view).toBeGreaterThan(0)
    // The very counter that must stay at zero where nothing fails.
    expect(counters.view_change_started).toBeGreaterThan(0)
  })
  return servedMs
}
