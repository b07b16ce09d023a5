/** The chosen batch: its bytes first, then its messages. The field map goes both ways and is part of the address. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { fromHex, toHex } from '../../../shared/bytes/hex.ts'
import { BYTES_LENGTH_MAX } from '../../../shared/inspection/node-api.ts'
import type { BatchesSnapshot } from '../../../shared/inspection/snapshots.ts'
import {
  BATCH_HEADER_BYTES,
  batchHeaderLayout,
  MESSAGE_HEADER_BYTES,
  messageHeaderLayout,
} from '../../../shared/protocol/batch.ts'
import { queries } from '../../data/queries.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { asText, type ByteField, batchFields } from '../../ui/fields.ts'
import { bytes as bytesWord, count, grouped, timestamp } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { FieldList, Hex } from '../../ui/hex.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { VERDICTS } from './chain-picture.tsx'
import type { PartitionScreenState } from './use-partition.ts'

/** Bytes of a batch on one page; a longer one is turned page by page. */
const PAGE_BYTES = 6_144

export function BatchPane({ state }: { state: PartitionScreenState }) {
  const { batch } = state
  if (!batch) {
    return (
      <Pane title="Batch" className="p-batch" testId="batch">
        <div className="empty">
          <p>
            <b>No batch chosen.</b> Choose one in the picture or in the list, or type an offset: its bytes appear here,
            each field underlined.
          </p>
        </div>
      </Pane>
    )
  }
  return <Chosen key={`${state.node} ${batch.positionBytes}`} state={state} batch={batch} />
}

function Chosen({ state, batch }: { state: PartitionScreenState; batch: BatchesSnapshot['batches'][number] }) {
  const { search, change, node, at, segment } = state
  const base = segment?.startOffset ?? '0'
  const { first, size } = pageOf(search.byte, batch.lengthBytes, PAGE_BYTES)
  const tab = search.tab === 'messages' ? 'messages' : 'bytes'
  // Fields are counted from the beginning of the batch: what stands before a page is read too, as far as one answer reaches.
  const mapped = Math.min(batch.lengthBytes, BYTES_LENGTH_MAX, tab === 'bytes' ? first + size : BYTES_LENGTH_MAX)
  const answer = useQuery(queries.bytes(node, at, base, 'log', batch.positionBytes, mapped))
  const held = answer.data && answer.data.positionBytes === batch.positionBytes ? answer.data : undefined
  const raw = useMemo(() => (held ? fromHex(held.hex) : undefined), [held])
  const all = useMemo(() => (raw ? batchFields(raw) : []), [raw])
  // Behind the mapped bytes there is a page of its own, without fields: what they are would take the whole batch to say.
  const behind = first + size > mapped
  const far = useQuery({
    ...queries.bytes(node, at, base, 'log', batch.positionBytes + first, size),
    enabled: behind,
  })
  const page = useMemo(() => {
    if (!behind) {
      // Damage may say more than the file holds: then what is there is all there will be.
      const reach = held ? Math.min(first + size, held.sizeBytes - batch.positionBytes) : 0
      return raw && raw.length >= reach ? raw.subarray(first, first + size) : undefined
    }
    return far.data?.positionBytes === batch.positionBytes + first ? fromHex(far.data.hex) : undefined
  }, [behind, raw, held, first, size, far.data, batch.positionBytes])
  const fields = useMemo(() => (behind ? [] : fieldsIn(all, first, size)), [behind, all, first, size])
  const good = batch.verdict === 'valid'
  const chosen = all.find(field => field.id === search.field)
  return (
    <Pane
      title={`Batch ${grouped(batch.baseOffset)}`}
      label={`${count(batch.messages, 'message')}, ${bytesWord(batch.lengthBytes)}`}
      className="p-batch"
      testId="batch"
      actions={
        <span className="push row">
          <span className="state small">
            <Glyph name={good ? 'ok' : 'fail'} state={good ? 'ok' : 'danger'} />
            <span title={good ? VERDICTS.valid : batch.problem?.message}>
              {good ? 'agrees' : VERDICTS[batch.verdict]}
            </span>
          </span>
          <Segmented
            name="Show"
            value={tab}
            options={[
              { value: 'bytes', label: 'Bytes' },
              { value: 'messages', label: 'Messages' },
            ]}
            onChange={value => change({ tab: value === 'bytes' ? undefined : value })}
          />
        </span>
      }
    >
      {answer.isPending && <Skeleton what="bytes" rows={8} />}
      {answer.error && !held && (
        <Problem error={answer.error} what="The bytes could not be read" retry={() => void answer.refetch()} />
      )}
      {raw && (
        <Scroll
          name={tab === 'bytes' ? 'Bytes and fields of the batch' : 'Messages of the batch'}
          className="batch-body"
        >
          {tab === 'bytes' ? (
            <div className="hex-and-fields">
              <p className="note chosen-field" data-testid="chosen-field">
                {chosen ? (
                  <>
                    <b>{chosen.name}</b> {count(chosen.size, 'byte')} at {grouped(chosen.at)}:{' '}
                    <span className="num ink-1">{chosen.value}</span>
                  </>
                ) : (
                  'Choose a field below or its bytes here: each shows the other.'
                )}
              </p>
              {batch.lengthBytes > PAGE_BYTES && (
                <Pager
                  first={first}
                  size={size}
                  length={batch.lengthBytes}
                  onTurn={byte => change({ byte: byte === 0 ? undefined : String(byte) }, true)}
                />
              )}
              {far.error && behind && (
                <Problem error={far.error} what="These bytes could not be read" retry={() => void far.refetch()} />
              )}
              {!page && !(behind && far.error) && <Skeleton what="bytes" rows={8} />}
              {page && (
                <Hex
                  bytes={page}
                  positionBytes={batch.positionBytes + first}
                  fields={fields}
                  selected={search.field}
                  onSelect={field => change({ field: field.id, batch: String(batch.positionBytes) }, true)}
                  {...(good ? {} : { bad: BAD_FIELDS })}
                  name={`Batch ${batch.baseOffset}`}
                />
              )}
              <FieldList
                fields={fields}
                selected={search.field}
                onSelect={field => change({ field: field.id, batch: String(batch.positionBytes) }, true)}
                name="Fields of the batch"
              />
            </div>
          ) : (
            <Messages raw={raw} />
          )}
          {tab !== 'bytes' && batch.lengthBytes > mapped && (
            <p className="note micro">
              Messages of the first {grouped(mapped)} of {grouped(batch.lengthBytes)} bytes. Poll for those behind them.
            </p>
          )}
        </Scroll>
      )}
      {!good && (
        <p className="note micro">
          {batch.problem && <span data-testid="batch-problem">{problemWords(batch.problem)} </span>}A checksum covers
          the whole range: it says that something in these bytes differs, and cannot say which byte.
        </p>
      )}
    </Pane>
  )
}
function problemWords({
  message,
  stored,
  computed,
}: NonNullable<BatchesSnapshot['batches'][number]['problem']>): string {
  const said = `${message.charAt(0).toUpperCase()}${message.slice(1)}`
  return stored === undefined || computed === undefined
    ? `${said}.`
    : `${said}: stored ${stored}, computed ${computed}.`
}

