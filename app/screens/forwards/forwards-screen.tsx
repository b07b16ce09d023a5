/** Writes that came to the wrong door: each with its two hops, what the client was told, and what is known of it today. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { replicaIds } from '../../../shared/inspection/belief.ts'
import type { ForwardChain, ForwardsAnswer } from '../../../shared/inspection/forwards.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { processWords } from '../../data/slots.ts'
import { asOf, paused, shown } from '../../data/store.ts'
import { hopsOf } from '../../geometry/hops.ts'
import { groupName, pathName } from '../../names.ts'
import { divergenceOf } from '../../planes.ts'
import type { Search } from '../../search.ts'
import { Age, useNowSeconds } from '../../ui/age.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { clock, duration, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { NowCell, NowStrip } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { processLook } from '../../ui/states.ts'
import type { ExportColumn } from '../../ui/table-export.tsx'
import { evidenceOf, OUTCOME_LOOK, originHeard, reasonWords } from './evidence.ts'
import { HopGlyph } from './hop-glyph.tsx'
import { forwardsSituation } from './situation.ts'
import { Waterfall } from './waterfall.tsx'
import './forwards.css'

const route = getRouteApi('/forwards')
const OUTCOMES = ['accepted', 'refused', 'unknown', 'waiting'] as const

export default function ForwardsScreen() {
  const search: Search<'forwards'> = route.useSearch()
  const navigate = useNavigate()
  const answer = useQuery(queries.forwards())
  const view = useCell(shown, state => state.view)
  const all = answer.data?.forwards ?? []
  const listed = search.outcome === undefined ? all : all.filter(chain => chain.state === search.outcome)
  const named = all.find(chain => chain.nonce === search.id)
  // Nothing is chosen: what ended with an outcome unknown has the most to tell.
  const chosen = named ?? listed.find(chain => chain.state === 'unknown') ?? listed[0]
  // A row that nobody chose is marked, but not scrolled to: the list moves on under load.
  const marked = named ?? (chosen === listed[0] ? chosen : undefined)
  const oldest = (answer.data?.nodes ?? []).flatMap(node => (node.reporter ? [msOf(node.reporter.takenWallUs)] : []))
  const change = (patch: Partial<Record<keyof Search<'forwards'>, string | undefined>>): void =>
    void navigate({ to: '/forwards', search: old => ({ ...old, ...patch }) as Search<'forwards'> })
  return (
    <div className={`screen fwd${chosen ? '' : ' nothing'}`}>
      <Lead answer={answer.data} error={answer.error} chosen={chosen} />
      <div className="filter">
        <h1 className="title">Forwarded writes</h1>
        <span className="label">newest first, one hop at most</span>
        <span className="push row">
          {answer.data && <Age atMs={oldest.length > 0 ? Math.min(...oldest) : undefined} by="oldest answer" />}
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
      </div>
      <section className="pane inner-scroll" aria-label="Forwards" data-testid="forwards">
        {answer.isPending && <Skeleton what="forwards" rows={6} />}
        {answer.error && (
          <Problem error={answer.error} what="The forwards could not be read." retry={() => void answer.refetch()} />
        )}
        {answer.data && search.id !== undefined && !named && (
          <p className="note" role="status" data-testid="forward-gone">
            No node tells of the forward <code>{search.id}</code>, which the address names: it is not among the newest,
            or the lives that knew it have ended.{chosen ? ' Another one is shown.' : ''}
          </p>
        )}
        {answer.data && all.length === 0 && <Nothing />}
        {answer.data && all.length > 0 && (
          <Table chains={listed} nodes={replicaIds(view)} chosen={marked?.nonce} onChoose={id => change({ id })} />
        )}
      </section>
      {chosen && (
        <div className="low">
          <HopsPane chain={chosen} answer={answer.data} />
          <KnownPane chain={chosen} answer={answer.data} />
        </div>
      )}
    </div>
  )
}

function Lead(props: { answer: ForwardsAnswer | undefined; error: unknown; chosen: ForwardChain | undefined }) {
  const view = useCell(shown, state => state.view)
  const now = useNowSeconds()
  const words = forwardsSituation(props.answer, props.error, props.chosen, divergenceOf(view, now))
  return (
    <NowStrip lead={words}>
      <NowCell label="Why writes are forwarded">
        <p data-testid="divergence">{words.why}</p>
      </NowCell>
      <NowCell label="Next">
        <p>{words.next}</p>
      </NowCell>
      <NowCell label="Parked now">
        <p className="row parked">
          {(props.answer?.nodes ?? []).map(node => {
            const state = view.nodes.get(node.node)?.process?.state
            const look = state !== undefined && state !== 'running' ? processLook[state] : undefined
            return (
              <span key={node.node} className="nowrap" title={node.error && visible(node.error)}>
                {look && <Glyph name={look.glyph} state={look.colour} />} node-{node.node}{' '}
                {node.parked === undefined ? (
                  look ? (
                    processWords(view.nodes.get(node.node))
                  ) : (
                    'not heard'
                  )
                ) : (
                  <span className="num">
                    {node.parked}, {grouped(node.total ?? 0)} since boot
                  </span>
                )}
              </span>
            )
          })}
          {props.answer === undefined && 'not read yet'}
        </p>
      </NowCell>
    </NowStrip>
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

const digits = (text: string | undefined): string => (text === undefined ? '' : grouped(BigInt(text)))

function Table(props: {
  chains: readonly ForwardChain[]
  nodes: readonly number[]
  chosen: string | undefined
  onChoose: (id: string) => void
}) {
  const names = useQuery(queries.topics()).data
  return (
    <DataTable
      name="forwards"
      className="fw"
      rows={props.chains}
      rowKey={chain => chain.nonce}
      selected={props.chosen}
      onSelect={chain => props.onChoose(chain.nonce)}
      rowData={chain => ({
        'data-testid': 'forward',
        'data-outcome': chain.state,
        'data-from': chain.origin,
        'data-to': chain.primary,
      })}
      empty="No forward has this outcome."
      fileColumns={FORWARD_COLUMNS}
      columns={[
        {
          id: 'nonce',
          head: 'Id',
          align: 'm',
          cell: chain => (
            <span className="link" title={chain.nonce}>
              {chain.nonce.slice(-6)}
            </span>
          ),
        },
        { id: 'received', head: 'Received', align: 'm', cell: chain => clock(msOf(chain.wallUs)) },
        { id: 'client', head: 'Client', align: 'n', cell: chain => visible(chain.client) },
        { id: 'request', head: 'Request', align: 'n', cell: chain => digits(chain.request) },
        { id: 'group', head: 'Group', align: 'm', cell: chain => groupName(chain.group) },
        {
          id: 'name',
          head: 'Name',
          cell: chain => <span className="ellipsis">{pathName(names, chain.key) ?? ''}</span>,
        },
        {
          id: 'hop',
          head: 'Entered, sent to',
          cell: chain => (
            <span className="rt">
              <HopGlyph chain={chain} nodes={props.nodes} />
            </span>
          ),
        },
        { id: 'view', head: 'View', align: 'n', cell: chain => digits(chain.view) },
        { id: 'op', head: 'Op', align: 'n', cell: chain => digits(chain.op) },
        { id: 'total', head: 'Total', align: 'n', cell: chain => totalWords(totalOf(chain)) },
        { id: 'outcome', head: 'Outcome', cell: chain => <State look={OUTCOME_LOOK[chain.state]} /> },
        { id: 'status', head: 'Status', align: 'n', cell: chain => chain.status ?? '' },
        { id: 'first', head: 'First offset', align: 'n', cell: chain => digits(chain.firstOffset) },
        { id: 'reason', head: 'Reason', cell: chain => visible(reasonWords(chain.reason)) },
      ]}
    />
  )
}

const FORWARD_COLUMNS: readonly ExportColumn<ForwardChain>[] = [
  { id: 'nonce', data: chain => chain.nonce },
  { id: 'receivedUs', data: chain => BigInt(chain.wallUs) },
  { id: 'client', data: chain => chain.client },
  { id: 'request', data: chain => chain.request },
  { id: 'group', data: chain => groupName(chain.group) },
  { id: 'origin', data: chain => chain.origin },
  { id: 'primary', data: chain => chain.primary },
  { id: 'outcome', data: chain => chain.state },
  { id: 'status', data: chain => chain.status },
  { id: 'reason', data: chain => chain.reason },
  { id: 'view', data: chain => chain.view },
  { id: 'op', data: chain => chain.op },
  { id: 'firstOffset', data: chain => chain.firstOffset },
  { id: 'atPrimary', data: chain => chain.atPrimary },
  { id: 'totalMs', data: totalOf },
  ...(['received', 'parked', 'sent', 'unsent', 'taken', 'accepted', 'refused', 'answered', 'lost'] as const).map(
    (step): ExportColumn<ForwardChain> => ({
      id: `${step}Us`,
      data: chain => {
        const at = chain.steps.find(one => one.step === step)?.wallUs
        return at === undefined ? undefined : BigInt(at)
      },
    }),
  ),
]

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

/** A result with status 57 is no refusal: the op was prepared, and may still be committed. */
function stepWords(step: ForwardChain['steps'][number]['step'], chain: ForwardChain): string {
  if (step === 'refused' && chain.atPrimary === 'unknown')
    return 'given up with status 57: the op may still be committed'
  if (step !== 'accepted' || chain.op === undefined) return STEP_WORDS[step]
  return `committed as op ${digits(chain.op)}${chain.view === undefined ? '' : ` in view ${digits(chain.view)}`}, result sent back`
}

