/** Ratios of pairs with their spread: a dot for each pair, a bar over the 95 % interval, a tick at the median; 1 is marked. */
import { type Ratios, scaleEnd } from './figures.ts'

export function RatioStrip({ all }: { all: readonly Ratios[] }) {
  const end = scaleEnd(all)
  const x = (value: number): string => `${(value / end) * 100}%`
  return (
    <div
      className="ratios"
      role="img"
      aria-label={all
        .map(
          item =>
            `${item.name}: ${item.ratio}, 95 % from ${item.interval[0]} to ${item.interval[1]}, ${item.ratios.length} pairs`,
        )
        .join('; ')}
    >
      {all.map(item => (
        <div key={item.name} className="ratio-row">
          <span>{item.name}</span>
          <span className="ratio-line">
            <i className="one" style={{ left: x(1) }} />
            <i className="band" style={{ left: x(item.interval[0]), width: x(item.interval[1] - item.interval[0]) }} />
            {item.ratios.map((value, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: pairs are known by their place alone
              <i key={index} className="pair" style={{ left: x(value) }} />
            ))}
            <i className="median" style={{ left: x(item.ratio) }} />
          </span>
          <span className="num">
            {item.ratio}{' '}
            <span className="ink-3">
              ({item.interval[0]} to {item.interval[1]})
            </span>
          </span>
        </div>
      ))}
      <div className="ratio-row label" aria-hidden="true">
        <span />
        <span className="ratio-line axis">
          <span style={{ left: x(1) }}>1</span>
        </span>
        <span>ratio (95 %)</span>
      </div>
    </div>
  )
}
