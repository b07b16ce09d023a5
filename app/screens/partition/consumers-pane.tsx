/** What is stored of consumers and groups, by the files of every node, and where each stands in the log. */
import { CONSUMERS_MAX } from '../../../shared/inspection/polls.ts'
import { queries } from '../../data/queries.ts'
import { useEach } from '../../data/use-each.ts'
import { Age } from '../../ui/age.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { count, grouped, visible, wallMs } from '../../ui/format.ts'
import { Pane } from '../../ui/pane.tsx'
import { Problem, Skeleton } from '../../ui/problem.tsx'
import { CONSUMER_VERDICTS, type ConsumerRow, consumerRows, standingOf } from './consumers.ts'
import { earliestOf } from './offset-place.ts'
import type { PartitionScreenState } from './use-partition.ts'

export function ConsumersPane({ state }: { state: PartitionScreenState }) {
  const { ids, node, at, chain, change } = state
  const answers = useEach(ids, id => queries.consumers(id, at))
  const rows = consumerRows(answers)
  const own = answers.find(answer => answer.node === node)
  const failed = answers.filter(answer => answer.error && !answer.data)
  const most = Math.max(0, ...answers.map(({ data }) => data?.total ?? 0))
  const standing = (row: ConsumerRow): string => {
    const file = row.files[ids.indexOf(node)]
    if (file?.offset === undefined || !chain?.group.offsets) return ''
    if (file.verdict !== 'valid' && file.verdict !== 'legacy') return ''
    const end = BigInt(chain.group.offsets.visible)
    const first = earliestOf(chain.segments) ?? end
    const found = standingOf(BigInt(file.offset), first, end)
    switch (found.kind) {
      case 'at_end':
        return 'at the end'
      case 'behind':
        return `${count(found.by.toString(), 'offset')} behind`
      case 'below_earliest':
        return `below the earliest: goes on at ${grouped(first)}, ${grouped(found.skips)} offsets are gone`
      case 'beyond':
        return `${grouped(found.by)} beyond the end`
    }
  }
  return (
    <Pane
      title="Consumer offsets"
      label="from the files of every node"
      testId="consumers"
      actions={
        <span className="push">
          <Age atMs={own?.data ? wallMs(own.data.reporter.takenWallUs) : undefined} by={`node-${node}`} />
        </span>
      }
    >
      {answers.every(answer => answer.loading) && <Skeleton what="stored offsets" rows={4} />}
      {failed.map(({ node: id, error }) => (
        <Problem key={id} error={error} what={`The files of node-${id} could not be read`} />
      ))}
      {rows.length === 0 && answers.some(({ data }) => data) && (
        <div className="empty" data-testid="no-consumers">
          <p>
            <b>No offset is stored.</b> A consumer that commits how far it has read gets a file of 16 bytes. Poll a
            message, open it, and store it as read.
          </p>
        </div>
      )}
      {rows.length > 0 && (
        <DataTable
          name="consumer offsets"
          testId="consumers-table"
          rows={rows}
          rowKey={row => `${row.kind} ${row.name}`}
          empty="No offset is stored."
          columns={[
            {
              id: 'consumer',
              head: 'Who',
              names: true,
              data: row => `${row.kind} ${row.name}`,
              cell: row =>
                row.kind === 'consumer' && row.files.some(file => file?.verdict === 'valid') ? (
                  <button
                    type="button"
                    className="link"
                    title="Poll what comes next for it"
                    onClick={() => change({ pane: 'poll', by: 'next', value: undefined, consumer: row.name })}
                  >
                    consumer {visible(row.name)}
                  </button>
                ) : (
                  `${row.kind} ${visible(row.name)}`
                ),
            },
            ...ids.map((id, index) => ({
              id: `node${id}`,
              head: `node-${id}`,
              align: 'n' as const,
              data: (row: ConsumerRow) => {
                const file = row.files[index]
                return file?.offset === undefined ? (file?.verdict ?? null) : BigInt(file.offset)
              },
              cell: (row: ConsumerRow) => {
                const file = row.files[index]
                if (answers[index]?.data === undefined) return '?'
                if (!file) return <span className={row.differs ? 'differs' : undefined}>none</span>
                const good = file.verdict === 'valid'
                return (
                  <span
                    className={row.differs || !good ? 'differs' : undefined}
                    title={`${CONSUMER_VERDICTS[file.verdict]}: ${visible(file.path)}`}
                  >
                    {good || file.offset === undefined ? '' : `${CONSUMER_VERDICTS[file.verdict]}, `}
                    {file.offset === undefined ? CONSUMER_VERDICTS[file.verdict] : grouped(file.offset)}
                  </span>
                )
              },
            })),
            { id: 'standing', head: `On node-${node}`, wrap: true, data: standing },
          ]}
        />
      )}
      {most > CONSUMERS_MAX && (
        <p className="note micro">
          The first {grouped(CONSUMERS_MAX)} of {count(most, 'file')} are listed.
        </p>
      )}
    </Pane>
  )
}
