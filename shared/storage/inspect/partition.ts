/** One partition directory under inspection: names, superblock, purge mark, segment chain, consumer offsets. */
import type { Hash } from '../../bytes/hash.ts'
import { U32_MAX } from '../../bytes/units.ts'
import { ANCHOR_BYTES, decodeAnchor } from '../anchor-file.ts'
import { type Disk, readFile } from '../disk.ts'
import { decodeOffsetFile, OFFSET_FILE_BYTES } from '../offset-file.ts'
import { joinPath } from '../paths.ts'
import type { Scheduler } from '../ports.ts'
import { decodePurgeGen, PURGE_GEN_BYTES, PURGE_GEN_FILE } from '../purge-gen.ts'
import { listSegments, segmentFileName } from '../segment-names.ts'
import { withFile } from './metadata.ts'
import type { Findings, PartitionReport } from './report.ts'
import { type InspectedSegment, inspectSegment } from './segments.ts'
import { type InspectedSuperblock, inspectSuperblock } from './superblocks.ts'

/** Small files are read whole; a longer one is reported by its length. */
const SMALL_FILE_BYTES_MAX = 4096

export interface PartitionContext {
  readonly disk: Disk
  readonly hash: Hash
  readonly verify: boolean
  readonly scheduler?: Scheduler
  readonly findings: Findings
}

export interface InspectedPartition {
  readonly report: PartitionReport
  readonly superblock?: InspectedSuperblock
}

export async function inspectPartition(
  context: PartitionContext,
  directory: string,
  names: readonly string[],
  key: PartitionReport['key'],
): Promise<InspectedPartition> {
  const { disk, hash, findings } = context
  const listing = listSegments(names)
  for (const name of listing.foreign) {
    findings.add(
      'warning',
      'FOREIGN_NAME',
      joinPath(directory, name),
      0,
      'name',
      'no segment is called so (20 digits are needed): invisible to a boot',
    )
  }
  for (const name of listing.staging) {
    findings.add(
      'info',
      'LEFTOVER',
      joinPath(directory, name),
      0,
      'name',
      'scratch of a transfer or a rebuild; swept at boot',
    )
  }
  for (const { name, kind } of listing.orphans) {
    const severity = kind === 'index' ? 'damage' : 'warning'
    findings.add(
      severity,
      'ORPHAN',
      joinPath(directory, name),
      0,
      'log_present',
      `there is no .log beside this .${kind}: the segment it belongs to is gone`,
    )
  }
  for (const name of listing.others) {
    if (name.endsWith('.tmp'))
      findings.add(
        'info',
        'LEFTOVER',
        joinPath(directory, name),
        0,
        'name',
        'left behind by an interrupted replacement; never read',
      )
    else if (!KNOWN.has(name))
      findings.add('info', 'UNKNOWN_NAME', joinPath(directory, name), 0, 'name', 'no part of a partition directory')
  }

  const superblock = await inspectSuperblock(disk, directory, hash, findings, { plane: 'partition', key })
  const purge = names.includes(PURGE_GEN_FILE)
    ? await inspectPurgeGen(context, joinPath(directory, PURGE_GEN_FILE))
    : undefined

  const segments: InspectedSegment[] = []
  const present = new Set(names)
  let gapInReport = false
  for (const start of listing.starts) {
    const indexExists = present.has(segmentFileName(start, 'index'))
    const segment = await inspectSegment({ ...context, directory, partition: key.partition }, start, indexExists)
    const previous = segments.at(-1)
    if (segment === undefined) gapInReport = true
    else {
      if (previous !== undefined && !gapInReport) await checkChain(context, directory, previous, segment, present)
      gapInReport = false
      segments.push(segment)
    }
  }
  checkFrontier(directory, segments, superblock, findings)

  const offsets = names.includes('offsets') ? await inspectOffsets(context, joinPath(directory, 'offsets')) : []
  const report: PartitionReport = {
    directory,
    key,
    segments: segments.map(segment => segment.report),
    offsets,
    ...(purge === undefined ? {} : { purge }),
  }
  return { report, ...(superblock === undefined ? {} : { superblock }) }
}

