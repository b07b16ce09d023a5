/** An inspection as text for people. File names come from the directory and are shown with control characters escaped. */
import type { Finding, GroupSuperblock, Inspection, PartitionReport } from './report.ts'

export function inspectionText(inspection: Inspection, directory: string): string {
  const { counts, wal, snapshot, findings } = inspection
  const lines = [`${plain(directory)}: ${counts.files} files, ${counts.bytes} bytes`, '']

  lines.push('superblocks')
  const written = inspection.superblocks.filter(group => group.verdict !== 'empty')
  for (const group of written) lines.push(`  ${superblockLine(group)}`)
  const empty = inspection.superblocks.length - written.length
  if (empty > 0) lines.push(`  ${empty} group${empty === 1 ? '' : 's'} without any slot: nothing was ever written`)

  lines.push('metadata')
  lines.push(
    wal === undefined
      ? '  log: absent'
      : wal.entries === 0
        ? `  log: no entry, ${wal.sizeBytes} bytes`
        : `  log: ops ${wal.firstOp} to ${wal.lastOp}, ${wal.entries} entries, ${wal.goodBytes} of ${wal.sizeBytes} bytes sound`,
  )
  lines.push(
    snapshot === undefined
      ? '  snapshot: absent'
      : `  snapshot: op ${snapshot.op ?? '?'}, ${snapshot.sizeBytes} bytes, checksum ${snapshot.checksum}${snapshot.sealed ? '' : ', unsealed'}${holdings(snapshot)}`,
  )

  lines.push('partitions')
  for (const partition of inspection.partitions) lines.push(...partitionLines(partition))
  if (inspection.partitions.length === 0) lines.push('  none')

  lines.push('', findings.length === 0 ? 'no findings' : 'findings')
  for (const finding of [...findings].sort(bySeverity)) lines.push(...findingLines(finding))
  if (inspection.findingsDropped > 0) lines.push(`  and ${inspection.findingsDropped} more`)

  const how = inspection.verified
    ? 'every checksum was computed'
    : 'segments by their layout only; --verify computes every checksum'
  lines.push('', inspection.ok ? `all is well (${how})` : `damaged (${how})`)
  return `${lines.join('\n')}\n`
}

function superblockLine(group: GroupSuperblock): string {
  const name = group.key === undefined ? 'metadata' : keyText(group.key)
  const slots = group.slots
    .map(slot => `${slot.slot} ${slot.state}${slot.sequence === undefined ? '' : ` #${slot.sequence}`}`)
    .join(', ')
  const winner = group.slots.find(slot => slot.slot === group.winner)?.fields
  const state =
    winner === undefined ? '' : `; view ${winner.view}, log_view ${winner.logView}, commit_max ${winner.commitMax}`
  return `${name}: ${group.verdict} (${slots}; ${group.why})${state}`
}

function partitionLines(partition: PartitionReport): string[] {
  const lines = [`  ${keyText(partition.key)}`]
  for (const segment of partition.segments) {
    const range = segment.endOffset === undefined ? 'empty' : `offsets ${segment.startOffset} to ${segment.endOffset}`
    const sound = segment.soundBytes === segment.sizeBytes ? '' : `, sound up to ${segment.soundBytes}`
    lines.push(
      `    ${segment.startOffset}: ${range}, ${segment.sizeBytes} bytes${sound}, ${segment.batches} batches, ${segment.messages} messages, ${segment.indexEntries} index entries`,
    )
  }
  if (partition.segments.length === 0) lines.push('    no segment')
  for (const { path, offset, verdict } of partition.offsets) {
    lines.push(`    ${plain(path.slice(partition.directory.length + 1))}: ${offset ?? verdict}`)
  }
  return lines
}

function findingLines({ severity, code, path, position, check, message }: Finding): string[] {
  return [
    `  ${severity.toUpperCase().padEnd(7)} ${code}  ${plain(path)} at byte ${position} (${check})`,
    `          ${plain(message)}`,
  ]
}

const ORDER = { damage: 0, warning: 1, info: 2 } as const
const bySeverity = (a: Finding, b: Finding): number => ORDER[a.severity] - ORDER[b.severity]

const keyText = (key: PartitionReport['key']): string => `${key.stream}/${key.topic}/${key.partition}`

/** Control and direction characters as escapes: a name must not be able to redraw the terminal. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, character => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

function holdings({ holds }: NonNullable<Inspection['snapshot']>): string {
  if (holds === undefined) return ''
  const { users, streams, topics, partitions, clients } = holds
  return `; ${users} users, ${streams} streams, ${topics} topics, ${partitions} partitions, ${clients} clients`
}
