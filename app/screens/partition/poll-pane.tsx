/**
 * Messages as a client gets them: polled by hand through the node that is looked through, which answers from what it knows
 * to be committed. Bytes stand before what they may mean; the address holds the question, so a reload asks it again.
 */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { fromHex } from '../../../shared/bytes/hex.ts'
import { POLL_COUNT_MAX, type PollStrategyName, pollStrategy } from '../../../shared/inspection/polls.ts'
import { type PollQuestion, queries } from '../../data/queries.ts'
import { Age } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { asText } from '../../ui/fields.ts'
import { timestamp, wallMs } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { microsOf, polledWords, questionOf } from './poll.ts'
import type { PartitionScreenState } from './use-partition.ts'
import { WriteForm } from './write-form.tsx'

const NAMES: Readonly<Record<PollStrategyName, string>> = {
  offset: 'Offset',
  timestamp: 'Time',
  first: 'First',
  last: 'Last',
  next: 'Next',
}
/** Bytes of a payload in a cell. */
const CELL_BYTES = 8

export function PollPane({ state }: { state: PartitionScreenState }) {
  const { search, change, node, at } = state
  const question = questionOf(search)
  const answer = useQuery(queries.messages(node, at, question))
  const { data } = answer
  const rows = useMemo(
    () => (data?.messages ?? []).map(message => ({ ...message, payload: fromHex(message.payloadHex) })),
    [data],
  )
  const last = rows.at(-1)
  /** A message opens beside the list, and under the lens where it lies on the disk. */
  const open = (offset: string): void =>
    change({
      msg: offset,
      offset,
      seg: undefined,
      batch: undefined,
      from: undefined,
      field: undefined,
      byte: undefined,
    })
  const turn = (from: bigint): void =>
    change({ by: 'offset', value: (from < 0n ? 0n : from).toString(), msg: undefined })
  return (
    <Pane
      title="Messages polled"
      label={`as a client of node-${node} gets them`}
      testId="poll"
      actions={
        data && (
          <span className="push">
            <Age atMs={wallMs(data.takenWallUs)} by={`node-${data.servedBy}`} />
          </span>
        )
      }
    >
      <PollForm
        key={JSON.stringify(question)}
        question={question}
        busy={answer.isFetching}
        onAsk={asked => {
          if (JSON.stringify(asked) === JSON.stringify(question)) void answer.refetch()
          else
            change({
              by: asked.by,
              value: asked.by === 'offset' || asked.by === 'timestamp' ? asked.value : undefined,
              count: String(asked.count),
              consumer: asked.consumer === '0' ? undefined : asked.consumer,
              msg: undefined,
            })
        }}
      />
      {answer.isPending && <Skeleton what="messages" rows={4} />}
      {answer.error && (
        <Problem
          error={answer.error}
          what={`Nothing could be polled through node-${node}`}
          retry={() => void answer.refetch()}
        />
      )}
      {data && !answer.error && (
        <>
          <p className="note" data-testid="polled-words">
            {polledWords(question, data)}
          </p>
          {rows.length > 0 && (
            <div className="polled">
              <DataTable
                name="polled messages"
                testId="polled"
                rows={rows}
                rowKey={row => row.offset}
                selected={search.msg}
                onSelect={row => open(row.offset)}
                empty="No message."
                columns={[
                  { id: 'offset', head: 'offset', align: 'n', data: row => BigInt(row.offset) },
                  { id: 'bytes', head: 'bytes', align: 'n', data: row => row.payloadBytes },
                  {
                    id: 'payload',
                    head: 'Payload',
                    align: 'm',
                    cell: row => <span className="num">{firstBytes(row.payloadHex, row.payloadBytes)}</span>,
                  },
                  {
                    id: 'text',
                    head: 'As text',
                    cell: row => <span className="payload">{asText(row.payload, 60, row.payloadBytes)}</span>,
                  },
                  {
                    id: 'timestampUs',
                    head: 'Timestamp',
                    align: 'm',
                    cell: row => timestamp(row.timestampUs),
                  },
                ]}
                fileColumns={[
                  { id: 'offset', data: row => BigInt(row.offset) },
                  { id: 'bytes', data: row => row.payloadBytes },
                  { id: 'payloadHex', data: row => (row.payload.length === row.payloadBytes ? row.payloadHex : null) },
                  { id: 'userHeadersHex', data: row => row.headersHex },
                  { id: 'timestampUs', data: row => BigInt(row.timestampUs) },
                  { id: 'originTimestampUs', data: row => BigInt(row.originTimestampUs) },
                  { id: 'id', data: row => row.id },
                  { id: 'checksum', data: row => row.checksum },
                ]}
              />
            </div>
          )}
          <div className="row polled-turn">
            <button
              type="button"
              className="btn small"
              aria-disabled={rows[0] === undefined || rows[0].offset === '0'}
              onClick={() => rows[0] && turn(BigInt(rows[0].offset) - BigInt(question.count))}
            >
              <Glyph name="prev" />
              Before these
            </button>
            <button
              type="button"
              className="btn small"
              aria-disabled={last === undefined}
              onClick={() => last && turn(BigInt(last.offset) + 1n)}
            >
              After these
              <Glyph name="next" />
            </button>
          </div>
        </>
      )}
      <WriteForm state={state} />
    </Pane>
  )
}

