/**
 * The links and the gate on each: cut, delayed, held, let go. "Step the votes" holds the frames of an election on every
 * link, and lets them through one at a time, so that real processes can be watched as slowly as a reader needs.
 */
import { replicaIds } from '../../../shared/inspection/belief.ts'
import { type LinkStatus, VOTES_HOLD } from '../../../shared/inspection/links.ts'
import { type ClusterView, msOf } from '../../../shared/inspection/view.ts'
import { actOnLink, HOLD_VOTES, type LinkOrder, linkPath, RELEASE_VOTES, useForbidden } from '../../data/actions.ts'
import { requestCommand, type ShellCommand } from '../../data/shell-command.ts'
import { groupName } from '../../names.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age, useNowSeconds } from '../../ui/age.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { ageShort, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { TableFoot } from '../../ui/table-export.tsx'
import { faultWords, frameGlyph, heldFrames, heldRows, holdsVotes, initials, staleAhead, wayName } from './links.ts'
import type { Links } from './use-links.ts'

const DELAY_MS = 500

export default function LinksSide(props: { view: ClusterView; links: Links }) {
  const { links, rates, takenWallUs } = props.links
  const held = heldFrames(links)
  const faulty = links.filter(way => way.faults.length > 0).length
  const stepping = holdsVotes(links)
  const ids = replicaIds(props.view)
  const skips = links.map(way => ({ way, ahead: staleAhead(way, VOTES_HOLD) })).filter(item => item.ahead > 0)
  if (takenWallUs === undefined) return <p className="note">Nothing is known of the links at this moment.</p>
  if (links.length === 0) return <p className="note">A cluster of one node has no links.</p>
  return (
    <Scroll name="Links">
      <section className="card" aria-label="Step the votes" data-testid="votes-gate" data-holding={stepping}>
        <header className="card-head">
          <h3>Step the votes</h3>
          <Age atMs={msOf(takenWallUs)} push />
        </header>
        <p className="card-line wrap">
          {stepping
            ? held.length === 0
              ? 'Votes stop at the gates. None waits: kill the primary, and wait for the silence to be noticed.'
              : `${count(held.length, 'frame')} wait at the gates, oldest first.`
            : 'Holds StartViewChange, DoViewChange and StartView on every link; you let them go one at a time.'}
        </p>
        <HeldList held={held} />
        <div className="acts">
          {stepping ? (
            <Act
              order={RELEASE_VOTES}
              name="Let all votes go and stop holding"
              className="btn small main-act"
              testId="votes-release"
            >
              <Glyph name="play" />
              Let all go
            </Act>
          ) : (
            <Act order={HOLD_VOTES} name="Hold the votes" testId="votes-hold">
              <Glyph name="pause" />
              Hold the votes
            </Act>
          )}
          {skips.map(({ way, ahead }) => (
            <Act
              key={wayName(way)}
              order={{ from: way.from, to: way.to, action: 'release', body: { name: VOTES_HOLD, count: ahead } }}
              name={`Let ${ahead} frames of views that node-${way.from} has left go to node-${way.to}`}
            >
              Skip {ahead} stale {way.from}→{way.to}
            </Act>
          ))}
          {faulty > 0 && (
            <Act order={HEAL_ALL} name="Heal every link" testId="heal-all">
              <Glyph name="ok" />
              Heal all
            </Act>
          )}
          <CopyCommands
            commands={[
              command('Hold the votes', HOLD_VOTES),
              command('Let all votes go', RELEASE_VOTES),
              ...held
                .filter(frame => frame.first)
                .map(frame =>
                  command(
                    `Let one frame from node-${frame.from} to node-${frame.to} go`,
                    releaseOne(frame.from, frame.to, frame.hold),
                  ),
                ),
              command('Heal every link', HEAL_ALL),
            ]}
          />
        </div>
      </section>
      {pairsOf(links).map(([there, back]) => (
        <section key={wayName(there)} className="card" aria-label={`Link ${there.from} to ${there.to}`}>
          <header className="card-head">
            <h3>
              node-{there.from}, node-{there.to}
            </h3>
            <span className="label">{there.connected ? 'connected' : 'not connected'}</span>
          </header>
          <Way way={there} rate={rates.get(wayName(there))} />
          {back && <Way way={back} rate={rates.get(wayName(back))} />}
          <div className="acts">
            <PairActs there={there} back={back} />
          </div>
        </section>
      ))}
      <section className="card" aria-label="Isolate a node">
        <header className="card-head">
          <h3>Isolate a node</h3>
        </header>
        <p className="card-line wrap">Cuts every link of it, both ways. Its process runs on and does not know.</p>
        <div className="acts">
          {ids.map(id => {
            const own = links.filter(way => way.from === id || way.to === id)
            const alone =
              own.length > 0 && own.every(way => way.faults.some(fault => fault.fault === 'cut' && !fault.commands))
            return (
              <Act
                key={id}
                order={isolation(id, alone ? 'heal' : 'cut')}
                name={alone ? `Heal node-${id}` : `Isolate node-${id}`}
                className={`btn small${alone ? ' main-act' : ' destructive'}`}
                testId={`isolate-${id}`}
              >
                {alone ? `Heal node-${id}` : `node-${id}`}
              </Act>
            )
          })}
          <CopyCommands
            commands={ids.flatMap(id => [
              command(`Isolate node-${id}`, isolation(id, 'cut')),
              command(`Heal node-${id}`, isolation(id, 'heal')),
            ])}
          />
        </div>
      </section>
    </Scroll>
  )
}

function HeldList({ held }: { held: ReturnType<typeof heldFrames> }) {
  const now = useNowSeconds()
  if (held.length === 0) return null
  const rows = heldRows(held)
  return (
    <>
      <table className="table held" data-testid="held-frames">
        <thead>
          <tr>
            <th scope="col">Held frame</th>
            <th scope="col">way</th>
            <th scope="col" className="n">
              for
            </th>
            <th scope="col">
              <span className="sr">Act</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, HELD_SHOWN_MAX).map(({ frame, times }) => (
            <tr key={`${frame.from} ${frame.to} ${frame.number}`} data-testid="held-frame" data-command={frame.command}>
              <td
                title={`${frame.command}, ${frame.group === undefined ? 'no group' : groupName(frame.group)}, ${grouped(frame.sizeBytes)} B, frame ${frame.link.ordinal} of ${frame.link.id}`}
              >
                <span className="state">
                  <Glyph name={frameGlyph(frame.command)} state="change" />
                  {initials(frame.command)}
                  <span className="num">
                    v{frame.view}
                    {frame.group === undefined ? '' : ` ${groupName(frame.group)}`}
                    {times > 1 ? ` ×${times}` : ''}
                  </span>
                </span>
              </td>
              <td className="m">
                {frame.from}→{frame.to}
              </td>
              <td className="n">{ageShort(Math.max(0, now - msOf(frame.sinceWallUs)))}</td>
              <td>
                {frame.first && (
                  <Act
                    order={releaseOne(frame.from, frame.to, frame.hold)}
                    name={`Let ${frame.command} from node-${frame.from} to node-${frame.to} go`}
                    className="iconbtn small"
                    testId="release-one"
                  >
                    <Glyph name="play" />
                  </Act>
                )}
              </td>
            </tr>
          ))}
          {rows.length > HELD_SHOWN_MAX && (
            <tr>
              <td colSpan={4}>{grouped(rows.length - HELD_SHOWN_MAX)} more wait behind these</td>
            </tr>
          )}
        </tbody>
      </table>
      <TableFoot
        name="held frames"
        rows={held}
        columns={[
          { id: 'from', data: frame => frame.from },
          { id: 'to', data: frame => frame.to },
          { id: 'hold', data: frame => frame.hold },
          { id: 'command', data: frame => frame.command },
          { id: 'view', data: frame => frame.view },
          { id: 'group', data: frame => frame.group && groupName(frame.group) },
          { id: 'sizeBytes', data: frame => frame.sizeBytes },
          { id: 'link', data: frame => frame.link.id },
          { id: 'frame', data: frame => frame.link.ordinal },
          { id: 'sinceUs', data: frame => BigInt(frame.sinceWallUs) },
        ]}
      />
    </>
  )
}
const HELD_SHOWN_MAX = 40
function Way({ way, rate }: { way: LinkStatus; rate: number | undefined }) {
  const faults = faultWords(way)
  const { counters } = way
  const losses = [
    counters.dropped > 0 ? `${grouped(counters.dropped)} lost` : '',
    way.heldFrames.length > 0 ? `${grouped(way.heldFrames.length)} held` : '',
  ].filter(Boolean)
  return (
    <div
      className="way"
      data-testid={`way-${way.from}-${way.to}`}
      data-faults={way.faults.map(fault => fault.fault).join(' ')}
    >
      <span className="mono">
        {way.from}→{way.to}
      </span>
      <span className="num">{rate === undefined ? '' : `${grouped(Math.round(rate))}/s`}</span>
      <span className={faults.length > 0 ? 'strong' : 'ink-3'}>
        {faults.length > 0 ? faults.join('; ') : 'passes'}
        {losses.length > 0 ? `, ${losses.join(', ')}` : ''}
      </span>
      <Act
        order={{ from: way.from, to: way.to, action: faults.length > 0 ? 'heal' : 'cut' }}
        name={`${faults.length > 0 ? 'Heal' : 'Cut'} only what goes from node-${way.from} to node-${way.to}`}
        className="iconbtn small"
        testId={`one-way-${way.from}-${way.to}`}
      >
        <Glyph name={faults.length > 0 ? 'ok' : 'drop'} />
      </Act>
    </div>
  )
}

