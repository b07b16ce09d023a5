/**
 * What the words of the page mean: two sentences each, and where the book (docs/book) goes on. Verdicts and states are
 * keyed by the very values that the interface has, and a test holds the two together: a new verdict can't come without its
 * words. Loaded when somebody asks.
 */
import { DISK_TERMS } from './disk-terms.ts'
import { STATE_TERMS } from './state-terms.ts'
import { type Term, term } from './term.ts'

export const TERMS: Readonly<Record<string, Term>> = {
  view: term(
    'View',
    'views#view',
    'A view is a numbered term of office: replica "view mod replicas" may lead it, and nobody else. The number only grows, so the higher view is always the newer one.',
  ),
  quorum: term(
    'Quorum',
    'views#quorum',
    'So many replicas must have an op before it counts: two of three, three of five. Every election hears at least one of them, so a committed op is never forgotten.',
  ),
  'log-view': term(
    'Log view',
    'views#log-view',
    'The last view in which this replica’s log was known to be the group’s. When logs are merged the highest log view wins, and length decides only among equals.',
  ),
  'start-view-change': term(
    'StartViewChange',
    'views#startviewchange',
    'A replica says that it wants the next view. Nothing is promised by it yet.',
  ),
  'do-view-change': term(
    'DoViewChange',
    'views#doviewchange',
    'A replica hands its log to the one that would lead the next view. With enough of them the new primary knows every committed op.',
  ),
  'start-view': term(
    'StartView',
    'views#startview',
    'The new primary announces its view and the log that it begins with. Whoever gets it adopts that log and follows.',
  ),
  op: term(
    'Op',
    'logs#op',
    'The place of a request in the log of its group. Once committed, an op is the same request everywhere.',
  ),
  prepared: term(
    'Prepared',
    'logs#prepared',
    'The op is in the journal of this replica. It may still lose against another one in the next view.',
  ),
  committed: term(
    'Committed',
    'logs#committed',
    'A quorum has the op, so every later view will have it. A replica shows as its commit what it knows; others may know more.',
  ),
  applied: term(
    'Applied',
    'logs#applied',
    'The replica has carried the op out. It never applies what it does not know to be committed.',
  ),
  pipeline: term(
    'In flight',
    'logs#pipeline',
    'Prepares that were sent and whose quorum is not complete. There is room for 32, and for 64 requests behind them.',
  ),
  repair: term(
    'Repair',
    'logs#repair',
    'A replica asks a peer for the few ops it lacks. Each is checked against the chain of hashes before it counts.',
  ),
  gap: term(
    'Gap',
    'logs#gap',
    'So many events never reached this page. It asks for fresh snapshots and never joins the ends.',
  ),
  'client-table': term(
    'Client table',
    'logs#client-table',
    'The last request of each session and its reply. A request that is sent again gets the same reply and is not carried out twice.',
  ),
  superblock: term(
    'Superblock',
    'disk#superblock',
    'The record of what a replica has promised, in two slots that are written in turn. A crash can tear one write, and the other slot is whole.',
  ),
  wal: term(
    'Write-ahead log',
    'disk#write-ahead-log',
    'Metadata ops on disk, sealed and synced one by one. A torn last entry was never acknowledged and is cut; damage before it is refused.',
  ),
  segment: term(
    'Segment',
    'disk#segment',
    'A piece of a partition’s log, of which only the last is written. Sealed ones are equal to the byte on all replicas.',
  ),
  index: term(
    'Sparse index',
    'disk#sparse-index',
    'It says at which byte some offsets begin. A read starts at the last entry at or below the one it wants and scans on.',
  ),
  floor: term(
    'Index floor',
    'disk#index-floor',
    'Boot cut the index back to what the log proves. The index is a rumour; the log is the witness.',
  ),
  reservation: term(
    'Reservation',
    'disk#reservation',
    'So far offsets may be given out before the superblock must be written again. After a crash the partition goes on behind it, so no offset is confirmed for two payloads.',
  ),
  persisted: term(
    'Persisted',
    'disk#persisted',
    'Bytes and index entries of these batches are on disk. An eager topic acknowledges only then, a default one before.',
  ),
  forward: term(
    'Forward',
    'forwards#forward',
    'A write that came to the wrong node travels to the primary, one hop at most. The node it came to answers the client.',
  ),
  report: term(
    'Report',
    'processes#report',
    'What one node says of itself, with its name and its age. Where nodes differ, both are shown.',
  ),
  'as-of': term(
    'As of',
    'processes#as-of',
    'The page shows this moment, as it was known then. Nothing that came later is mixed in.',
  ),
  recording: term(
    'Recording',
    'processes#recording',
    'What the console told its readers, kept in order and watched on the same screens. It holds no bytes of segments.',
  ),

  'role.primary': term(
    'Primary',
    'views#primary-and-backup',
    'It orders the requests of its view and sends them to the others. The role belongs to the view, not to the machine.',
  ),
  'role.backup': term(
    'Backup',
    'views#primary-and-backup',
    'It journals what the primary sends and acknowledges it. When the primary is silent for five seconds, it asks for the next view.',
  ),
  'status.normal': term(
    'Normal',
    'views#normal',
    'The replica takes part in its view. As primary it orders, as backup it acknowledges.',
  ),
  'status.view_change': term(
    'View change',
    'views#view-change',
    'The replica has left its view and waits for the next one. Meanwhile it acknowledges nothing, so the old view can’t go on.',
  ),
  'status.recovering': term(
    'Recovering',
    'views#recovering',
    'The replica has restarted and asks the others for the view. It takes part again once it knows.',
  ),
  'status.tombstoned': term(
    'Refused',
    'views#tombstoned',
    'The replica does not serve this group and says why. The others go on while they are a quorum.',
  ),
  'transfer.idle': term(
    'No transfer',
    'logs#state-transfer',
    'Nothing is fetched from a peer now. Small gaps are closed by repair.',
  ),
  'transfer.awaiting_target': term(
    'Transfer, awaiting an offer',
    'logs#state-transfer',
    'The gap is too old for repair, so the replica asks for whole files. It waits for a peer that offers them.',
  ),
  'transfer.fetching': term(
    'Transfer, fetching',
    'logs#state-transfer',
    'Files come from a peer in chunks. Nothing of its own is removed yet.',
  ),
  'transfer.installing': term(
    'Transfer, installing',
    'logs#state-transfer',
    'The files are complete and checked, and take the place of the old ones. Then the replica follows the log as usual.',
  ),
  'superblock.present': term(
    'Present',
    'disk#present',
    'At least one slot is valid and none is damaged. The newer one wins.',
  ),
  'superblock.empty': term(
    'Empty',
    'disk#empty',
    'Neither slot was ever written. The replica has promised nothing and may begin in view 0.',
  ),
  'superblock.unreadable': term(
    'Unreadable',
    'disk#unreadable',
    'A slot is damaged, and it may be the newer one. The replica does not guess: it refuses to start and leaves the bytes alone.',
  ),
  'slot.valid': term(
    'Valid slot',
    'disk#slot-states',
    'Magic, version and checksum agree. Its sequence says how new it is.',
  ),
  'slot.absent': term(
    'Absent slot',
    'disk#slot-states',
    'This slot was never written. A replica that has written once has one like this.',
  ),
  'slot.corrupt': term(
    'Corrupt slot',
    'disk#slot-states',
    'The bytes are not what was sealed. A checksum can’t tell which of them is wrong.',
  ),
  'load.none': term(
    'No verdict yet',
    'verdicts#no-verdict-yet',
    'No load has run to its end. The counts are true as far as they go.',
  ),
  'load.nothing_lost': term(
    'Nothing lost',
    'verdicts#nothing-lost',
    'Every acknowledged message was read back once, at its offset. Each had the checksum it was sent with.',
  ),
  'load.lost': term(
    'Lost',
    'verdicts#lost',
    'An acknowledged message was not where it was confirmed. No fault of a minority may cause this.',
  ),
  'load.duplicate': term(
    'Duplicate',
    'verdicts#duplicate',
    'A message was read more than once. The client table is there to prevent it.',
  ),
  'load.corrupt': term(
    'Corrupt',
    'verdicts#corrupt',
    'A message came back changed, or at another offset. What was confirmed is not what is stored.',
  ),
  'load.not_all_read': term(
    'Not all read',
    'verdicts#not-all-read',
    'The reader could not reach everything that was acknowledged. Until it has, nothing follows.',
  ),
  'drill.pass': term('Pass', 'verdicts#pass', 'Every clause held. There was evidence for each of them.'),
  'drill.fail': term('Fail', 'verdicts#fail', 'A clause did not hold. What contradicts it is named, with its moment.'),
  'drill.unknown': term(
    'Unknown',
    'verdicts#unknown',
    'Something that a clause needs was not seen. That is no mild pass: nothing follows.',
  ),
  'forward.accepted': term(
    'Accepted',
    'forwards#accepted',
    'The primary has committed the write. The client was told so.',
  ),
  'forward.refused': term(
    'Refused',
    'forwards#refused',
    'The primary did not take the write, and says why. It is surely not stored and may be sent again.',
  ),
  'forward.waiting': term(
    'Waiting',
    'forwards#waiting',
    'The write is under way, or its answer is. The client waits as well.',
  ),
  'forward.unknown': term(
    'Outcome unknown',
    'forwards#outcome-unknown',
    'No answer came in time. The write may or may not be stored; only reading tells.',
  ),
  'process.starting': term(
    'Starting',
    'processes#starting',
    'The process was started and does not listen yet. It reads its disk first.',
  ),
  'process.running': term(
    'Running',
    'processes#running',
    'The process listens. Whether it takes part is told by its reports.',
  ),
  'process.paused': term(
    'Paused',
    'processes#paused',
    'A signal stopped the process, which keeps its memory and sockets. To its peers it looks dead.',
  ),
  'process.stopped': term(
    'Stopped',
    'processes#stopped',
    'There is no process, and that was asked for. A kill is asked for, too.',
  ),
  'process.crashed': term(
    'Crashed',
    'processes#crashed',
    'The process ended by itself. Its exit status says why, as far as it knew.',
  ),
  'process.refused': term(
    'Refused to start',
    'processes#refused-to-start',
    'The process would not run on its files, and said why. Starting it again changes nothing until the cause is gone.',
  ),
  ...DISK_TERMS,
  ...STATE_TERMS,
}

