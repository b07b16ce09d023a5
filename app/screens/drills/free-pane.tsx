/** The cluster of a drill by hand: nodes, clients, links, time, and a scalpel for the files of whoever has no process. */
import { type FormEvent, useState } from 'react'
import type { DrillRunAnswer, FreeActBody } from '../../../shared/inspection/drills.ts'
import { actByHand, DRILL_ACT, type Place, placeByHand } from '../../data/drills.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { count, grouped } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { State } from '../../ui/state.tsx'
import { processLook } from '../../ui/states.ts'
import { type ExportColumn, TableFoot } from '../../ui/table-export.tsx'
import type { DrillView } from './drill-screen.tsx'

type Act = (body: FreeActBody) => void
type FreeEdit = Extract<FreeActBody, { act: 'edit' }>['how']

/** What the value of an edit is; undefined: it needs none. */
const EDIT_VALUES: Readonly<Record<FreeEdit, string | undefined>> = {
  flip: 'bits, e.g. 01',
  'cut here': undefined,
  zero: 'bytes, e.g. 16',
  write: 'hex, e.g. 00ff',
  append: 'hex, behind the end',
  swap: 'ADDRESS BYTES',
  copy: 'path of the copy',
  reseal: undefined,
  delete: undefined,
}

/** What may be done to a node that is in this state. */
const NODE_ACTS = {
  running: ['kill', 'terminate', 'pause'],
  paused: ['resume', 'kill'],
  stopped: ['start', 'wipe'],
  crashed: ['start', 'wipe'],
  refused: ['start', 'wipe'],
} as const
const NAMES = {
  start: 'Start',
  kill: 'Kill',
  terminate: 'Stop',
  pause: 'Pause',
  resume: 'Go on',
  wipe: 'Wipe',
} as const

const PLACES = [
  'log:chunk[-1].body+17',
  'log:chunk[0].header.batchLength',
  'index:entry[-1]',
  'wal:op[2].header.commit',
  'wal:entry[-1].body+4',
  'sb:newest.payload.view',
  'partition-sb:newest.payload.offsetReserved',
  'snapshot:byte[1/2]',
]

export function FreePanes({ view, run }: { view: DrillView; run: DrillRunAnswer }) {
  const why = run.state === 'waiting' ? undefined : 'The cluster is at work.'
  const act: Act = body => void actByHand(run.run, body)
  return (
    <>
      <Pane title="By hand" label={`the cluster of ${view.drill.id}, in a world of its own`} testId="drill-free">
        <ul className="free-nodes">
          {run.nodes.map(({ node, state }) => (
            <li key={node}>
              <span className="num">node-{node}</span>
              <State look={processLook[state]} />
              <span className="push free-acts">
                {NODE_ACTS[state].map(name => (
                  <ActButton
                    key={name}
                    name={`${NAMES[name]} node-${node}`}
                    pendingKey={DRILL_ACT}
                    onAct={() => act({ act: name, node })}
                    why={why}
                  >
                    {NAMES[name]}
                  </ActButton>
                ))}
              </span>
            </li>
          ))}
        </ul>
        <div className="free-row">
          <span className="label">Client</span>
          <ActButton
            name="Send a message"
            pendingKey={DRILL_ACT}
            onAct={() => act({ act: 'send', payload: `by hand ${run.steps.length}` })}
            why={why}
          >
            Send a message
          </ActButton>
          <ActButton name="Read all" pendingKey={DRILL_ACT} onAct={() => act({ act: 'read' })} why={why}>
            Read all
          </ActButton>
        </div>
        <div className="free-row">
          <span className="label">Time</span>
          <ActButton name="Let it come to rest" pendingKey={DRILL_ACT} onAct={() => act({ act: 'rest' })} why={why}>
            Come to rest
          </ActButton>
          <ActButton
            name="Let 5 seconds pass"
            pendingKey={DRILL_ACT}
            onAct={() => act({ act: 'pass', ms: 5_000 })}
            why={why}
          >
            Let 5 s pass
          </ActButton>
        </div>
        {run.nodes.length > 1 && <Links run={run} act={act} why={why} />}
      </Pane>
      <SurgeryPane run={run} act={act} why={why} />
    </>
  )
}

function Links({ run, act, why }: { run: DrillRunAnswer; act: Act; why: string | undefined }) {
  const [from, setFrom] = useState(0)
  const [to, setTo] = useState(1)
  const same = from === to ? 'A link has two ends.' : undefined
  return (
    <div className="free-row">
      <span className="label">Link from</span>
      <NodeChoice run={run} name="From" value={from} onChange={setFrom} />
      <span className="label">to</span>
      <NodeChoice run={run} name="To" value={to} onChange={setTo} />
      {(['cut', 'heal'] as const).map(what => (
        <ActButton
          key={what}
          name={what === 'cut' ? 'Cut the link' : 'Heal the link'}
          pendingKey={DRILL_ACT}
          onAct={() => act({ act: what, from, to })}
          why={why ?? same}
        >
          {what === 'cut' ? 'Cut' : 'Heal'}
        </ActButton>
      ))}
    </div>
  )
}

function NodeChoice(props: { run: DrillRunAnswer; name: string; value: number; onChange: (node: number) => void }) {
  return (
    <select
      className="field"
      aria-label={props.name}
      value={props.value}
      onChange={({ target }) => props.onChange(Number(target.value))}
    >
      {props.run.nodes.map(({ node }) => (
        <option key={node} value={node}>
          node-{node}
        </option>
      ))}
    </select>
  )
}

