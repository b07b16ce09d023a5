/** From a kill that was seen live to the seed and the script that show it again. */
import { expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { distanceOf, killOutcome, killScript, type SeenKill } from '../../shared/drills/nearest.ts'
import { Recorder } from '../../shared/drills/recording.ts'
import { CONSOLE_NODE, type EventEnvelope } from '../../shared/inspection/envelope.ts'
import { METADATA_GROUP } from '../../shared/protocol/groups.ts'
import type { Scenario } from '../../shared/scenario/language.ts'
import { runScenario } from '../../shared/scenario/run.ts'
import { drillWorlds } from '../drills/worlds.ts'
import { EventLog } from './event-log.ts'
import { LastKill } from './last-kill.ts'
import { NearestSeeds } from './nearest-seed.ts'

const hash = await createHash()
const open = drillWorlds(hash)

let seq = 0
const event = (
  kind: string,
  node: number,
  atMs: number,
  data: EventEnvelope['data'],
  group = 'node',
): EventEnvelope => ({
  v: 1,
  node,
  boot: 'b',
  seq: ++seq,
  monoUs: 0,
  wallUs: String(atMs * 1_000),
  plane: 'node',
  group,
  kind,
  class: 'fact',
  data,
})

it('a kill is seen with who led, who leads since and how soon, and its return; a stop is none', () => {
  const log = new EventLog()
  const kills = new LastKill(log, 3, () => ({ view: 4, primary: 1 }))
  const say = (...events: EventEnvelope[]) => {
    log.append(events)
    log.flush()
  }
  say(event('process_exited', CONSOLE_NODE, 900, { node: 0, requested: 'terminate', atWallMs: 900 }))
  expect(kills.seen).toBeUndefined()
  say(
    event('process_exited', CONSOLE_NODE, 1_010, { node: 1, requested: 'kill', atWallMs: 1_000 }),
    event('view_started', 2, 3_500, { view: 5 }, METADATA_GROUP.toString()),
    event('view_started', 2, 3_600, { view: 5 }, '77'),
    event('process_started', CONSOLE_NODE, 9_000, { node: 1, pid: 5 }),
  )
  expect(kills.seen).toEqual({
    nodes: 3,
    node: 1,
    view: 4,
    primary: 1,
    leader: 2,
    newView: 5,
    electedAfterMs: 2_500,
    backAfterMs: 8_000,
  })
  kills.close()
  log.close()
})

const seen: SeenKill = {
  nodes: 3,
  node: 1,
  view: 1,
  primary: 1,
  leader: 2,
  newView: 2,
  electedAfterMs: 5_500,
  backAfterMs: 8_000,
}

it('the nearest seed runs the same story, and its script alone shows it again', async () => {
  const found = await new NearestSeeds(hash, open, () => seen).search(3)
  expect(found).toMatchObject({
    tried: 3,
    leader: 2,
    newView: 2,
    command: expect.stringContaining(`--seed ${found.seed}`),
  })
  const script = JSON.parse(found.script) as Scenario
  expect(script).toEqual(killScript(seen))

  const { runner } = await open('sim', { scenario: script, seed: found.seed, volatileDisk: false })
  const recorder = new Recorder(runner)
  const { verdict } = await runScenario(script, runner, {
    hash,
    beforeStep: key => recorder.step(key),
    onLook: () => recorder.look(),
  })
  expect(verdict).toBe('pass')
  const { leader, newView, electedAfterMs } = found
  expect(killOutcome(script, recorder.recording())).toEqual({ leader, newView, electedAfterMs })
})

it('another leader is farther away than any other time', () => {
  const same = { leader: 2, newView: 2, electedAfterMs: 40_000 }
  expect(distanceOf(seen, same)).toBeLessThan(distanceOf(seen, { ...same, leader: 0, electedAfterMs: 5_500 }))
  expect(distanceOf(seen, seen)).toBe(0)
})

it('where nothing was killed there is nothing to look for', async () => {
  await expect(new NearestSeeds(hash, open, () => undefined).search(1)).rejects.toMatchObject({
    code: 'CON_NO_SUCH_THING',
  })
})
