/**
 * The links between the nodes: cut, delayed, held and let go, one way or both (design.md §4). `all` in the place of a node
 * means every other one, so that a node is isolated by one request. Commands of frames are named as in the events.
 */
import { z } from 'zod'
import { EngineError } from '../../../shared/bytes/errors.ts'
import { type LinkAction, linkAction, linksAnswer } from '../../../shared/inspection/links.ts'
import { Command } from '../../../shared/protocol/commands.ts'
import type { ClusterLinks } from '../../cluster/links/cluster-links.ts'
import type { FrameChoice } from '../../cluster/links/link-way.ts'
import { ConsoleError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import { IdempotentActions } from '../idempotency.ts'
import { nodeId, type Routes } from '../route.ts'
import { wallUs } from '../wall.ts'

/** An hour: nobody waits longer for a frame. */
const DELAY_MS_MAX = 3_600_000
const COUNT_MAX = 1_000_000
/** The hold of whoever gives it no name. */
const HOLD = 'page'

const node = z.union([nodeId, z.literal('all')])
const params = z.object({ from: node, to: node })
const command = z.enum(Object.keys(Command) as [keyof typeof Command, ...(keyof typeof Command)[]])
const body = z.object({
  /** The other way too. */
  both: z.boolean().default(false),
  /** cut, hold, double: only frames of these commands. heal: only cuts of this one command. */
  commands: z.array(command).min(1).max(32).optional(),
  /** cut, hold, double: so many frames and no more. release: so many of the held ones, oldest first; the hold stays. */
  count: z.number().int().min(1).max(COUNT_MAX).optional(),
  /** delay: 0 ends it. */
  ms: z.number().int().min(0).max(DELAY_MS_MAX).optional(),
  jitterMs: z.number().int().min(0).max(DELAY_MS_MAX).optional(),
  /** hold, release: name of the hold. */
  name: z.string().min(1).max(60).optional(),
})
type Body = z.output<typeof body>

const WORDS: Readonly<Record<LinkAction, string>> = {
  cut: 'Lose frames of a link in silence: all, those of some commands, or the next few',
  heal: 'End every fault of a link; frames that were held or delayed go on',
  delay: 'Delay the frames of a link, with jitter; their order stays',
  hold: 'Keep frames of a link until they are released',
  double: 'Send frames of a link twice',
  release: 'Let held frames go: the oldest few, or all and end the hold',
}

export function linkRoutes(routes: Routes, hub: Hub): void {
  const links = (): ClusterLinks => {
    if (!hub.supervisor.links) throw new ConsoleError('CON_NO_SUCH_THING', 'A cluster of one node has no links.')
    return hub.supervisor.links
  }
  const answer = () => ({ takenWallUs: wallUs(), links: hub.supervisor.links?.status() ?? [] })

  routes.add(
    {
      method: 'GET',
      path: '/api/links',
      summary: 'Every way of every link: its faults, the frames it holds, what it counted',
      answer: linksAnswer,
    },
    answer,
  )
  const actions = new IdempotentActions<ReturnType<typeof answer>>()
  for (const action of linkAction.options) {
    routes.add(
      {
        method: 'POST',
        path: `/api/links/:from/:to/${action}`,
        summary: WORDS[action],
        params,
        body,
        headers: { 'Idempotency-Key': 'A fresh random value; the same one when this very request is repeated.' },
        answer: linksAnswer,
      },
      async ({ params, body, request }) => {
        const ways = waysOf(params.from, params.to, body.both, hub.replicaCount)
        const what = `${action} ${params.from}>${params.to} ${JSON.stringify(body)}`
        const done = await actions.run(request.headers['idempotency-key'], what, async () => {
          for (const [from, to] of ways) attempt(() => act(links(), action, from, to, body))
          return answer()
        })
        return done.answer
      },
    )
  }
}

function waysOf(from: number | 'all', to: number | 'all', both: boolean, nodes: number): [number, number][] {
  const every = [...Array(nodes).keys()]
  const ways: [number, number][] = []
  for (const a of from === 'all' ? every : [from])
    for (const b of to === 'all' ? every : [to]) if (a !== b || (from !== 'all' && to !== 'all')) ways.push([a, b])
  const back = both ? ways.map(([a, b]): [number, number] => [b, a]) : []
  const seen = new Set<string>()
  return [...ways, ...back].filter(way => !seen.has(String(way)) && seen.add(String(way)))
}

function act(links: ClusterLinks, action: LinkAction, from: number, to: number, body: Body): void {
  const { count, name } = body
  const commands = body.commands?.map(wanted => Command[wanted])
  const choice: FrameChoice = { ...(commands && { commands }), ...(count !== undefined && { count }) }
  if (action === 'cut') links.cut(from, to, choice)
  else if (action === 'hold') links.hold(from, to, name ?? HOLD, choice)
  else if (action === 'double') links.double(from, to, choice)
  else if (action === 'heal') {
    if (!commands) links.heal(from, to)
    for (const wanted of commands ?? []) links.mend(from, to, wanted)
  } else if (action === 'delay') {
    if (body.ms === undefined) throw new ConsoleError('CON_BAD_REQUEST', 'body.ms: a delay needs milliseconds')
    links.delay(from, to, body.ms, body.jitterMs)
  } else {
    links.release(from, to, { ...(name !== undefined && { name }), ...(count !== undefined && { count }) })
  }
}

function attempt(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    const code = error.code === 'NoSuchLink' ? 'CON_NO_SUCH_THING' : 'CON_WRONG_STATE'
    throw new ConsoleError(code, `${error.message}.`, { code: error.code, message: error.message })
  }
}
