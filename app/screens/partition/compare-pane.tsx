/** The logs of all nodes beside each other, from the beginning of the segment to the first batch and byte that differ. */
import { useEffect, useState } from 'react'
import { chainDifference, type DifferenceKind } from '../../geometry/difference.ts'
import { Age } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bytes, count, grouped } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { VERDICTS } from './chain-picture.tsx'
import { type ByteDifference, type ComparedSoFar, compareSegment, readsOf } from './compare.ts'
import type { PartitionScreenState } from './use-partition.ts'

export const DIFFERENCES: Readonly<Record<DifferenceKind, string>> = {
  place: 'Another batch stands there',
  checksum: 'The same place holds other bytes, and each copy agrees with its own checksum',
  verdict: 'A copy does not agree with its own checksum',
  unreadable: 'A copy has nothing that is a batch from there on',
}

export function ComparePane({ state }: { state: PartitionScreenState }) {
  const { at, segment, chains, ids, alive } = state
  const base = segment?.startOffset
  const answering = chains.filter(({ node }) => alive.includes(node))
  const holders = answering
    .filter(({ data }) => data?.segments.some(({ startOffset }) => startOffset === base))
    .map(({ node }) => node)
  const nodes = holders.join(' ')
  const [round, setRound] = useState(0)
  const [sofar, setSofar] = useState<ComparedSoFar>()
  const [error, setError] = useState<unknown>()
  const { stream, topic, partition } = at
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round is the wish to ask again
  useEffect(() => {
    const asked = nodes === '' ? [] : nodes.split(' ').map(Number)
    if (base === undefined || asked.length < 2) return
    const stop = new AbortController()
    setSofar(undefined)
    setError(undefined)
    compareSegment(readsOf({ stream, topic, partition }, base, stop.signal), asked, Date.now, found => {
      if (!stop.signal.aborted) setSofar(found)
    }).then(
      found => stop.signal.aborted || setSofar(found),
      (problem: unknown) => stop.signal.aborted || setError(problem),
    )
    return () => stop.abort()
  }, [stream, topic, partition, base, nodes, round])

  const chain = chainDifference(
    answering.flatMap(({ node, data }) => (data ? [{ node, segments: data.segments }] : [])),
  )
  const absent = ids.filter(id => !alive.includes(id))
  const longest = Math.max(
    0,
    ...answering.map(({ data }) => data?.segments.find(({ startOffset }) => startOffset === base)?.sizeBytes ?? 0),
  )
  return (
    <Pane
      title="Logs compared"
      label={base === undefined ? undefined : `segment ${grouped(base)}, ${names(holders)}`}
      testId="compare"
      actions={
        <span className="push row">
          {sofar && <Age atMs={sofar.atMs} by={count(sofar.nodes.length, 'node')} />}
          <button type="button" className="btn small" onClick={() => setRound(round + 1)}>
            Again
          </button>
        </span>
      }
    >
      <Scroll name="What the comparison found">
        {chain && (
          <p className="note" data-testid="chain-difference">
            <span className="differs" />
            {chain.kind === 'absent'
              ? `${names(chain.nodes)} has no segment ${grouped(chain.startOffset)}, which others have: removed there, or not there yet.`
              : `Sealed segment ${grouped(chain.startOffset)} is shorter on ${names(chain.nodes)}: sealed copies are equal to the byte.`}
          </p>
        )}
        {absent.length > 0 && <p className="note">{names(absent)} cannot be asked: nothing is said of its log.</p>}
        {holders.length < 2 && (
          <p className="note">
            {holders.length === 0 ? 'No node shows this segment.' : `Only ${names(holders)} holds this segment.`} There
            is nothing to compare it with.
          </p>
        )}
        {error !== undefined && (
          <Problem error={error} what="The comparison ended early" retry={() => setRound(round + 1)} />
        )}
        {holders.length > 1 && error === undefined && !sofar && <Skeleton what="the comparison" rows={4} />}
        {sofar && error === undefined && <Found sofar={sofar} longest={longest} state={state} />}
      </Scroll>
    </Pane>
  )
}

const names = (nodes: readonly number[]): string => nodes.map(id => `node-${id}`).join(', ')