/** Fields that reach into a page, counted from its first byte; a field that began before it keeps only what is in it. */
export function fieldsIn(fields: readonly ByteField[], first: number, size: number): ByteField[] {
  return fields.flatMap(field => {
    const from = Math.max(field.at, first)
    const end = Math.min(field.at + field.size, first + size)
    return end > from ? [{ ...field, at: from - first, size: end - from }] : []
  })
}

/** The page of the address, as far as the batch has it. */
export function pageOf(byte: string | undefined, length: number, most: number): { first: number; size: number } {
  const wanted = Number(byte ?? 0)
  const last = Math.floor(Math.max(0, length - 1) / most) * most
  const first = Math.min(last, Math.floor(wanted / most) * most)
  return { first, size: Math.min(most, length - first) }
}

function Pager(props: { first: number; size: number; length: number; onTurn: (byte: number) => void }) {
  const { first, size, length } = props
  const end = first + size
  return (
    <p className="row pager" data-testid="pager">
      <button
        type="button"
        className="btn small"
        aria-disabled={first === 0}
        onClick={() => first > 0 && props.onTurn(first - PAGE_BYTES)}
      >
        <Glyph name="prev" />
        Before
      </button>
      <button
        type="button"
        className="btn small"
        aria-disabled={end >= length}
        onClick={() => end < length && props.onTurn(end)}
      >
        Behind
        <Glyph name="next" />
      </button>
      <span className="num ink-3">
        bytes {grouped(first)} to {grouped(end)} of {grouped(length)}
        {end > BYTES_LENGTH_MAX && `; fields are mapped in the first ${grouped(BYTES_LENGTH_MAX)}`}
      </span>
    </p>
  )
}

const BAD_FIELDS: ReadonlySet<string> = new Set(['checksum'])

function Messages({ raw }: { raw: Uint8Array }) {
  const header = batchHeaderLayout.fields
  const view = new DataView(raw.buffer, raw.byteOffset, raw.length)
  const fields = messageHeaderLayout.fields
  if (raw.length < BATCH_HEADER_BYTES) return null
  const base = header.baseOffset.read(view, 0)
  const stamp = header.baseTimestamp.read(view, 0)
  const rows: { offset: bigint; at: bigint; id: string; size: number; text: string; payload: Uint8Array }[] = []
  let at = BATCH_HEADER_BYTES
  while (at + MESSAGE_HEADER_BYTES <= raw.length) {
    const size = fields.payloadLength.read(view, at)
    const headers = fields.userHeadersLength.read(view, at)
    const body = at + MESSAGE_HEADER_BYTES
    const payload = raw.subarray(body, body + size)
    rows.push({
      offset: base + BigInt(fields.offsetDelta.read(view, at)),
      at: stamp + BigInt(fields.timestampDelta.read(view, at)),
      id: fields.id.read(view, at).toString(16),
      size,
      payload,
      text: payload.length === size ? asText(payload, 120) : 'past the bytes shown',
    })
    at = body + size + headers
  }
  return (
    <DataTable
      name="messages"
      testId="messages"
      rows={rows}
      rowKey={row => row.offset.toString()}
      empty="No whole message lies in the bytes shown."
      columns={[
        { id: 'offset', head: 'offset', align: 'n', data: row => row.offset },
        { id: 'bytes', head: 'bytes', align: 'n', data: row => row.size },
        {
          id: 'payloadHex',
          head: 'Payload',
          align: 'm',
          // All of it, as it is: a file has room, and text would hide what no letter stands for.
          data: row => (row.payload.length === row.size ? toHex(row.payload) : null),
          cell: row => (
            <span className="payload" title={row.text}>
              {row.text}
            </span>
          ),
        },
        { id: 'timestampUs', head: 'Timestamp', align: 'm', data: row => row.at, cell: row => timestamp(row.at) },
        { id: 'id', head: 'Id', align: 'm', data: row => row.id },
      ]}
    />
  )
}
