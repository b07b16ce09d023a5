/** One message as it was polled: its bytes first, then what they may mean. It is asked for by its offset, list or no list. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { fromHex } from '../../../shared/bytes/hex.ts'
import { PAYLOAD_SHOWN_BYTES, type PolledMessageJson } from '../../../shared/inspection/polls.ts'
import { STORE_KEY, storeOffset, useForbidden } from '../../data/actions.ts'
import { partitionPath, queries } from '../../data/queries.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { Age } from '../../ui/age.tsx'
import { type ByteField, textOf, userHeaderFields } from '../../ui/fields.ts'
import { bytes, count, grouped, timestamp, visible, wallMs } from '../../ui/format.ts'
import { FieldList, Hex } from '../../ui/hex.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { polledWords } from './poll.ts'
import type { PartitionScreenState } from './use-partition.ts'

export function MessagePane({ state, offset }: { state: PartitionScreenState; offset: string }) {
  const { search, change, node, at } = state
  const question = { by: 'offset', value: offset, count: 1, consumer: '0' } as const
  const answer = useQuery(queries.messages(node, at, question))
  const found = answer.data?.messages.find(message => message.offset === offset)
  const decoded = search.tab === 'decoded'
  return (
    <Pane
      title={`Message ${grouped(offset)}`}
      label={found && `${bytes(found.payloadBytes)} of payload`}
      className="p-batch"
      testId="message"
      actions={
        <span className="push row">
          {answer.data && <Age atMs={wallMs(answer.data.takenWallUs)} by={`node-${answer.data.servedBy}`} />}
          <Segmented
            name="Show"
            value={decoded ? 'decoded' : 'bytes'}
            options={[
              { value: 'bytes', label: 'Bytes' },
              { value: 'decoded', label: 'Decoded' },
            ]}
            onChange={value => change({ tab: value === 'bytes' ? undefined : value }, true)}
          />
        </span>
      }
    >
      {answer.isPending && <Skeleton what="the message" rows={6} />}
      {answer.error && (
        <Problem
          error={answer.error}
          what={`The message could not be polled through node-${node}`}
          retry={() => void answer.refetch()}
        />
      )}
      {answer.data && !answer.error && !found && (
        <div className="empty" data-testid="no-message">
          <p>
            <b>No message at offset {grouped(offset)}.</b> {polledWords(question, answer.data)}
          </p>
        </div>
      )}
      {found && !answer.error && (
        <Scroll name={decoded ? 'What the message may mean' : 'Bytes of the message'} className="batch-body">
          {decoded ? <Decoded message={found} /> : <Bytes message={found} state={state} />}
          <Foot message={found} state={state} />
        </Scroll>
      )}
    </Pane>
  )
}

function Bytes({ message, state }: { message: PolledMessageJson; state: PartitionScreenState }) {
  const { search, change } = state
  const payload = useMemo(() => fromHex(message.payloadHex), [message])
  const headers = useMemo(() => fromHex(message.headersHex), [message])
  const fields = useMemo(() => userHeaderFields(headers), [headers])
  const select = (field: ByteField): void => change({ field: field.id }, true)
  return (
    <>
      <h3 className="label sub">Payload</h3>
      {payload.length === 0 ? (
        <p className="note">No bytes: the payload is empty, which is not the text “null”.</p>
      ) : (
        <Hex
          bytes={payload}
          positionBytes={0}
          fields={NO_FIELDS}
          selected={undefined}
          onSelect={() => {}}
          name={`Payload of message ${message.offset}`}
        />
      )}
      {headers.length > 0 && (
        <>
          <h3 className="label sub">User headers, {bytes(message.headersBytes)}</h3>
          <Hex
            bytes={headers}
            positionBytes={0}
            fields={fields}
            selected={search.field}
            onSelect={select}
            name={`User headers of message ${message.offset}`}
          />
          <FieldList fields={fields} selected={search.field} onSelect={select} name="Fields of the user headers" />
        </>
      )}
    </>
  )
}
const NO_FIELDS: readonly ByteField[] = []

function Decoded({ message }: { message: PolledMessageJson }) {
  const text = useMemo(() => {
    const payload = fromHex(message.payloadHex)
    return textOf(payload, payload.length, message.payloadBytes > payload.length)
  }, [message])
  const headers = useMemo(() => userHeaderFields(fromHex(message.headersHex)), [message])
  return (
    <>
      <h3 className="label sub">Payload</h3>
      {message.payloadBytes === 0 ? (
        <p className="note">Empty: not a byte of text.</p>
      ) : text === undefined ? (
        <p className="note" data-testid="no-text">
          {grouped(message.payloadBytes)} bytes that are no text of UTF-8: only their digits say what they are.
        </p>
      ) : (
        <pre className="payload-text" data-testid="payload-text">
          {text.split('\n').map(visible).join('\n')}
        </pre>
      )}
      <dl className="msg-facts">
        {headers
          .filter(({ id }) => /\.(key|value)$/.test(id) || id === 'rest')
          .map(field => (
            <div key={field.id}>
              <dt>{field.name}</dt>
              <dd className="num">{field.value}</dd>
            </div>
          ))}
        <div>
          <dt>appended</dt>
          <dd className="num">{timestamp(message.timestampUs)}</dd>
        </div>
        <div>
          <dt>sent, as its client says</dt>
          <dd className="num">{timestamp(message.originTimestampUs)}</dd>
        </div>
        <div>
          <dt>id</dt>
          <dd className="num">{message.id}</dd>
        </div>
        <div>
          <dt>frame checksum</dt>
          <dd className="num">{message.checksum}</dd>
        </div>
      </dl>
    </>
  )
}

/** What of it is not shown, and the whole as a file; and up to here as read. */
function Foot({ message, state }: { message: PolledMessageJson; state: PartitionScreenState }) {
  const { node, at, search, batch, change } = state
  const forbidden = useForbidden()
  const consumer = search.consumer ?? '0'
  return (
    <div className="message-foot">
      {message.payloadBytes > PAYLOAD_SHOWN_BYTES && (
        <p className="note micro" data-testid="payload-cut">
          The first {grouped(PAYLOAD_SHOWN_BYTES)} of {grouped(message.payloadBytes)} bytes are shown.
        </p>
      )}
      <p className="row">
        <a
          className="btn small"
          href={`${partitionPath(node, at)}/messages/${message.offset}/payload`}
          download={`${at.stream}.${at.topic}.${at.partition}-${message.offset}.bin`}
        >
          Save {count(message.payloadBytes, 'byte')}
        </a>
        {batch && (
          <button
            type="button"
            className="btn small"
            onClick={() => change({ pane: undefined, msg: undefined, tab: undefined, field: undefined })}
          >
            Its batch {grouped(batch.baseOffset)}
          </button>
        )}
        <ActButton
          name={`Read up to here, consumer ${visible(consumer)}: store ${grouped(message.offset)}`}
          pendingKey={STORE_KEY}
          onAct={() => void storeOffset(at, consumer, message.offset)}
          why={forbidden}
          className="btn small"
        >
          Read up to here, consumer {visible(consumer)}
        </ActButton>
      </p>
    </div>
  )
}
