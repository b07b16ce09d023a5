/** Steady load through the real client protocol, with its ledger: what was sent, acknowledged, read back, lost. */
import { lazy, Suspense, useState } from 'react'
import { type LoadState, loadSettings, type TopicPolicy } from '../../../shared/inspection/api.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { actOnLoad, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { shown } from '../../data/store.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age } from '../../ui/age.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { count, duration, grouped, visible } from '../../ui/format.ts'
import { Glyph, type GlyphName, type StateColour } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Skeleton } from '../../ui/problem.tsx'
import { Segmented } from '../../ui/segmented.tsx'

const LoadChart = lazy(() => import('./load-chart.tsx'))

const DEFAULTS = loadSettings.parse({})
const BUSY = new Set<LoadState['state']>(['starting', 'running', 'stopping', 'verifying'])

export function LoadPane() {
  const load = useCell(shown, state => state.view.load)
  const busy = load !== undefined && BUSY.has(load.state)
  const [rate, setRate] = useState(String(DEFAULTS.ratePerSecond))
  const [batch, setBatch] = useState(String(DEFAULTS.batchMessages))
  const [policy, setPolicy] = useState<TopicPolicy>('default')
  const asked = {
    ratePerSecond: Number(rate),
    batchMessages: Number(batch),
    policy,
    topic: policy === 'eager' ? 'eager' : DEFAULTS.topic,
  }
  const valid = loadSettings.safeParse(asked)
  return (
    <Pane
      title="Load"
      label={labelOf(load)}
      className="p-load"
      testId="load"
      actions={
        <>
          <CopyButton text={loadCommand(busy, asked)} label="Copy as command" icon className="iconbtn small push" />
          <LoadAct load={load} busy={busy} settings={valid.success ? valid.data : undefined} />
        </>
      }
    >
      <div className="loadbody">
        {!load || load.state === 'idle' ? (
          <div className="empty" data-testid="load-empty">
            <p>
              <b>No load yet.</b> It creates the topic <code>load/steady</code> with three partitions, writes through
              the client protocol from four connections, and reads every acknowledged message back.
            </p>
          </div>
        ) : (
          <Running load={load} />
        )}
        {!busy && (
          <div className="row load-form">
            <NumberField
              name="messages a second"
              label="msg/s"
              value={rate}
              onChange={setRate}
              invalid={!inRange(rate, 1, 1_000_000)}
            />
            <NumberField
              name="messages in a batch"
              label="batch"
              value={batch}
              onChange={setBatch}
              invalid={!inRange(batch, 1, 1000)}
            />
            <Segmented
              name="Acknowledged"
              value={policy}
              onChange={setPolicy}
              options={[
                { value: 'default', label: 'by memory', title: 'Acknowledged once a majority holds it in memory' },
                { value: 'eager', label: 'on disk', title: 'Acknowledged once it is on disk (enforce_fsync)' },
              ]}
            />
          </div>
        )}
      </div>
    </Pane>
  )
}

/** The same request as a line of shell. */
function loadCommand(busy: boolean, settings: object): string {
  const body = JSON.stringify(busy ? { action: 'stop' } : { action: 'start', settings })
  return `curl -X POST -H "authorization: Bearer $QUORUMSCOPE_TOKEN" -H "idempotency-key: $(date +%s%N)" -H 'content-type: application/json' -d '${body}' ${location.origin}/api/load`
}

const inRange = (text: string, least: number, most: number): boolean =>
  /^\d{1,7}$/.test(text) && Number(text) >= least && Number(text) <= most

function labelOf(load: LoadState | undefined): string {
  const settings = load?.settings
  if (!load || load.state === 'idle' || !settings) return 'not running'
  return `${grouped(settings.ratePerSecond)} msg/s asked over ${count(load.partitions.length || settings.partitions, 'partition')} of ${visible(settings.stream)}/${visible(settings.topic)}, ${load.state}`
}