const KNOWN = new Set(['superblock.a', 'superblock.b', PURGE_GEN_FILE, 'offsets'])

/** The chain guard over one adjacent pair (spec partition.md §6.8). */
async function checkChain(
  { disk, hash, findings }: PartitionContext,
  directory: string,
  previous: InspectedSegment,
  next: InspectedSegment,
  present: ReadonlySet<string>,
): Promise<void> {
  const { path } = next.report
  if (previous.sizeBytes === 0) {
    findings.add(
      'damage',
      'CHAIN_EMPTY_SEGMENT',
      previous.report.path,
      0,
      'chain_empty',
      `empty, but segment ${next.start} follows: a boot refuses the chain`,
    )
    return
  }
  if (previous.nextOffset === undefined || !previous.complete || previous.nextOffset === next.start) return
  const end = previous.nextOffset - 1n
  if (previous.nextOffset > next.start) {
    findings.add(
      'damage',
      'CHAIN_OVERLAP',
      path,
      0,
      'chain_overlap',
      `the segment starts at ${next.start}, but segment ${previous.start} ends at ${end}`,
    )
    return
  }
  const anchorName = segmentFileName(next.start, 'anchor')
  const hole = `offsets ${previous.nextOffset} to ${next.start - 1n} are missing between segment ${previous.start} and this one`
  if (!present.has(anchorName)) {
    findings.add(
      'damage',
      'CHAIN_HOLE',
      path,
      0,
      'chain_hole',
      `${hole}, and no anchor admits the gap: a boot refuses the chain`,
    )
    return
  }
  const anchorPath = joinPath(directory, anchorName)
  const anchor = await withFile(disk, anchorPath, findings, async (_, size) =>
    size === ANCHOR_BYTES ? decodeAnchor(hash, await readFile(disk, anchorPath, ANCHOR_BYTES)) : undefined,
  )
  if (anchor === undefined)
    findings.add('damage', 'ANCHOR_DAMAGED', anchorPath, 0, 'anchor', 'the anchor does not verify and proves nothing')
  if (anchor?.plantedStart === next.start && anchor.sealedStart === previous.start && anchor.sealedEnd === end) {
    findings.add('info', 'CHAIN_GAP_ANCHORED', path, 0, 'anchor', `${hole}; an anchor admits the gap`)
  } else {
    findings.add(
      'damage',
      'CHAIN_HOLE',
      path,
      0,
      'chain_hole',
      `${hole}, and its anchor does not speak of it: a boot refuses the chain`,
    )
  }
}

/** A frontier above the data is what a SIGKILL leaves, and also what rot of a whole last batch looks like: never silent. */
function checkFrontier(
  directory: string,
  segments: readonly InspectedSegment[],
  superblock: InspectedSuperblock | undefined,
  findings: Findings,
): void {
  const frontier = superblock?.state?.offsetFrontier ?? 0n
  const last = segments.at(-1)
  const next = last === undefined ? 0n : last.sizeBytes === 0 ? last.start : last.nextOffset
  if (superblock?.report.winner === undefined || next === undefined || frontier <= next) return
  const path = joinPath(directory, `superblock.${superblock.report.winner}`)
  findings.add(
    'warning',
    'MISSING_RANGE',
    path,
    86,
    'offset_frontier',
    `offsets ${next} to ${frontier - 1n} were given out, but the segments end before them`,
  )
}