function HopsPane({ chain, answer }: { chain: ForwardChain; answer: ForwardsAnswer | undefined }) {
  const now = useNowSeconds()
  const hops = hopsOf(chain)
  const first = hops.steps[0]
  const boot = answer?.nodes.find(node => node.node === first?.node)?.reporter?.boot
  return (
    <Pane
      title={`${chain.nonce.slice(-6)}, hop by hop`}
      label={`ms after ${originHeard(chain) ? `node-${chain.origin} received` : `node-${chain.primary} took`} it at ${clock(msOf(chain.wallUs))}${
        hops.travelMs === undefined ? '' : `; ${hops.travelMs.toFixed(2)} ms on the links, split evenly`
      }`}
      testId="hops"
      actions={
        boot !== undefined &&
        first && (
          <Link
            className="btn small quiet push"
            to="/timeline"
            search={{ group: 'all', sel: `${first.node}.${boot}.${first.seq}` }}
          >
            Show on timeline
          </Link>
        )
      }
    >
      <Waterfall chain={chain} now={now} />
      <DataTable
        name="steps of the forward"
        className="ev"
        rows={hops.steps}
        rowKey={step => `${step.node} ${step.seq}`}
        rowData={step => ({ 'data-testid': `step-${step.step}` })}
        empty="None of its steps is held any more."
        columns={[
          { id: 'ms', head: 'ms', align: 'n', data: step => step.atMs, cell: step => grouped3(step.atMs) },
          { id: 'step', head: 'Step', data: step => step.step },
          { id: 'node', head: 'Node', data: step => step.node, cell: step => `node-${step.node}` },
          {
            id: 'frame',
            head: 'Frame',
            align: 'm',
            data: step => (step.link ? `${step.link.id} ${step.link.ordinal}` : null),
            cell: step => (step.link ? `${visible(step.link.id.split('#')[0]!)} ${grouped(step.link.ordinal)}` : ''),
          },
          { id: 'detail', head: 'Detail', data: step => stepWords(step.step, chain) },
        ]}
      />
    </Pane>
  )
}
const grouped3 = (ms: number): string =>
  `${grouped(Math.floor(ms))}.${String(Math.floor((ms % 1) * 1000)).padStart(3, '0')}`

/** Of this forward, in the recording and at the moment that are shown. */
function addressOf(nonce: string): string {
  const url = new URL(location.href)
  url.searchParams.set('id', nonce)
  return `${url.origin}${url.pathname}${url.search}`
}

function KnownPane({ chain, answer }: { chain: ForwardChain; answer: ForwardsAnswer | undefined }) {
  const evidence = evidenceOf(chain)
  const asked = answer?.nodes.find(node => node.node === chain.primary)
  const frozen = useCell(paused)
  const past = useCell(asOf)
  const away = (answer?.nodes ?? []).filter(node => node.error !== undefined)
  return (
    <Pane
      title={past ? 'What was known then' : 'What is known now'}
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
            search={chain.firstOffset === undefined ? {} : { offset: chain.firstOffset, tab: 'messages' }}
          >
            {chain.firstOffset === undefined ? 'Open partition' : `Open offset ${digits(chain.firstOffset)}`}
          </Link>
        )}
        <CopyButton text={addressOf(chain.nonce)} label="Copy link" title="Address of this forward" />
        {frozen !== undefined && past === undefined && <span className="micro ink-3">as of the pause</span>}
      </p>
    </Pane>
  )
}
