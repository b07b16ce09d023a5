/** Writes that came to the wrong door: each with its two hops, what the client was told, and what is known of it today. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { replicaIds } from '../../../shared/inspection/belief.ts'
import type { ForwardChain, ForwardsAnswer } from '../../../shared/inspection/forwards.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { paused, shown } from '../../data/store.ts'
import { hopsOf } from '../../geometry/hops.ts'
import { groupName, pathName } from '../../names.ts'
import { divergenceOf, divergenceWords } from '../../planes.ts'
import type { Search } from '../../search.ts'
import { Age, useNowSeconds } from '../../ui/age.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { clock, count, duration, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import { evidenceOf, OUTCOME_LOOK, reasonWords } from './evidence.ts'
import { HopGlyph } from './hop-glyph.tsx'
import { Waterfall } from './waterfall.tsx'
import './forwards.css'

const route = getRouteApi('/forwards')
const OUTCOMES = ['accepted', 'refused', 'unknown', 'waiting'] as const
const ROW = 26

export default function ForwardsScreen() {
  const search: Search<'forwards'> = route.useSearch()
  const navigate = useNavigate()
  const answer = useQuery(queries.forwards())
  const view = useCell(shown, state => state.view)
  const all = answer.data?.forwards ?? []
  const listed = search.outcome === undefined ? all : all.filter(chain => chain.state === search.outcome)
  const chosen = all.find(chain => chain.nonce === search.id) ?? listed[0]
  const change = (patch: Partial<Record<keyof Search<'forwards'>, string | undefined>>): void =>
    void navigate({ to: '/forwards', search: old => ({ ...old, ...patch }) as Search<'forwards'> })
  return (
    <div className="screen fwd">
      <Now answer={answer.data} chosen={search.id === undefined ? undefined : chosen} />
      <div className="filter">
        <h1 className="title">Forwarded writes</h1>
        <span className="label">newest first, one hop at most</span>
        <span className="push row">
          <button
            type="button"
            className="chip plain"
            aria-pressed={search.outcome === undefined}
            onClick={() => change({ outcome: undefined })}
          >
            All <span className="num">{grouped(all.length)}</span>
          </button>
          {OUTCOMES.map(outcome => (
            <button
              key={outcome}
              type="button"
              className="chip"
              aria-pressed={search.outcome === outcome}
              data-testid={`outcome-${outcome}`}
              onClick={() => change({ outcome: search.outcome === outcome ? undefined : outcome })}
            >
              <Glyph name={OUTCOME_LOOK[outcome].glyph} state={OUTCOME_LOOK[outcome].colour} />
              {OUTCOME_LOOK[outcome].word}
              <span className="num">{grouped(all.filter(chain => chain.state === outcome).length)}</span>
            </button>
          ))}
        </span>
        <CopyButton text={csvOf(listed)} label={`Copy as CSV, ${count(listed.length, 'row')}`} title="Copy as CSV" />
      </div>
      <section className="pane inner-scroll" aria-label="Forwards" data-testid="forwards">
        {answer.isPending && <Skeleton what="forwards" rows={6} />}
        {answer.error && <Problem error={answer.error} what="The forwards could not be read." />}
        {answer.data && all.length === 0 && <Nothing />}
        {answer.data && all.length > 0 && (
          <Table chains={listed} nodes={replicaIds(view)} chosen={chosen?.nonce} onChoose={id => change({ id })} />
        )}
      </section>
      {chosen ? (
        <div className="low">
          <HopsPane chain={chosen} />
          <KnownPane chain={chosen} answer={answer.data} />
        </div>
      ) : (
        <div className="low" />
      )}
    </div>
  )
}

function Now(props: { answer: ForwardsAnswer | undefined; chosen: ForwardChain | undefined }) {
  const view = useCell(shown, state => state.view)
  const now = useNowSeconds()
  const all = props.answer?.forwards ?? []
  const unknown = all.filter(chain => chain.state === 'unknown')
  const refused = all.filter(chain => chain.state === 'refused')
  const about = props.chosen ?? unknown[0] ?? all[0]
  const divergence = divergenceOf(view, now)
  const tone = unknown.length > 0 ? 'change' : 'plain'
  const what =
    all.length === 0
      ? 'No write was forwarded yet.'
      : unknown.length > 0
        ? `${count(unknown.length, 'write')} of ${grouped(all.length)} ended with outcome unknown.`
        : refused.length > 0
          ? `${count(refused.length, 'forward')} of ${grouped(all.length)} refused, each answered at once.`
          : `All ${count(all.length, 'forwarded write')} were answered.`
  return (
    <section className="now" aria-label="Situation" data-testid="situation">
      <div className="lead" data-tone={tone}>
        <Glyph
          name={unknown.length > 0 ? 'unknown' : all.length === 0 ? 'absent' : 'ok'}
          state={unknown.length > 0 || all.length === 0 ? 'none' : 'ok'}
          large
        />
        <div>
          <span className="label">
            {about
              ? `${about.nonce.slice(-6)}, ${groupName(about.group)}, client ${about.client} at node-${about.origin}${about.status === undefined ? '' : `, told status ${about.status}`}`
              : 'Writes at the wrong door'}
          </span>
          <p>
            <b>{what}</b>
          </p>
        </div>
      </div>
      <div>
        <span className="label">Why writes are forwarded</span>
        <p data-testid="divergence">
          {divergenceWords(divergence, groupName) ??
            'A group without a primary forwards nothing: there is no door to knock on.'}
        </p>
      </div>
      <div>
        <span className="label">Parked now</span>
        <p className="row parked">
          {(props.answer?.nodes ?? []).map(node => (
            <span key={node.node} className="nowrap">
              node-{node.node}{' '}
              <span className="num" title={node.error}>
                {node.parked === undefined ? 'not heard' : `${node.parked}, ${grouped(node.total ?? 0)} since boot`}
              </span>
            </span>
          ))}
        </p>
      </div>
    </section>
  )
}

function Nothing() {
  return (
    <div className="empty">
      <Glyph name="request" state="none" large />
      <p>
        No client has knocked on the wrong door. A write is forwarded when it reaches a node that does not lead its
        partition: kill and restart the primary of the metadata group, and the planes diverge.
      </p>
    </div>
  )
}

const totalOf = (chain: ForwardChain): number | undefined => hopsOf(chain).totalMs
const totalWords = (ms: number | undefined): string =>
  ms === undefined ? '' : ms < 100 ? `${ms.toFixed(1)} ms` : duration(ms)

function Table(props: {
  chains: readonly ForwardChain[]
  nodes: readonly number[]
  chosen: string | undefined
  onChoose: (id: string) => void
}) {
  const names = useQuery(queries.topics()).data
  const box = useRef<HTMLElement>(null)
  const rows = useVirtualizer({
    count: props.chains.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 10,
    initialRect: { width: 800, height: 400 },
  })
  const items = rows.getVirtualItems()
  const before = items[0]?.start ?? 0
  const after = items.length > 0 ? rows.getTotalSize() - items.at(-1)!.end : 0
  return (
    <Scroll ref={box} name="Forwarded writes">
      <table className="table fw">
        <thead>
          <tr>
            <th scope="col">Id</th>
            <th scope="col">Received</th>
            <th scope="col" className="n">
              Client
            </th>
            <th scope="col">Group</th>
            <th scope="col">Name</th>
            <th scope="col">Entered, sent to</th>
            <th scope="col" className="n">
              Total
            </th>
            <th scope="col">Outcome</th>
            <th scope="col" className="n">
              Status
            </th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {before > 0 && (
            <tr className="spacer">
              <td colSpan={99} style={{ height: before }} />
            </tr>
          )}
          {items.map(item => {
            const chain = props.chains[item.index]!
            const selected = chain.nonce === props.chosen
            return (
              <tr
                key={chain.nonce}
                className="pick"
                aria-selected={selected}
                data-testid="forward"
                data-outcome={chain.state}
                data-from={chain.origin}
                data-to={chain.primary}
                onClick={() => props.onChoose(chain.nonce)}
              >
                <td className="m">
                  <button type="button" className="pick-btn link" aria-pressed={selected} title={chain.nonce}>
                    {chain.nonce.slice(-6)}
                  </button>
                </td>
                <td className="m">{clock(msOf(chain.wallUs))}</td>
                <td className="n">{visible(chain.client)}</td>
                <td className="m">{groupName(chain.group)}</td>
                <td className="ellipsis">{pathName(names, chain.key) ?? ''}</td>
                <td className="rt">
                  <HopGlyph chain={chain} nodes={props.nodes} />
                </td>
                <td className="n">{totalWords(totalOf(chain))}</td>
                <td>
                  <State look={OUTCOME_LOOK[chain.state]} />
                </td>
                <td className="n">{chain.status ?? ''}</td>
                <td>{visible(reasonWords(chain.reason))}</td>
              </tr>
            )
          })}
          {after > 0 && (
            <tr className="spacer">
              <td colSpan={99} style={{ height: after }} />
            </tr>
          )}
        </tbody>
      </table>
      {props.chains.length === 0 && <p className="note">No forward has this outcome.</p>}
    </Scroll>
  )
}

const STEP_WORDS: Readonly<Record<ForwardChain['steps'][number]['step'], string>> = {
  received: 'from a client; this node does not lead the group',
  parked: 'under its nonce, until the result or the timer',
  sent: 'the request, routed, to the primary',
  unsent: 'could not be sent',
  taken: 'off the link, checked again here',
  accepted: 'committed, result sent back',
  refused: 'result sent back at once',
  answered: 'to the client, nonce retired',
  lost: 'no result came; the client was told status 57',
}

function HopsPane({ chain }: { chain: ForwardChain }) {
  const now = useNowSeconds()
  const hops = hopsOf(chain)
  return (
    <Pane
      title={`${chain.nonce.slice(-6)}, hop by hop`}
      label={`ms after node-${chain.origin} received it at ${clock(msOf(chain.wallUs))}${
        hops.travelMs === undefined ? '' : `; ${hops.travelMs.toFixed(2)} ms on the links, split evenly`
      }`}
      testId="hops"
    >
      <Waterfall chain={chain} now={now} />
      <Scroll name="Steps of the forward">
        <table className="table ev">
          <thead>
            <tr>
              <th scope="col" className="n">
                ms
              </th>
              <th scope="col">Step</th>
              <th scope="col">Node</th>
              <th scope="col">Frame</th>
              <th scope="col">Detail</th>
            </tr>
          </thead>
          <tbody>
            {hops.steps.map(step => (
              <tr key={`${step.node} ${step.seq}`} data-testid={`step-${step.step}`}>
                <td className="n">{grouped3(step.atMs)}</td>
                <td>{step.step}</td>
                <td>node-{step.node}</td>
                <td className="m">{step.link ? `${step.link.id.split('#')[0]} ${grouped(step.link.ordinal)}` : ''}</td>
                <td>{STEP_WORDS[step.step]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Pane>
  )
}
const grouped3 = (ms: number): string =>
  `${grouped(Math.floor(ms))}.${String(Math.floor((ms % 1) * 1000)).padStart(3, '0')}`

function KnownPane({ chain, answer }: { chain: ForwardChain; answer: ForwardsAnswer | undefined }) {
  const evidence = evidenceOf(chain)
  const asked = answer?.nodes.find(node => node.node === chain.primary)
  const frozen = useCell(paused)
  const away = (answer?.nodes ?? []).filter(node => node.error !== undefined)
  return (
    <Pane
      title="What is known now"
      testId="known"
      actions={
        asked?.reporter ? <Age atMs={msOf(asked.reporter.takenWallUs)} by={`node-${chain.primary}`} push /> : undefined
      }
    >
      <div className={`verdict ${evidence.tone}`} data-testid="evidence" data-tone={evidence.tone}>
        <Glyph
          name={
            evidence.tone === 'pass'
              ? 'ok'
              : evidence.tone === 'fail'
                ? 'fail'
                : evidence.tone === 'warn'
                  ? 'change'
                  : 'unknown'
          }
          large
        />
        <span>
          <b>{evidence.what}</b> <span className="small">{evidence.why}</span>
        </span>
      </div>
      {away.length > 0 && (
        <p className="small teach">
          {away.map(node => `node-${node.node}`).join(', ')} could not be asked: what it knew of its end is missing
          here.
        </p>
      )}
      <p className="small teach">
        Unknown is not failed. Once the primary took the write, only the log can say what became of it, so the origin
        answers 57 and never retries by itself. A client that retries after 57 may write twice; offsets never repeat.
      </p>
      <dl className="kv idkv">
        <dt>nonce</dt>
        <dd>{chain.nonce}</dd>
        <dt>client</dt>
        <dd>
          {visible(chain.client)} at node-{chain.origin}
        </dd>
        <dt>group</dt>
        <dd>{groupName(chain.group)}</dd>
        <dt>operation</dt>
        <dd>{chain.operation}</dd>
        <dt>ends heard</dt>
        <dd>{chain.matched ? 'both' : 'one'}</dd>
      </dl>
      <p className="row acts">
        {chain.key && (
          <Link
            className="btn small"
            to="/partitions/$s/$t/$p"
            params={{ s: String(chain.key.stream), t: String(chain.key.topic), p: String(chain.key.partition) }}
          >
            Open partition
          </Link>
        )}
        <CopyButton
          text={`${location.origin}/forwards?id=${chain.nonce}`}
          label="Copy link"
          title="Address of this forward"
        />
        {frozen !== undefined && <span className="micro ink-3">as of the pause</span>}
      </p>
    </Pane>
  )
}

function csvOf(chains: readonly ForwardChain[]): string {
  const head = 'nonce,received_wall_us,client,group,origin,primary,total_ms,outcome,status,reason'
  const quoted = (value: string): string => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
  const rows = chains.map(chain =>
    [
      chain.nonce,
      chain.wallUs,
      chain.client,
      chain.group,
      chain.origin,
      chain.primary,
      totalOf(chain)?.toFixed(3) ?? '',
      chain.state,
      chain.status ?? '',
      chain.reason ?? '',
    ]
      .map(value => quoted(String(value)))
      .join(','),
  )
  return [head, ...rows].join('\n')
}