async function inspectPurgeGen({ disk, findings }: PartitionContext, path: string): Promise<PartitionReport['purge']> {
  return withFile(disk, path, findings, async (_, size) => {
    const verdict = decodePurgeGen(
      size > SMALL_FILE_BYTES_MAX ? new Uint8Array(0) : await readFile(disk, path, SMALL_FILE_BYTES_MAX),
    )
    if (size > PURGE_GEN_BYTES)
      findings.add(
        'damage',
        'PURGE_GEN_LENGTH',
        path,
        PURGE_GEN_BYTES,
        'length',
        `${size} bytes, expected ${PURGE_GEN_BYTES}`,
      )
    if (verdict.kind === 'valid')
      return { generation: verdict.generation.toString(), createdRevision: verdict.createdRevision.toString() }
    if (size <= SMALL_FILE_BYTES_MAX) {
      findings.add(
        'damage',
        'PURGE_GEN_TORN',
        path,
        size,
        'length',
        `${size} bytes, expected ${PURGE_GEN_BYTES}: a boot withholds this partition`,
      )
    }
    return undefined
  })
}

async function inspectOffsets(context: PartitionContext, directory: string): Promise<PartitionReport['offsets']> {
  const { disk, findings } = context
  const offsets: { path: string; offset?: string; verdict: string }[] = []
  for (const kind of await listOrReport(disk, directory, findings)) {
    const kindDirectory = joinPath(directory, kind)
    if (kind !== 'consumers' && kind !== 'groups') {
      findings.add('info', 'UNKNOWN_NAME', kindDirectory, 0, 'name', 'no part of an offsets directory')
      continue
    }
    for (const name of await listOrReport(disk, kindDirectory, findings)) {
      const path = joinPath(kindDirectory, name)
      if (!/^(0|[1-9]\d{0,9})$/.test(name) || Number(name) > U32_MAX) {
        findings.add('warning', 'FOREIGN_NAME', path, 0, 'name', 'no consumer id: invisible to a boot')
        continue
      }
      const offset = await withFile(disk, path, findings, (_, size) => inspectOffset(context, path, size))
      if (offset !== undefined) offsets.push({ path, ...offset })
    }
  }
  return offsets
}

async function inspectOffset(
  { disk, hash, findings }: PartitionContext,
  path: string,
  size: number,
): Promise<{ offset?: string; verdict: string }> {
  if (size > OFFSET_FILE_BYTES)
    findings.add(
      'warning',
      'OFFSET_TRAILING_BYTES',
      path,
      OFFSET_FILE_BYTES,
      'length',
      `${size - OFFSET_FILE_BYTES} bytes more than the record; ignored`,
    )
  if (size > SMALL_FILE_BYTES_MAX) return { verdict: 'too_long' }
  const verdict = decodeOffsetFile(await readFile(disk, path, SMALL_FILE_BYTES_MAX), hash)
  if (verdict.kind === 'torn') {
    findings.add(
      'damage',
      'OFFSET_TORN',
      path,
      verdict.bytes,
      'length',
      `${verdict.bytes} bytes of ${OFFSET_FILE_BYTES}: counts as no stored offset`,
    )
    return { verdict: 'torn' }
  }
  if (verdict.kind === 'corrupt') {
    const hex = (value: bigint) => `0x${value.toString(16).padStart(16, '0')}`
    findings.add(
      'damage',
      'OFFSET_CORRUPT',
      path,
      8,
      'offset_checksum',
      `stored offset ${verdict.offset} does not match its checksum: expected ${hex(verdict.expected)}, found ${hex(verdict.actual)}`,
    )
    return { verdict: 'corrupt' }
  }
  if (verdict.kind === 'legacy')
    findings.add('info', 'OFFSET_LEGACY', path, 8, 'length', 'no checksum (an older build); the next write adds it')
  return { verdict: verdict.kind, offset: verdict.offset.toString() }
}

/** Names in a directory; unreadable is a finding and no names. */
export async function listOrReport(disk: Disk, directory: string, findings: Findings): Promise<readonly string[]> {
  try {
    return await disk.list(directory)
  } catch (error) {
    findings.unreadable(error, directory)
    return []
  }
}
