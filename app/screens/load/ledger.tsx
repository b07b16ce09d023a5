/** The ledger of a load: what was sent, acknowledged, read back, lost; and the verdict that was read from the log. */
import type { LoadState } from '../../../shared/inspection/api.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { Age } from '../../ui/age.tsx'
import { duration, grouped, groupedDigits, visible } from '../../ui/format.ts'
import { Glyph, type GlyphName, type StateColour } from '../../ui/glyph.tsx'

export function Ledger({ load }: { load: LoadState }) {
  const { ledger } = load
  const said = groupedDigits(load.verdict.words)
  const found = ledger.unknownFound > 0 ? `, ${grouped(ledger.unknownFound)} found stored` : ''
  return (
    <>
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
      <p className="load-verdict" data-testid="load-verdict" data-verdict={load.verdict.kind} title={said}>
        {load.verdict.kind !== 'none' && <Glyph {...VERDICTS[load.verdict.kind]} />}
        <span className="ink-1">{said}</span>
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
