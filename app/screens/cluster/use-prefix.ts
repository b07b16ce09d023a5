/** The logs of the shown group, asked of every node that runs, now and then: they are long, and rarely differ. */
import { useMemo } from 'react'
import type { JournalSnapshot } from '../../../shared/inspection/logs.ts'
import type { WalSnapshot } from '../../../shared/inspection/snapshots.ts'
import { type ClusterView, msOf } from '../../../shared/inspection/view.ts'
import { queries } from '../../data/queries.ts'
import { type EachAnswer, useEach } from '../../data/use-each.ts'
import { useReplicaIds } from '../../data/use-replica-ids.ts'
import { METADATA } from '../../names.ts'
import { comparePrefixes, type PrefixVerdict, type ReportedLog } from './invariants.ts'

const EVERY_MS = 10_000

export function usePrefix(view: ClusterView, group: string): PrefixVerdict {
  const ids = useReplicaIds()
  const alive = ids.filter(id => view.nodes.get(id)?.process?.state === 'running')
  const key = view.groups.get(group)?.key
  const wals = useEach(group === METADATA ? alive : [], id => queries.wal(id, EVERY_MS))
  const at = key && { stream: String(key.stream), topic: String(key.topic), partition: String(key.partition) }
  const journals = useEach(at ? alive : [], id => queries.journal(id, at!, EVERY_MS))
  return useMemo(
    () => comparePrefixes(group === METADATA ? reported(wals, ofWal) : reported(journals, ofJournal), group),
    [group, wals, journals],
  )
}

type Answered = WalSnapshot | JournalSnapshot

function reported<T extends Answered>(
  answers: readonly EachAnswer<T>[],
  committed: (data: T) => ReportedLog['committed'],
) {
  return answers.flatMap(({ node, data }) =>
    data ? [{ node, atMs: msOf(data.reporter.takenWallUs), committed: committed(data) }] : [],
  )
}

function ofWal({ commitMax, entries }: WalSnapshot): ReportedLog['committed'] {
  const upTo = BigInt(commitMax)
  return new Map(entries.map(entry => [BigInt(entry.op), entry.checksum] as const).filter(([op]) => op <= upTo))
}
const ofJournal = ({ entries }: JournalSnapshot): ReportedLog['committed'] =>
  new Map(entries.filter(entry => entry.state !== 'prepared').map(entry => [BigInt(entry.op), entry.checksum]))