/** Pairs of digits, as many as a cell has room for; nothing is nothing, and is said. */
function firstBytes(hex: string, whole: number): string {
  if (whole === 0) return 'no bytes'
  const pairs = hex.slice(0, CELL_BYTES * 2).match(/../g) ?? []
  return `${pairs.join(' ')}${whole > CELL_BYTES ? ' …' : ''}`
}

function PollForm(props: { question: PollQuestion; busy: boolean; onAsk: (question: PollQuestion) => void }) {
  const { question } = props
  const [by, setBy] = useState<PollStrategyName>(question.by)
  const [value, setValue] = useState(
    question.by === 'timestamp' ? timestamp(question.value) : question.by === 'offset' ? question.value : '',
  )
  const [count, setCount] = useState(String(question.count))
  const [consumer, setConsumer] = useState(question.consumer)
  const number =
    by === 'timestamp'
      ? microsOf(value)?.toString()
      : /^(0|[1-9][0-9]{0,19})$/.test(value.trim())
        ? value.trim()
        : undefined
  const needsValue = by === 'offset' || by === 'timestamp'
  const valueBad = needsValue && number === undefined
  const countBad = !(/^\d{1,3}$/.test(count) && Number(count) >= 1 && Number(count) <= POLL_COUNT_MAX)
  const consumerBad = by === 'next' && consumer.trim() === ''
  const why = valueBad
    ? by === 'offset'
      ? 'An offset is a whole number.'
      : 'A time is written as 2026-01-31 12:00:00.000000, or in microseconds since 1970.'
    : countBad
      ? `From 1 to ${POLL_COUNT_MAX} messages.`
      : consumerBad
        ? 'A consumer is a number or a name.'
        : undefined
  return (
    <form
      className="poll-form"
      aria-label="How to poll"
      onSubmit={event => {
        event.preventDefault()
        if (why === undefined)
          props.onAsk({ by, value: needsValue ? number! : '0', count: Number(count), consumer: consumer.trim() || '0' })
      }}
    >
      <Segmented
        name="Poll by"
        value={by}
        options={pollStrategy.options.map(strategy => ({ value: strategy, label: NAMES[strategy] }))}
        onChange={next => {
          setBy(next)
          if (next !== by) setValue('')
        }}
      />
      {needsValue && (
        <label className="field" data-invalid={valueBad && value !== ''}>
          <span className="label">{by === 'offset' ? 'from' : 'at or after'}</span>
          <input
            aria-label={by === 'offset' ? 'Offset to poll from' : 'Time to poll from'}
            aria-invalid={valueBad}
            size={by === 'offset' ? 10 : 22}
            value={value}
            onChange={event => setValue(event.target.value)}
          />
        </label>
      )}
      {by === 'next' && (
        <label className="field" data-invalid={consumerBad}>
          <span className="label">consumer</span>
          <input
            aria-label="Consumer, a number or a name"
            aria-invalid={consumerBad}
            size={8}
            maxLength={255}
            value={consumer}
            onChange={event => setConsumer(event.target.value)}
          />
        </label>
      )}
      <label className="field" data-invalid={countBad}>
        <span className="label">at most</span>
        <input
          aria-label="How many messages"
          aria-invalid={countBad}
          inputMode="numeric"
          size={3}
          value={count}
          onChange={event => setCount(event.target.value.trim())}
        />
      </label>
      <button type="submit" className="btn small" aria-disabled={why !== undefined} aria-busy={props.busy} title={why}>
        Poll
      </button>
      {why !== undefined && (valueBad ? value !== '' : true) && <p className="note micro">{why}</p>}
    </form>
  )
}