function PairActs({ there, back }: { there: LinkStatus; back: LinkStatus | undefined }) {
  const faults = [...there.faults, ...(back?.faults ?? [])]
  const both = { both: back !== undefined }
  const ends = { from: there.from, to: there.to }
  const what = `link ${there.from} to ${there.to}`
  const [cut, delay, hold, heal]: readonly LinkOrder[] = [
    { ...ends, action: 'cut', body: both },
    { ...ends, action: 'delay', body: { ...both, ms: DELAY_MS } },
    { ...ends, action: 'hold', body: both },
    { ...ends, action: 'heal', body: both },
  ]
  const oneWay = [there, ...(back ? [back] : [])].map(way => ({ from: way.from, to: way.to, action: 'cut' as const }))
  return (
    <>
      <Act order={cut!} name={`Cut ${what}`} className="btn small destructive" testId={`cut-${there.from}-${there.to}`}>
        <Glyph name="drop" />
        Cut
      </Act>
      <Act order={delay!} name={`Delay ${what} by ${DELAY_MS} ms`}>
        Delay {DELAY_MS} ms
      </Act>
      <Act order={hold!} name={`Hold every frame of ${what}`}>
        <Glyph name="pause" />
        Hold
      </Act>
      {faults.length > 0 && (
        <Act
          order={heal!}
          name={`Heal ${what}`}
          className="btn small main-act"
          testId={`heal-${there.from}-${there.to}`}
        >
          Heal
        </Act>
      )}
      <CopyCommands
        commands={[
          command(`Cut ${what}`, cut!),
          command(`Delay it by ${DELAY_MS} ms`, delay!),
          command('Hold every frame of it', hold!),
          command('Heal it', heal!),
          ...oneWay.map(order => command(`Cut only ${order.from} to ${order.to}`, order)),
        ]}
      />
    </>
  )
}