function SurgeryPane({ run, act, why }: { run: DrillRunAnswer; act: Act; why: string | undefined }) {
  const [node, setNode] = useState(0)
  const [at, setAt] = useState(PLACES[0]!)
  const [how, setHow] = useState<FreeEdit>('flip')
  const [value, setValue] = useState('01')
  const [place, setPlace] = useState<Place>()
  const patient = run.nodes.find(each => each.node === node)
  const alive = patient?.state === 'running' || patient?.state === 'paused'
  const refusal =
    why ?? (alive ? `node-${node} has a process; its files are its own. Kill or stop it first.` : undefined)
  const body = { act: 'edit', node, how, at, value } as const
  const look = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault()
    setPlace(await placeByHand(run.run, body))
  }
  const wants = EDIT_VALUES[how]
  const standing = run.surgery.some(each => each.node === node && !each.undone && each.edit !== 'undo')
  return (
    <Pane title="Surgery" label="on the files of a node without a process" testId="drill-surgery">
      <form className="free-form" onSubmit={event => void look(event)}>
        <NodeChoice run={run} name="Node" value={node} onChange={setNode} />
        <label className="field grow">
          <span className="label">At</span>
          <input
            list="free-places"
            value={at}
            spellCheck={false}
            onChange={({ target }) => {
              setAt(target.value)
              setPlace(undefined)
            }}
          />
        </label>
        <datalist id="free-places">
          {PLACES.map(each => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <button type="submit" className="btn small">
          Where is it?
        </button>
        <select
          className="field"
          aria-label="What"
          value={how}
          onChange={({ target }) => setHow(target.value as FreeEdit)}
        >
          {Object.keys(EDIT_VALUES).map(each => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {wants !== undefined && (
          <label className="field grow">
            <span className="label">{wants}</span>
            <input value={value} spellCheck={false} onChange={({ target }) => setValue(target.value)} />
          </label>
        )}
        <ActButton name="Operate" pendingKey={DRILL_ACT} onAct={() => act(body)} why={refusal} className="btn main-act">
          Operate
        </ActButton>
        <ActButton
          name={`Take back the last edit of node-${node}`}
          pendingKey={DRILL_ACT}
          onAct={() => act({ act: 'undo', node })}
          why={refusal ?? (standing ? undefined : 'There is nothing to take back.')}
          className="btn"
        >
          Take back
        </ActButton>
      </form>
      {refusal !== undefined && <p className="drill-prose small">{refusal}</p>}
      {place && (
        <p className="drill-prose" data-testid="free-place">
          Byte {grouped(place.at)} of {grouped(place.fileBytes)} in <code>{place.path}</code>:{' '}
          <code>{place.bytes}</code>
        </p>
      )}
      <SurgeryTable surgery={run.surgery} />
      {patient && patient.files.length > 0 && (
        <details className="free-files">
          <summary>
            {count(patient.files.length, 'file')} of node-{node}
          </summary>
          <ul>
            {patient.files.map(({ path, bytes }) => (
              <li key={path}>
                <code>{path}</code> <span className="num">{grouped(bytes)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Pane>
  )
}

/** What was done to files, with what stood there before. */
export function SurgeryTable({ surgery }: { surgery: DrillRunAnswer['surgery'] }) {
  if (surgery.length === 0) return null
  return (
    <Scroll name="What was done to files">
      <table className="table surgery">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">Edit</th>
            <th scope="col">From byte</th>
            <th scope="col">Stood there</th>
            <th scope="col">Stands there</th>
          </tr>
        </thead>
        <tbody>
          {surgery.map((each, index) => (
            <tr
              // biome-ignore lint/suspicious/noArrayIndexKey: records keep their places
              key={index}
              data-undone={each.undone}
            >
              <td title={`before ${fileWords(each.before)}, after ${fileWords(each.after)}`}>
                node-{each.node} {each.path.split('/').at(-1)}
              </td>
              <td>
                {each.edit}
                {each.undone && ', taken back'}
              </td>
              <td className="n">{grouped(each.at)}</td>
              <td className="m">{short(each.from)}</td>
              <td className="m">{short(each.to)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <TableFoot name="edits of files" rows={surgery} columns={EDIT_COLUMNS} />
    </Scroll>
  )
}

const EDIT_COLUMNS: readonly ExportColumn<DrillRunAnswer['surgery'][number]>[] = [
  { id: 'node', data: edit => edit.node },
  { id: 'path', data: edit => edit.path },
  { id: 'edit', data: edit => edit.edit },
  { id: 'undone', data: edit => edit.undone },
  { id: 'fromByte', data: edit => edit.at },
  { id: 'stoodThereHex', data: edit => edit.from },
  { id: 'standsThereHex', data: edit => edit.to },
  { id: 'bytesBefore', data: edit => edit.before?.bytes },
  { id: 'xxh3Before', data: edit => edit.before?.hash },
  { id: 'bytesAfter', data: edit => edit.after?.bytes },
  { id: 'xxh3After', data: edit => edit.after?.hash },
]

const fileWords = (file: DrillRunAnswer['surgery'][number]['before']): string =>
  file === null ? 'no file' : `${grouped(file.bytes)} bytes, XXH3 ${file.hash}`

const short = (hex: string): string => (hex === '' ? 'nothing' : hex.length > 16 ? `${hex.slice(0, 16)}…` : hex)
