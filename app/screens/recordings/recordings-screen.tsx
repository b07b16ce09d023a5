/** What was recorded: open it, take it away, remove it; and bundles of other people, opened here and sent nowhere. */
import { useQuery } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import type { RecordingInfo, RecordingsAnswer } from '../../../shared/inspection/recording.ts'
import { useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { DELETE_KEY, deleteRecording, recordingsQuery } from '../../data/recordings.ts'
import { asOf, connection, shown } from '../../data/store.ts'
import { addressOf } from '../../data/time.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age } from '../../ui/age.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bytesShort, clock, count, duration, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Now } from '../../ui/now.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import type { ExportColumn } from '../../ui/table-export.tsx'
import './recordings.css'

const HOUR_MS = 3_600_000

export default function RecordingsScreen() {
  const { data, error, refetch } = useQuery(recordingsQuery())
  return (
    <div className="screen recs">
      <Lead answer={data} />
      <header className="screen-head">
        <h1 className="title">Recordings</h1>
        <span className="label wrap">
          Each run of this console, newest first. A recording is watched on the same screens as the cluster.
        </span>
      </header>
      {error && !data && (
        <Problem error={error} what="The recordings could not be read." retry={() => void refetch()} />
      )}
      {!data && !error && <Skeleton what="the recordings" rows={5} />}
      {data && <List answer={data} />}
      <FilePane />
    </div>
  )
}

function Lead(props: { answer: RecordingsAnswer | undefined }) {
  const { answer } = props
  const active = answer?.recordings.find(item => item.active)
  const past = useCell(asOf)
  const link = useCell(connection)
  const run = useCell(shown, state => state.view.run)
  if (!answer) return null
  const open = link.state === 'recorded' && link.problem === undefined
  const next = open
    ? 'Step through it, or go live.'
    : 'Open one below: it is watched on the same screens, and nothing in it can be changed.'
  return (
    <Now
      words={{
        tone: active?.problem ? 'bad' : 'plain',
        glyph: active?.problem ? 'fail' : open ? 'pause' : 'ok',
        colour: active?.problem ? 'danger' : 'ok',
        label: run === undefined ? 'Recordings' : `Run ${run}`,
        what: open
          ? `A recording of ${visible(link.name)} is open.`
          : active?.problem
            ? 'This run is not recorded any more.'
            : active
              ? 'This run is being recorded.'
              : 'This console records nothing.',
        why: active?.problem
          ? visible(active.problem.message)
          : active
            ? `${duration(active.toMs - active.fromMs)} and ${bytesShort(active.bytes)} so far. A run keeps ${bytesShort(answer.limits.runBytes)}, then its oldest part goes; all keep ${bytesShort(answer.limits.allBytes)} and ${Math.round(answer.limits.ageMs / HOUR_MS / 24)} days.`
            : 'It was started without a directory for recordings.',
        next: past ? `The moment that is shown is event ${addressOf(past)}. ${next}` : next,
      }}
    />
  )
}

function List(props: { answer: RecordingsAnswer }) {
  const { recordings, bytes, directory, takenWallUs } = props.answer
  const forbidden = useForbidden()
  const open = new URLSearchParams(location.search).get('rec')
  return (
    <Pane
      title="Kept by this console"
      label={`${count(recordings.length, 'recording')}, ${bytesShort(bytes)}`}
      actions={<Age atMs={Number(takenWallUs) / 1000} by="console" />}
      testId="recordings"
    >
      <DataTable
        name="recordings"
        className="recordings"
        rows={recordings}
        rowKey={item => item.id}
        rowClass={item => (item.id === open ? 'open' : undefined)}
        rowData={item => ({ 'data-testid': 'recording', 'data-run': item.id, 'data-active': item.active })}
        empty="Nothing was recorded yet. The first line is written when the first node is heard."
        fileColumns={FILE_COLUMNS}
        columns={[
          {
            id: 'from',
            head: 'From',
            names: true,
            cell: item => (
              <span className="num">
                {item.parts > 0 ? momentOf(item) : <span className="ink-3">run {item.id}</span>}
              </span>
            ),
          },
          {
            id: 'length',
            head: 'Length',
            align: 'n',
            cell: item => (item.parts > 0 ? duration(item.toMs - item.fromMs) : ''),
          },
          {
            id: 'cluster',
            head: 'Cluster',
            cell: item => (item.name === '' ? '' : `${visible(item.name)}, ${count(item.replicaCount, 'node')}`),
          },
          { id: 'size', head: 'Size', align: 'n', cell: item => bytesShort(item.bytes) },
          { id: 'state', head: 'State', cell: item => <StateOf item={item} /> },
          {
            id: 'open',
            head: 'Open',
            // Another source is another page: nothing of the one before may stay.
            cell: item =>
              item.parts > 0 && <a href={`/cluster?rec=${item.id}`}>{item.id === open ? 'Open now' : 'Open'}</a>,
          },
          { id: 'take', head: 'Take away', cell: item => item.parts > 0 && <TakeAway item={item} /> },
          {
            id: 'remove',
            head: <span className="sr">Remove</span>,
            cell: item => (
              <ActButton
                name={`Delete the recording of ${momentOf(item)}`}
                pendingKey={DELETE_KEY}
                onAct={() => void deleteRecording(item.id, `of ${momentOf(item)}`)}
                why={forbidden ?? (item.active ? 'It is being written.' : undefined)}
                className="btn small destructive"
              >
                Delete
              </ActButton>
            ),
          },
        ]}
      />
      {directory !== null && <p className="foot label">in {visible(directory)}</p>}
    </Pane>
  )
}

