/** The first sentence of the WAL screen. Pure. */
import { DIRECTORY_BOOT, type WalScanSnapshot } from '../../../shared/inspection/logs.ts'
import type { WalSnapshot } from '../../../shared/inspection/snapshots.ts'
import type { NodeView } from '../../../shared/inspection/view.ts'
import { answers, processWords, showsSlots } from '../../data/slots.ts'
import { SourceError } from '../../data/source.ts'
import { STALE_MS } from '../../ui/age.tsx'
import { ageText, bytesShort, count, grouped, visible } from '../../ui/format.ts'
import type { NowWords } from '../../ui/now.tsx'
import { processLook } from '../../ui/states.ts'
import { countStates, type Slot } from './slots.ts'

const PHASES = {
  idle: '',
  snapshot: 'writes the snapshot',
  pairing: 'writes the superblock that names the snapshot',
  drain: 'takes the covered entries off the log',
  install: 'installs what a peer has sent',
} as const

/** Nothing is shown of a log: what its node does instead. `what`: of what kind of log; `then`: what can be known without it. */
export function notShown(node: NodeView, label: string, why: string, next: string): NowWords {
  const process = node.process
  const look = process && process.state !== 'running' ? processLook[process.state] : undefined
  return {
    label,
    tone: process?.state === 'refused' ? 'bad' : 'plain',
    glyph: look?.glyph ?? 'unknown',
    colour: look?.colour ?? 'none',
    what: `node-${node.id} ${processWords(node)}.`,
    why,
    next,
  }
}

/** What a person may do when a question has failed. */
export const nextOf = (error: unknown): string =>
  error instanceof SourceError && error.advice !== '' ? error.advice : 'It is asked again every two seconds.'

/** `ageMs` of the answer: whoever does not answer any more is shown by its last words. */
export function walSituation(
  node: NodeView,
  wal: WalSnapshot,
  slots: readonly Slot[],
  scan: WalScanSnapshot | undefined,
  broken: ReadonlySet<string>,
  ageMs: number,
): NowWords {
  const found = situationOf(node, wal, slots, scan, broken)
  if (answers(node) || wal.reporter.boot === DIRECTORY_BOOT)
    return ageMs > STALE_MS
      ? { ...found, tone: 'plain', label: `${found.label}, as it was ${ageText(ageMs)} ago` }
      : found
  // A death is followed by an answer from the directory; a process that is held has no other answer than its last.
  return {
    ...notShown(node, found.label, `What is shown it said ${ageText(ageMs)} ago: ${found.what}`, ''),
    next: showsSlots(node)
      ? 'Its log is being read from its directory.'
      : 'Its log cannot be asked for until it goes on; the file itself lies in its directory.',
  }
}

function situationOf(
  node: NodeView,
  wal: WalSnapshot,
  slots: readonly Slot[],
  scan: WalScanSnapshot | undefined,
  broken: ReadonlySet<string>,
): NowWords {
  const label = `Write-ahead log of node-${node.id}`
  const counts = countStates(slots)
  const holes = counts.get('hole') ?? 0
  const { checkpoint } = wal
  const free = wal.freeSlots ?? 0
  const next = checkpoint
    ? checkpoint.phase !== 'idle'
      ? `The checkpoint at op ${grouped(checkpoint.op)} ${PHASES[checkpoint.phase]}.`
      : free > checkpoint.marginSlots
        ? `${count(free - checkpoint.marginSlots, 'more op')} until a checkpoint starts; it frees their slots.`
        : 'A checkpoint is due with the next op.'
    : 'No checkpoint is known of.'
  const base = { label, next } as const
  if (wal.failure)
    return {
      ...base,
      tone: 'bad',
      glyph: 'fail',
      colour: 'danger',
      what: 'The log takes nothing any more.',
      why: visible(wal.failure),
      next: 'Start the node again: the scan of its boot decides what of the file holds.',
    }
  if (scan?.problem)
    return {
      ...base,
      tone: 'bad',
      glyph: 'refused',
      colour: 'danger',
      what: `The file is ${scan.end === 'torn' ? 'torn' : 'damaged'} at byte ${grouped(scan.problem.positionBytes)}.`,
      why: `${scan.problem.check}: ${visible(scan.problem.message)}.`,
      next:
        scan.end === 'torn'
          ? 'The next boot would cut this tail; a cluster repairs the op from peers.'
          : 'The next boot would refuse: this was durable once. Wipe the node and let it rejoin.',
    }
  if (broken.size > 0)
    return {
      ...base,
      tone: 'bad',
      glyph: 'fail',
      colour: 'danger',
      what: `Op ${grouped([...broken][0]!)} does not follow the op before it.`,
      why: 'Its parent is another checksum than that of the op before: two histories meet here.',
    }
  if (wal.reporter.boot === DIRECTORY_BOOT) {
    const known = wal.entries.filter(entry => BigInt(entry.op) <= BigInt(wal.commitMax)).length
    return {
      ...notShown(
        node,
        label,
        wal.entries.length === 0
          ? 'No log lies in its directory: a new node has none, and a wiped one has lost it.'
          : `Read from its directory, where ${count(wal.entries.length, 'entry lies', 'entries lie')}: ${known === wal.entries.length ? 'all are known to be committed.' : `${known} known to be committed; of the others no file says.`}`,
        '',
      ),
      next:
        scan === undefined
          ? 'Its next boot scans this file.'
          : holes > 0
            ? `Its next boot finds ${count(holes, 'op')} missing between others, and asks its peers.`
            : 'Its next boot scans this file, and finds nothing to cut.',
    }
  }
  if (holes > 0)
    return {
      ...base,
      tone: 'recover',
      glyph: 'recover',
      colour: 'recover',
      what: `${count(holes, 'op')} between others ${holes === 1 ? 'is' : 'are'} missing.`,
      why: 'They were committed or prepared elsewhere while this node was away.',
      next: 'Repair asks peers for them, chunk by chunk.',
    }
  if (wal.entries.length === 0)
    return {
      ...base,
      tone: 'plain',
      glyph: 'absent',
      colour: 'none',
      what: 'The log is empty.',
      why: 'No stream, topic or session was ever recorded.',
    }
  const prepared = (counts.get('prepared') ?? 0) + (counts.get('writing') ?? 0)
  return {
    ...base,
    tone: 'good',
    glyph: 'ok',
    colour: 'ok',
    what:
      prepared > 0
        ? `${count(prepared, 'op')} prepared, not known to be committed.`
        : `Everything up to op ${grouped(wal.lastOp)} is committed.`,
    why: `${count(wal.entries.length, 'entry', 'entries')} in ${bytesShort(wal.sizeBytes)}; the log has gone round ${count((BigInt(wal.lastOp) / BigInt(wal.slots)).toString(), 'time')}.`,
  }
}
