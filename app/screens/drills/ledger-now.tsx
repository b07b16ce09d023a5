/** The ledger of the clients of a run: each acknowledged offset is a cell, and full once it was read back. */
import type { DrillReplay } from '../../../shared/inspection/drills.ts'
import { count, grouped } from '../../ui/format.ts'
import { type LedgerOf, ledgersAt } from './ledger.ts'

/** More cells than this say no more. */
const CELLS_MAX = 400

export function LedgerNow({ replay, at }: { replay: DrillReplay; at: number }) {
  const ledgers = ledgersAt(replay.told, at)
  if (replay.told.length === 0) return null
  return (
    <div className="replay-files" data-testid="replay-ledger">
      <div className="replay-bar">
        <h3>Client ledger</h3>
        <span className="label">each cell an acknowledged offset by now, full when it was read back</span>
      </div>
      {ledgers.length === 0 ? (
        <p className="drill-prose">Nothing was acknowledged yet.</p>
      ) : (
        ledgers.map(ledger => <Ledger key={ledger.partition} ledger={ledger} />)
      )}
    </div>
  )
}

function Ledger({ ledger: { partition, acked } }: { ledger: LedgerOf }) {
  const readBack = acked.filter(each => each.readBack).length
  return (
    <div className="drill-prose">
      <p>
        <span className="num">{partition}</span>: {grouped(acked.length)} acknowledged, {grouped(readBack)} of them read
        back
        {acked.length > CELLS_MAX && `; the last ${count(CELLS_MAX, 'cell')} are drawn`}
      </p>
      <div className="ledger-cells" aria-hidden="true">
        {acked.slice(-CELLS_MAX).map(({ offset, readBack: full }, index, cells) => (
          <span
            key={offset.toString()}
            data-full={full}
            data-gap={index > 0 && cells[index - 1]!.offset + 1n !== offset}
            title={`${grouped(offset)}${full ? ', read back' : ''}`}
          />
        ))}
      </div>
    </div>
  )
}
