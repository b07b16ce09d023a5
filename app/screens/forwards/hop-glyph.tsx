import type { ForwardChain } from '../../../shared/inspection/forwards.ts'

const STEP = 46
const RADIUS = 8

/** A row's picture: filled where the write entered, ringed where it was sent, dashed when no answer came back. */
export function HopGlyph(props: { chain: ForwardChain; nodes: readonly number[] }) {
  const { chain } = props
  // Before the nodes are known, the two ends are.
  const nodes = [...new Set([...props.nodes, chain.origin, chain.primary])].sort((a, b) => a - b)
  const x = (node: number): number => 12 + nodes.indexOf(node) * STEP
  const right = x(chain.primary) > x(chain.origin)
  const from = x(chain.origin) + (right ? RADIUS + 1 : -RADIUS - 1)
  const to = x(chain.primary) + (right ? -RADIUS - 3 : RADIUS + 3)
  const lost = chain.state === 'unknown' || chain.state === 'waiting'
  const width = 24 + (nodes.length - 1) * STEP
  return (
    <svg
      viewBox={`0 0 ${width} 22`}
      width={width}
      height="22"
      role="img"
      aria-label={`node-${chain.origin} to node-${chain.primary}`}
    >
      {/* behind the nodes that it passes */}
      <path d={`M${from} 11H${to}`} className={`hop${lost ? ' lost' : ''}`} />
      {nodes
        .filter(node => node !== chain.origin && node !== chain.primary)
        .map(node => (
          <g key={node}>
            <circle cx={x(node)} cy="11" r={RADIUS} className="hop-idle" />
            <text className="d s l" x={x(node)} y="15" textAnchor="middle">
              {node}
            </text>
          </g>
        ))}
      <path
        d={right ? `M${to - 5} 7.5 ${to + 1} 11 ${to - 5} 14.5` : `M${to + 5} 7.5 ${to - 1} 11 ${to + 5} 14.5`}
        className="hop"
      />
      <circle cx={x(chain.origin)} cy="11" r={RADIUS} className="hop-from" />
      <text className="d s inv" x={x(chain.origin)} y="15" textAnchor="middle">
        {chain.origin}
      </text>
      <circle cx={x(chain.primary)} cy="11" r={RADIUS} className="hop-to" />
      <text className="d s k" x={x(chain.primary)} y="15" textAnchor="middle">
        {chain.primary}
      </text>
    </svg>
  )
}