function LoadAct(props: {
  load: LoadState | undefined
  busy: boolean
  settings: ReturnType<typeof loadSettings.parse> | undefined
}) {
  const forbidden = useForbidden()
  const state = props.load?.state
  if (props.busy) {
    return (
      <ActButton
        name="Stop load"
        pendingKey={['load']}
        onAct={() => void actOnLoad({ action: 'stop' })}
        why={
          forbidden ??
          (state === 'stopping' || state === 'verifying'
            ? 'It has stopped sending and reads back what was acknowledged.'
            : undefined)
        }
        className="btn small"
        testId="load-stop"
      >
        <Glyph name="pause" />
        {state === 'verifying' ? 'Reading back' : state === 'stopping' ? 'Stopping' : 'Stop load'}
      </ActButton>
    )
  }
  return (
    <ActButton
      name="Start load"
      pendingKey={['load']}
      onAct={() => {
        if (props.settings) void actOnLoad({ action: 'start', settings: props.settings })
      }}
      why={forbidden ?? (props.settings ? undefined : 'A field is out of its range.')}
      className="btn small main-act"
      testId="load-start"
    >
      <Glyph name="play" />
      Start load
    </ActButton>
  )
}

function NumberField(props: {
  name: string
  label: string
  value: string
  onChange: (value: string) => void
  invalid: boolean
}) {
  return (
    <label className="field" data-invalid={props.invalid}>
      <span className="label">{props.label}</span>
      <input
        aria-label={props.name}
        aria-invalid={props.invalid}
        inputMode="numeric"
        size={7}
        value={props.value}
        onChange={event => props.onChange(event.target.value)}
      />
    </label>
  )
}

function Running({ load }: { load: LoadState }) {
  const { ledger } = load
  const found = ledger.unknownFound > 0 ? `, ${grouped(ledger.unknownFound)} found stored` : ''
  return (
    <>
      <Suspense fallback={<Skeleton what="the chart" rows={3} />}>
        <LoadChart load={load} />
      </Suspense>
      <div className="figures" data-testid="ledger">
        <Figure name="sent" value={ledger.sent} />
        <Figure name="acked" value={ledger.acked} />
        <Figure
          name="unknown"
          value={ledger.unknown}
          glyph="unknown"
          colour="none"
          title={`may or may not be stored${found}`}
        />
        <Figure name="refused" value={ledger.refused} />
        <Figure name="read back" value={ledger.readBack} />
        <Figure name="lost" value={ledger.lost} {...verdictOf(ledger.lost)} />
        <Figure name="duplicate" value={ledger.duplicate} {...verdictOf(ledger.duplicate)} />
      </div>
      <p
        className="load-verdict"
        data-testid="load-verdict"
        data-verdict={load.verdict.kind}
        title={load.verdict.words}
      >
        {load.verdict.kind !== 'none' && <Glyph {...VERDICTS[load.verdict.kind]} />}
        <span className="ink-1">{load.verdict.words}</span>
      </p>
      <p className="load-more">
        <span>
          {load.latency
            ? `p50 ${duration(load.latency.p50)}, p99 ${duration(load.latency.p99)}, max ${duration(load.latency.max)}`
            : 'no acknowledgement yet'}
        </span>
        {load.lastError && msOf(load.takenWallUs) - msOf(load.lastError.atWallUs) < REFUSAL_SHOWN_MS && (
          <span className="ellipsis" title={visible(load.lastError.message)}>
            last refusal <code>{load.lastError.code}</code> <Age atMs={msOf(load.lastError.atWallUs)} />
          </span>
        )}
        <Age atMs={msOf(load.takenWallUs)} by="load client" push />
      </p>
    </>
  )
}

/** A refusal explains a dent in the chart while the dent is there. */
const REFUSAL_SHOWN_MS = 60_000
const VERDICTS: Readonly<
  Record<Exclude<LoadState['verdict']['kind'], 'none'>, { name: GlyphName; state: StateColour }>
> = {
  nothing_lost: { name: 'ok', state: 'ok' },
  not_all_read: { name: 'prepared', state: 'none' },
  lost: { name: 'fail', state: 'danger' },
  duplicate: { name: 'fail', state: 'danger' },
  corrupt: { name: 'fail', state: 'danger' },
}

const verdictOf = (wrong: number): { glyph: GlyphName; colour: StateColour } =>
  wrong === 0 ? { glyph: 'ok', colour: 'ok' } : { glyph: 'fail', colour: 'danger' }

function Figure(props: { name: string; value: number; glyph?: GlyphName; colour?: StateColour; title?: string }) {
  return (
    <div className="figure mid" title={props.title}>
      <span className="label">{props.name}</span>
      <b data-testid={`ledger-${props.name.replace(' ', '-')}`} data-value={props.value}>
        {props.glyph && <Glyph name={props.glyph} {...(props.colour ? { state: props.colour } : {})} />}{' '}
        {grouped(props.value)}
      </b>
    </div>
  )
}