const FILE_COLUMNS: readonly ExportColumn<RecordingInfo>[] = [
  { id: 'run', data: item => item.id },
  { id: 'cluster', data: item => item.name },
  { id: 'nodes', data: item => item.replicaCount },
  { id: 'fromMs', data: item => item.fromMs },
  { id: 'toMs', data: item => item.toMs },
  { id: 'bytes', data: item => item.bytes },
  { id: 'parts', data: item => item.parts },
  { id: 'active', data: item => item.active },
  { id: 'beginningGone', data: item => item.beginningGone },
  { id: 'tornBytes', data: item => item.tornBytes },
  { id: 'problem', data: item => item.problem?.code },
]

const dayOf = (ms: number): string => new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })

const momentOf = (item: RecordingInfo): string => `${dayOf(item.fromMs)} ${clock(item.fromMs)}`

function TakeAway({ item }: { item: RecordingInfo }) {
  const base = `/api/recordings/${item.id}`
  return (
    <span className="row">
      <a href={`${base}/bundle.zip`} download title="Everything as one file, to be opened on any console">
        Bundle
      </a>
      <a href={`${base}/trace.json`} download title="For about:tracing and Perfetto">
        Trace
      </a>
      <a href={`${base}/events.ndjson`} download title="One JSON text a line">
        JSON
      </a>
      <CopyButton
        icon
        label="Copy as command"
        text={`curl -sS -o ${item.id}.zip '${location.origin}${base}/bundle.zip'`}
      />
    </span>
  )
}

function StateOf({ item }: { item: RecordingInfo }) {
  if (item.problem)
    return (
      <span title={visible(item.problem.message)}>
        <Glyph name="fail" state="danger" />{' '}
        {item.active
          ? 'stopped'
          : item.problem.code === 'CON_RECORDING_NEWER'
            ? 'of a later version'
            : item.parts > 0
              ? 'damaged in places, which are gaps'
              : 'damaged'}
        : <code>{item.problem.code}</code>
      </span>
    )
  const notes = [
    ...(item.beginningGone ? ['its beginning is gone'] : []),
    ...(item.tornBytes > 0 ? [`its last ${bytesShort(item.tornBytes)} are torn`] : []),
  ]
  return (
    <span>
      <Glyph name={item.active ? 'play' : 'ok'} state={item.active ? 'primary' : 'ok'} />{' '}
      {item.active ? 'being written' : 'whole'}
      {notes.length > 0 && `, but ${notes.join(', ')}`}
    </span>
  )
}

type FileState =
  | { readonly kind: 'none' }
  | { readonly kind: 'reading'; readonly name: string }
  | {
      readonly kind: 'refused'
      readonly name: string
      readonly code: string
      readonly message: string
      readonly advice: string
    }

/** A bundle from elsewhere: it is looked through before anything of it is shown. */
function FilePane() {
  const [state, setState] = useState<FileState>({ kind: 'none' })
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const open = async (file: File): Promise<void> => {
    setState({ kind: 'reading', name: file.name })
    const [{ shelve }, { RecordingError }] = await Promise.all([
      import('../../data/recorded.ts'),
      import('../../../shared/inspection/recording.ts'),
    ])
    try {
      const name = await shelve(file)
      location.assign(`/cluster?rec=${name}`)
    } catch (error) {
      const known = error instanceof RecordingError ? error : undefined
      setState({
        kind: 'refused',
        name: file.name,
        code: known?.code ?? 'CON_RECORDING_DAMAGED',
        message: known?.message ?? String(error),
        advice: known?.advice ?? 'Try another file.',
      })
    }
  }
  return (
    <Pane title="From a file" label="a bundle that was exported here or elsewhere" testId="open-file">
      <section
        className="drop"
        aria-label="Open a bundle"
        onDragOver={event => event.preventDefault()}
        onDrop={event => {
          event.preventDefault()
          const file = event.dataTransfer.files[0]
          if (file) void open(file)
        }}
      >
        <input
          ref={input}
          id={id}
          className="sr"
          type="file"
          accept=".zip,application/zip"
          tabIndex={-1}
          aria-label="Bundle"
          onChange={event => {
            const file = event.target.files?.[0]
            if (file) void open(file)
          }}
        />
        <button type="button" className="btn" onClick={() => input.current?.click()}>
          Choose a bundle
        </button>
        <span className="ink-2">
          {state.kind === 'reading'
            ? `Looking through ${visible(state.name)}.`
            : 'or drop one here. It is opened in this browser, read-only, and sent nowhere.'}
        </span>
      </section>
      {state.kind === 'refused' && (
        <p className="verdict fail small" role="alert" data-testid="file-refused" data-code={state.code}>
          <b>{visible(state.name)} is not opened.</b> {visible(state.message)} {state.advice} <code>{state.code}</code>
        </p>
      )}
    </Pane>
  )
}