/** Which terms a screen speaks in, the ones that puzzle first. Prefixes end with a dot. */
export const OF_SCREEN: Readonly<Record<string, readonly string[]>> = {
  '/cluster': [
    'view',
    'role.',
    'status.',
    'standing.',
    'no-primary.',
    'belief.',
    'quorum',
    'prepared',
    'committed',
    'applied',
    'pipeline',
    'report',
    'heard.',
    'link.',
    'load.',
  ],
  '/cluster/nodes/$node': [
    'status.',
    'process.',
    'exit.',
    'boot.',
    'refusal.',
    'log-view',
    'superblock',
    'transfer.',
    'repair',
    'client-table',
  ],
  '/timeline': ['start-view-change', 'do-view-change', 'start-view', 'view', 'status.', 'gap', 'gap.'],
  '/recoveries': ['process.', 'status.', 'transfer.', 'load.'],
  '/recordings': ['recording', 'as-of', 'gap', 'gap.'],
  '/partitions': ['standing.', 'no-primary.', 'committed', 'persisted', 'segment', 'reservation'],
  '/partitions/$s/$t/$p': [
    'segment',
    'index',
    'floor',
    'batch.',
    'persisted',
    'flusher.',
    'reservation',
    'poll.',
    'consumer.',
    'reader.',
    'difference.',
    'chain.',
    'refusal.',
  ],
  '/superblocks': ['superblock', 'superblock.', 'slot.', 'log-view'],
  '/wal/$node': [
    'wal',
    'op',
    'prepared',
    'committed',
    'wal-slot.',
    'wal-entry.',
    'wal-parent.',
    'wal-scan.',
    'checkpoint.',
    'journal.',
  ],
  '/clients': ['client-table', 'retry.', 'op'],
  '/forwards': ['forward', 'forward.', 'forward-step.'],
  '/load': ['load.', 'load-state.', 'persisted', 'forward.unknown'],
  '/bench': ['bench.'],
  '/settings': ['report', 'as-of', 'recording'],
  '/drills': ['drill.'],
  '/drills/$id': ['drill.', 'load.', 'superblock.'],
}

/** Keys of the terms of a screen, then all others. */
export function termsFor(screen: string): { readonly here: readonly string[]; readonly others: readonly string[] } {
  const keys = Object.keys(TERMS)
  const here = [
    ...new Set(
      (OF_SCREEN[screen] ?? []).flatMap(key => (key.endsWith('.') ? keys.filter(name => name.startsWith(key)) : [key])),
    ),
  ]
  return { here, others: keys.filter(key => !here.includes(key)) }
}