function Found({ sofar, longest, state }: { sofar: ComparedSoFar; longest: number; state: PartitionScreenState }) {
  const { difference, byte } = sofar
  const { change, segment } = state
  return (
    <>
      <p className="note" data-testid="compared">
        {difference ? (
          <>
            <Glyph name="fail" state="danger" />{' '}
            <b>First difference at byte {grouped(byte?.positionBytes ?? difference.positionBytes)}.</b>{' '}
            {DIFFERENCES[difference.kind]}. Before it {count(sofar.equalBatches, 'batch is', 'batches are')} alike,{' '}
            {bytes(sofar.equalBytes)}.
          </>
        ) : (
          <>
            <Glyph name={sofar.state === 'done' ? 'ok' : 'change'} state={sofar.state === 'done' ? 'ok' : 'change'} />{' '}
            <b>
              {sofar.state === 'done' ? 'No difference' : 'No difference so far'} in{' '}
              {count(sofar.equalBatches, 'batch', 'batches')}, {bytes(sofar.equalBytes)}.
            </b>{' '}
            {sofar.state === 'running' ? `${grouped(longest)} are to be compared.` : endWords(sofar)}
          </>
        )}
      </p>
      {difference && (
        <DataTable
          name="copies of the batch"
          rows={difference.cells}
          rowKey={({ node }) => String(node)}
          rowData={({ node }) => ({ 'data-testid': `differs-${node}` })}
          empty="No node holds it."
          columns={[
            {
              id: 'node',
              head: 'Node',
              names: true,
              data: ({ node }) => node,
              cell: ({ node }) => (
                <button
                  type="button"
                  className="link"
                  onClick={() =>
                    change({
                      node: String(node),
                      seg: segment?.startOffset,
                      batch: String(difference.positionBytes),
                      from: String(Math.max(0, difference.positionBytes - state.lens.span / 2)),
                      offset: undefined,
                    })
                  }
                >
                  node-{node}
                </button>
              ),
            },
            {
              id: 'baseOffset',
              head: 'base offset',
              align: 'n',
              data: ({ batch }) => batch && BigInt(batch.baseOffset),
              cell: ({ batch }) => (batch ? grouped(batch.baseOffset) : 'none'),
            },
            { id: 'messages', head: 'messages', align: 'n', data: ({ batch }) => batch?.messages },
            { id: 'bytes', head: 'bytes', align: 'n', data: ({ batch }) => batch?.lengthBytes },
            { id: 'checksum', head: 'Checksum', align: 'm', data: ({ batch }) => batch?.checksum },
            {
              id: 'verdict',
              head: 'Verdict',
              data: ({ batch }) => batch?.verdict,
              cell: ({ batch }) =>
                batch
                  ? VERDICTS[batch.verdict as keyof typeof VERDICTS]
                  : difference.kind === 'unreadable'
                    ? 'nothing that is a batch'
                    : 'its log has ended',
            },
          ]}
        />
      )}
      {byte && <ByteRows byte={byte} />}
    </>
  )
}

/** One log may go on alone: what it has more is behind nobody's back, but nobody can say that it is alike. */
function endWords({ ended, nodes }: ComparedSoFar): string {
  const last = Math.max(0, ...ended.map(({ atBytes }) => atBytes))
  const shorter = ended.filter(({ atBytes }) => atBytes < last)
  const open = nodes.filter(node => !ended.some(end => end.node === node))
  if (open.length > 0)
    return `${names(open)} goes on alone; ${ended.map(({ node, atBytes }) => `node-${node} ends at byte ${grouped(atBytes)}`).join(', ')}.`
  if (shorter.length === 0) return 'All end at the same byte.'
  return shorter
    .map(({ node, atBytes }) => `node-${node} ends at byte ${grouped(atBytes)}`)
    .join(', ')
    .concat('.')
}

const pair = (value: number): string => value.toString(16).padStart(2, '0')

/** The bytes around the first difference, one row a node: what no checksum could say, the copies say together. */
function ByteRows({ byte }: { byte: ByteDifference }) {
  return (
    <div className="hex byte-rows" data-testid="byte-rows">
      {byte.rows.map(({ node, fromBytes, bytes: held }) => (
        <div key={node} className="hx">
          <span className="addr">
            node-{node} {fromBytes.toString(16).padStart(8, '0')}
          </span>
          <span>
            {[...held].map((value, index) => {
              const differs = byte.rows.some(other => other.bytes[index] !== value)
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: the place of a byte is what it is
                <span key={index}> {differs ? <u className="bad">{pair(value)}</u> : pair(value)}</span>
              )
            })}
          </span>
        </div>
      ))}
    </div>
  )
}