function Act(props: {
  order: LinkOrder
  name: string
  className?: string
  testId?: string
  children: React.ReactNode
}) {
  const forbidden = useForbidden()
  return (
    <ActButton
      name={props.name}
      pendingKey={['link', props.order.action, props.order.from, props.order.to]}
      onAct={() => void actOnLink(props.order)}
      why={forbidden}
      className={props.className ?? 'btn small'}
      {...(props.testId === undefined ? {} : { testId: props.testId })}
    >
      {props.children}
    </ActButton>
  )
}

const HEAL_ALL: LinkOrder = { from: 'all', to: 'all', action: 'heal' }
const releaseOne = (from: number, to: number, name: string): LinkOrder => ({
  from,
  to,
  action: 'release',
  body: { name, count: 1 },
})
const isolation = (id: number, action: 'cut' | 'heal'): LinkOrder => ({
  from: id,
  to: 'all',
  action,
  body: { both: true },
})
const command = (name: string, order: LinkOrder): ShellCommand => ({
  name,
  text: requestCommand(linkPath(order), order.body ?? {}, location.origin),
})

function pairsOf(links: readonly LinkStatus[]): [LinkStatus, LinkStatus | undefined][] {
  return links
    .filter(way => way.from < way.to)
    .map(way => [way, links.find(other => other.from === way.to && other.to === way.from)])
}
