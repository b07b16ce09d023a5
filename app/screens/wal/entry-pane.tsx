/** One entry of the log: what its checksums prove, its header fields, and the bytes of the file; each field shows its bytes. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { fromHex } from '../../../shared/bytes/hex.ts'
import { DIRECTORY_BOOT, type WalEntrySnapshot } from '../../../shared/inspection/logs.ts'
import { msOf } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { Age } from '../../ui/age.tsx'
import { prepareFields } from '../../ui/fields.ts'
import { count, grouped, visible } from '../../ui/format.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { FieldList, Hex } from '../../ui/hex.tsx'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { Scroll } from '../../ui/scroll.tsx'

/** Of a long body; the whole is on disk, and the partition screen shows segments page by page. */
const BYTES_DRAWN = 4_096

export function EntryPane(props: {
  node: number
  op: string
  /** Whether anybody can show it, and what its process does. */
  asked: boolean
  words: string
  field: string | undefined
  onField: (field: string) => void
}) {
  const { node, op } = props
  const answer = useQuery({ ...queries.walEntry(node, op), enabled: props.asked })
  const entry = answer.data
  const raw = useMemo(() => (entry ? fromHex(entry.hex) : undefined), [entry])
  const fields = useMemo(() => (raw ? prepareFields(raw) : []), [raw])
  const chosen = fields.find(field => field.id === props.field)
  return (
    <Pane
      title={`Op ${grouped(op)}`}
      name={`Op ${op}`}
      label={
        entry &&
        `slot ${grouped(entry.slot)}, ${count(entry.lengthBytes, 'byte')} at ${grouped(entry.positionBytes)} of ${visible(entry.path)}`
      }
      testId="wal-entry"
      actions={
        entry && (
          <Age
            atMs={msOf(entry.reporter.takenWallUs)}
            by={entry.reporter.boot === DIRECTORY_BOOT ? `directory of node-${node}` : `node-${node} read its file`}
            push
          />
        )
      }
    >
      {!entry && !answer.error && answer.isFetching && <Skeleton what="the entry" rows={8} />}
      {!entry && answer.error && (
        <Problem error={answer.error} what={`Op ${op} was not shown`} retry={() => void answer.refetch()} />
      )}
      {!entry && !props.asked && (
        <p className="note">
          node-{node} {props.words}: this entry cannot be asked for now.
        </p>
      )}
      {entry && raw && (
        <Scroll name="Bytes and fields of the entry" className="wal-entry-body">
          <Verdicts entry={entry} />
          <p className="note chosen-field" data-testid="chosen-field">
            {chosen ? (
              <>
                <b>{chosen.name}</b> {count(chosen.size, 'byte')} at {grouped(chosen.at)}:{' '}
                <span className="num ink-1">{chosen.value}</span>
              </>
            ) : (
              'Choose a field or its bytes: each shows the other.'
            )}
          </p>
          <div className="wal-two">
            <Hex
              bytes={raw.subarray(0, BYTES_DRAWN)}
              positionBytes={entry.positionBytes}
              fields={fields}
              selected={props.field}
              onSelect={field => props.onField(field.id)}
              bad={badFields(entry)}
              name={`Op ${op}`}
            />
            <FieldList
              fields={fields}
              selected={props.field}
              onSelect={field => props.onField(field.id)}
              bad={badFields(entry)}
              name="Fields of the entry"
            />
          </div>
          {entry.lengthBytes > BYTES_DRAWN && (
            <p className="note micro">
              The first {grouped(BYTES_DRAWN)} of {grouped(entry.lengthBytes)} bytes are drawn.
            </p>
          )}
        </Scroll>
      )}
    </Pane>
  )
}

const badFields = (entry: WalEntrySnapshot): ReadonlySet<string> =>
  new Set([
    ...(entry.identity === 'bad' ? ['checksum'] : []),
    ...(entry.body === 'bad' ? ['checksumBody', 'body'] : []),
    ...(entry.parent === 'broken' ? ['parent'] : []),
  ])

const GOOD = { glyph: 'ok', colour: 'ok' } as const
const BAD = { glyph: 'fail', colour: 'danger' } as const
const OPEN = { glyph: 'unknown', colour: 'none' } as const
const IDENTITY = {
  valid: [GOOD, 'header matches its checksum'],
  bad: [BAD, 'header does not match its checksum; which byte differs, it cannot tell'],
  unsealed: [OPEN, 'header was never sealed: an older build wrote it'],
  unread: [OPEN, 'header was not read'],
} as const
const BODY = {
  valid: [GOOD, 'body matches its checksum'],
  bad: [BAD, 'body does not match its checksum'],
  unsealed: [OPEN, 'body was never sealed'],
  unread: [OPEN, 'body is longer than what is read at once: not verified here'],
} as const
const PARENT = {
  follows: [GOOD, 'parent is the checksum of the op before'],
  broken: [BAD, 'parent is not the checksum of the op before'],
  first: [OPEN, 'the op before is not held: nothing to compare with'],
  unsealed: [OPEN, 'one of the two is not sealed: nothing to compare'],
} as const

function Verdicts({ entry }: { entry: WalEntrySnapshot }) {
  const lines = [
    IDENTITY[entry.identity],
    BODY[entry.body],
    PARENT[entry.parent],
    entry.sameAsMemory === undefined
      ? ([OPEN, 'no process holds it in memory'] as const)
      : entry.sameAsMemory
        ? ([GOOD, 'file and memory agree'] as const)
        : ([BAD, 'the file differs from memory'] as const),
  ]
  return (
    <ul className="wal-verdicts" aria-label="What the entry proves">
      {lines.map(([look, words]) => (
        <li key={words}>
          <Glyph name={look.glyph} state={look.colour} /> {words}
        </li>
      ))}
    </ul>
  )
}
