/** Words of what is on disk: batches, logs, checkpoints, boots and refusals. Keys are the values of the interface. */
import { type Term, term } from './term.ts'

export const DISK_TERMS: Readonly<Record<string, Term>> = {
  'batch.valid': term(
    'Batch, checksums agree',
    'disk#batch-verdicts',
    'Every frame of the batch has the checksum that it names, and the batch has its own. Whoever wrote it, these are the bytes that were sealed.',
  ),
  'batch.bad_checksum': term(
    'Batch, checksum differs',
    'disk#batch-verdicts',
    'Some bytes of the batch are not the ones that were sealed. A checksum can’t tell which; a comparison with another copy can.',
  ),
  'batch.bad_layout': term(
    'Not a batch',
    'disk#batch-verdicts',
    'The bytes there do not hold together as a batch: a length or a count cannot be. Nothing behind them is read, since nobody knows where the next one would begin.',
  ),
  'flusher.idle': term(
    'Flusher, idle',
    'disk#flusher',
    'Nothing waits that would be worth a write. What is only in memory stays there until a threshold is reached.',
  ),
  'flusher.writing': term(
    'Flusher, writing',
    'disk#flusher',
    'A round of batches is on its way to the file, and their index entry behind it. What comes meanwhile waits for the next round.',
  ),
  'flusher.barred': term(
    'Flusher, barred',
    'disk#flusher',
    'Nothing is written now: the segments are being replaced, or the partition is closing. It goes on, or ends, when that is done.',
  ),
  'consumer.valid': term(
    'Stored offset, valid',
    'disk#consumer-offsets',
    'The file of the consumer holds an offset and the checksum of it. A boot believes it.',
  ),
  'consumer.legacy': term(
    'Stored offset, legacy',
    'disk#consumer-offsets',
    'Eight bytes without a checksum, as older builds wrote them. A boot believes them, and the next write adds the checksum.',
  ),
  'consumer.torn': term(
    'Stored offset, torn',
    'disk#consumer-offsets',
    'Fewer than eight bytes: a write was cut short. It counts as nothing stored.',
  ),
  'consumer.corrupt': term(
    'Stored offset, corrupt',
    'disk#consumer-offsets',
    'Offset and checksum do not belong together. The next boot says so, removes the file and begins without it.',
  ),
  'consumer.foreign': term(
    'Stored offset, foreign name',
    'disk#consumer-offsets',
    'The name of the file is no number of a consumer. No boot looks into it, and none removes it.',
  ),
  'consumer.no_file': term(
    'Stored offset, no file',
    'disk#consumer-offsets',
    'A directory or a link has the name of a consumer. It is not followed, and counts as nothing stored.',
  ),
  'difference.place': term(
    'Difference of place',
    'disk#logs-compared',
    'At the same byte two logs hold different batches. They have written different histories, which no fault may cause.',
  ),
  'difference.checksum': term(
    'Difference of bytes',
    'disk#logs-compared',
    'The same batch by offset and length, with other bytes, and both copies agree with their own checksums. One was sealed anew by somebody.',
  ),
  'difference.verdict': term(
    'Difference of verdict',
    'disk#logs-compared',
    'A copy no longer agrees with its own checksum while another one does. The bytes changed after they were written.',
  ),
  'difference.unreadable': term(
    'Unreadable from here',
    'disk#logs-compared',
    'The file of one copy goes on, and nothing in it is a batch any more. What the others hold there is not lost.',
  ),
  'chain.absent': term(
    'Segment absent',
    'disk#logs-compared',
    'A chain lacks a segment between segments that it has. Retention may have removed it there first, or a transfer has yet to bring it.',
  ),
  'chain.sealed': term(
    'Sealed copies differ',
    'disk#logs-compared',
    'Two sealed copies of a segment are not equally long. Sealed segments are equal to the byte, so one of them is damaged.',
  ),
  'wal-slot.free': term(
    'Slot, free',
    'disk#slots-of-the-log',
    'No entry has this slot: it was never used, or its entry was truncated. The next op of its number takes it.',
  ),
  'wal-slot.freed': term(
    'Slot, freed',
    'disk#slots-of-the-log',
    'The last checkpoint took the entry off the log. Its op is in the snapshot now.',
  ),
  'wal-slot.writing': term(
    'Slot, writing',
    'disk#slots-of-the-log',
    'The entry is on its way to the disk and not synced. Nobody acknowledges it yet.',
  ),
  'wal-slot.prepared': term(
    'Slot, prepared',
    'disk#slots-of-the-log',
    'The entry is durable here. This node does not know that a quorum has it.',
  ),
  'wal-slot.committed': term(
    'Slot, committed',
    'disk#slots-of-the-log',
    'A quorum has the op. It is not applied here yet.',
  ),
  'wal-slot.applied': term(
    'Slot, applied',
    'disk#slots-of-the-log',
    'The op is committed and carried out. The entry stays for repair and for the next boot.',
  ),
  'wal-slot.checkpointed': term(
    'Slot, checkpointed',
    'disk#slots-of-the-log',
    'The snapshot on disk contains the op. Its slot may be taken by the op that comes a round later.',
  ),
  'wal-slot.hole': term(
    'Slot, hole',
    'disk#slots-of-the-log',
    'The log knows of ops around this one and does not hold it. Repair must bring it before anything behind it is applied.',
  ),
  'wal-slot.faulty': term(
    'Slot, faulty',
    'disk#slots-of-the-log',
    'The file does not hold what was written. A boot would not apply it.',
  ),
  'wal-entry.valid': term(
    'Entry, valid',
    'disk#an-entry-proved',
    'Its checksum was computed from these bytes just now and is the stored one. Header and body are judged apart.',
  ),
  'wal-entry.bad': term(
    'Entry, bad',
    'disk#an-entry-proved',
    'The stored checksum is not that of these bytes. What the entry says is not taken for a fact.',
  ),
  'wal-entry.unsealed': term(
    'Entry, unsealed',
    'disk#an-entry-proved',
    'An older build wrote it without a checksum. There is nothing to verify it with.',
  ),
  'wal-entry.unread': term(
    'Entry, unread',
    'disk#an-entry-proved',
    'The entry is longer than what was read of it. Nothing is said of the rest.',
  ),
  'wal-parent.follows': term(
    'Parent, follows',
    'disk#an-entry-proved',
    'The entry names the checksum of the op before it, and that is what the log holds. The chain is whole here.',
  ),
  'wal-parent.broken': term(
    'Parent, broken',
    'disk#an-entry-proved',
    'The entry names another op before it than the one that is held. One of the two belongs to another history.',
  ),
  'wal-parent.first': term(
    'Parent, first',
    'disk#an-entry-proved',
    'The op before it is not held, so there is nothing to compare with. That is how a log begins behind a checkpoint.',
  ),
  'wal-parent.unsealed': term(
    'Parent, unsealed',
    'disk#an-entry-proved',
    'The op before it has no checksum. The chain can’t be followed there.',
  ),
  'wal-scan.clean': term(
    'Scan, clean',
    'disk#scan',
    'Every entry to the end of the file holds together. A boot would take the log as it is.',
  ),
  'wal-scan.torn': term(
    'Scan, torn',
    'disk#scan',
    'The last entry is cut short and nothing is behind it. A boot cuts it off, for nobody was told of it.',
  ),
  'wal-scan.damage': term(
    'Scan, damage',
    'disk#scan',
    'An entry is wrong, and entries follow it. A boot refuses, because cutting there would lose what was acknowledged.',
  ),
  'checkpoint.idle': term(
    'Checkpoint, idle',
    'disk#checkpoint',
    'No checkpoint is under way. One begins when free slots run low.',
  ),
  'checkpoint.snapshot': term(
    'Checkpoint, snapshot',
    'disk#checkpoint',
    'The state of the metadata is written to a file of its own. The log goes on meanwhile.',
  ),
  'checkpoint.pairing': term(
    'Checkpoint, pairing',
    'disk#checkpoint',
    'The superblock is written with the op and checksum of the new snapshot. From then on a boot needs this snapshot.',
  ),
  'checkpoint.drain': term(
    'Checkpoint, drain',
    'disk#checkpoint',
    'Appends that are on their way are waited for. No entry may come between the copy and the swap.',
  ),
  'checkpoint.install': term(
    'Checkpoint, install',
    'disk#checkpoint',
    'A shorter log takes the place of the old one. What the snapshot contains is no longer in it.',
  ),

  'boot.ignored': term(
    'Boot: ignored',
    'disk#boot-steps',
    'The boot saw it and left it alone. It is no part of what is served.',
  ),
  'boot.unlinked': term('Boot: unlinked', 'disk#boot-steps', 'The file was removed. The line says why before it went.'),
  'boot.clamped': term(
    'Boot: clamped',
    'disk#boot-steps',
    'The stored value was beyond the end of the log. It was taken down to the last offset there is.',
  ),
  'boot.valid': term('Boot: valid', 'disk#boot-steps', 'The record verifies. It was taken as it is.'),
  'boot.legacy': term(
    'Boot: legacy',
    'disk#boot-steps',
    'A record of an older build, without a checksum. It was taken, and the next write seals it.',
  ),
  'boot.set aside': term(
    'Boot: set aside',
    'disk#boot-steps',
    'The file or directory was moved out of the way, with every byte. It waits there for somebody to look.',
  ),
  'boot.next offset': term(
    'Boot: next offset',
    'disk#boot-steps',
    'From here on offsets are given out. It is the highest of what the log, the names and the reservation say.',
  ),
  'boot.was there and is not': term(
    'Boot: was there and is not',
    'disk#boot-steps',
    'A range of offsets is missing from the files. Readers are told of the hole.',
  ),
  'boot.reserved by the life before': term(
    'Boot: reserved by the life before',
    'disk#boot-steps',
    'The life before may have given out these offsets and has not written them. None of them is given out again.',
  ),
  'boot.first segment': term(
    'Boot: first segment',
    'disk#boot-steps',
    'A first segment was made. The partition had none.',
  ),
  'boot.left in place': term(
    'Boot: left in place',
    'disk#boot-steps',
    'Setting it aside failed. It stays where it was and is not served.',
  ),
  'boot.left': term('Boot: left', 'disk#boot-steps', 'It could not be removed and stays. It is no part of the log.'),
  'boot.planted': term(
    'Boot: planted',
    'disk#boot-steps',
    'A new segment begins at the offset that is known to be free. What lies behind it is a hole that is told.',
  ),
  'boot.admitted': term(
    'Boot: admitted',
    'disk#boot-steps',
    'A hole between two segments is known to be one, by its anchor. The chain is accepted with it.',
  ),
  'boot.torn tail cut': term(
    'Boot: torn tail cut',
    'disk#boot-steps',
    'The last batch was cut short by a crash. It was never acknowledged from here, so it was cut off.',
  ),
  'boot.cut': term(
    'Boot: cut',
    'disk#boot-steps',
    'What hung over at the end was cut off. What came before it is untouched.',
  ),
  'boot.kept': term(
    'Boot: kept',
    'disk#boot-steps',
    'What hangs over at the end was left. It may belong to a commit that others know of.',
  ),
  'boot.index-drop': term(
    'Boot: index-drop',
    'disk#boot-steps',
    'The index did not fit the log and was thrown away. It is built anew from the log.',
  ),
  'boot.rebuilt': term(
    'Boot: rebuilt',
    'disk#boot-steps',
    'The index was built anew by walking the log. It says nothing that the log does not prove.',
  ),
  'boot.rebuild': term(
    'Boot: rebuild',
    'disk#boot-steps',
    'The index is absent or wrong. It will be built anew from the log.',
  ),
  'boot.index-floor': term(
    'Boot: index-floor',
    'disk#boot-steps',
    'Entries that pointed behind the end of the log were dropped. Those before them stay.',
  ),
  'boot.floor': term(
    'Boot: floor',
    'disk#boot-steps',
    'The index knows of more than the log holds. It will be cut back to what the log proves.',
  ),
  'boot.intact': term('Boot: intact', 'disk#boot-steps', 'The index agrees with the log. Nothing was done to it.'),
  'boot.created': term('Boot: created', 'disk#boot-steps', 'The file was made. There was none.'),
  'boot.accepted': term(
    'Boot: accepted',
    'disk#boot-steps',
    'The segments follow each other without a hole or an overlap. The chain is taken.',
  ),
  'boot.whole': term(
    'Boot: whole',
    'disk#boot-steps',
    'Every byte of the segment is part of a batch that verifies. Nothing hangs over.',
  ),
  'boot.torn_tail': term(
    'Boot: torn_tail',
    'disk#boot-steps',
    'Behind the last whole batch there are bytes of one that was cut short. They are cut off.',
  ),
  'boot.segments': term(
    'Boot: segments',
    'disk#boot-steps',
    'So many segments were found by their names. Each is walked next.',
  ),
  'boot.opened': term('Boot: opened', 'disk#boot-steps', 'The partition is served. Its steps stand above.'),
  'boot.deferred': term(
    'Boot: deferred',
    'disk#boot-steps',
    'The partition is opened later, when its metadata has come this far. Nothing was changed.',
  ),
  'boot.refused': term(
    'Boot: refused',
    'disk#boot-steps',
    'The partition is not served, and the reason is named. The other partitions of the node are.',
  ),
  'boot.pending': term(
    'Boot: pending',
    'disk#boot-steps',
    'A removal was committed and not finished before the crash. It is finished now.',
  ),
  'boot.present': term('Boot: present', 'disk#boot-steps', 'A record is there and verifies. The boot goes on from it.'),
  'boot.empty': term('Boot: empty', 'disk#boot-steps', 'There is nothing yet. The replica begins new here.'),
  'boot.clean': term('Boot: clean', 'disk#boot-steps', 'The file holds together to its end. It was taken as it is.'),
  'boot.torn': term('Boot: torn', 'disk#boot-steps', 'The last record was cut short. Nobody was told of it.'),
  'boot.damage': term(
    'Boot: damage',
    'disk#boot-steps',
    'Something before the end does not verify. Cutting there would lose what was acknowledged.',
  ),
  'boot.damaged': term(
    'Boot: damaged',
    'disk#boot-steps',
    'A view was found that can’t be what it says. A lower one that is proved was taken.',
  ),
  'boot.gap': term(
    'Boot: gap',
    'disk#boot-steps',
    'Ops are missing between those that are held and what was promised. They come from peers.',
  ),
  'boot.complete': term(
    'Boot: complete',
    'disk#boot-steps',
    'Every op up to the head is held. The state was built from them.',
  ),
  'boot.swept': term(
    'Boot: swept',
    'disk#boot-steps',
    'A leftover of an unfinished write was removed. It was never part of the state.',
  ),
  'boot.none': term('Boot: none', 'disk#boot-steps', 'No snapshot is paired. The log alone builds the state.'),
  'boot.equal': term(
    'Boot: equal',
    'disk#boot-steps',
    'The snapshot is the one that the superblock names. They belong together.',
  ),
  'boot.newer': term(
    'Boot: newer',
    'disk#boot-steps',
    'The snapshot is newer than the superblock says. It was written and not yet named, and it verifies.',
  ),
  'boot.unsealed': term(
    'Boot: unsealed',
    'disk#boot-steps',
    'The superblock names no checksum of the snapshot. It was written by an older build.',
  ),

  'refusal.InteriorDamage': term(
    'Refused: InteriorDamage',
    'disk#refusals-of-a-partition',
    'A whole batch lies behind damage. Cutting there would destroy what is durable, so the partition is not served.',
  ),
  'refusal.UnverifiedResidue': term(
    'Refused: UnverifiedResidue',
    'disk#refusals-of-a-partition',
    'What lies behind damage could not be searched to its end. Until somebody has looked, nothing is cut.',
  ),
  'refusal.OffsetDiscontinuity': term(
    'Refused: OffsetDiscontinuity',
    'disk#refusals-of-a-partition',
    'Two batches of a segment do not follow each other by offset. Which of them is right can’t be said here.',
  ),
  'refusal.ForeignBatch': term(
    'Refused: ForeignBatch',
    'disk#refusals-of-a-partition',
    'A batch names another partition. The file belongs elsewhere.',
  ),
  'refusal.Hole': term(
    'Refused: Hole',
    'disk#refusals-of-a-partition',
    'A segment is missing, or two overlap. The log before and behind it is whole.',
  ),
  'refusal.EmptyNonTailSegment': term(
    'Refused: EmptyNonTailSegment',
    'disk#refusals-of-a-partition',
    'A segment without a byte stands before others. Only the last may be empty.',
  ),
  'refusal.StorageSizeMismatch': term(
    'Refused: StorageSizeMismatch',
    'disk#refusals-of-a-partition',
    'A file has another size than the system reports when it is read. The storage itself is not to be trusted.',
  ),
  'refusal.PurgeGenerationTorn': term(
    'Refused: PurgeGenerationTorn',
    'disk#refusals-of-a-partition',
    'The record that counts purges is torn. Without it, purged messages could come back.',
  ),
  'refusal.FrontierNotRecorded': term(
    'Refused: FrontierNotRecorded',
    'disk#refusals-of-a-partition',
    'Offsets that a lost segment had given out could not be recorded. Giving out any now could give one out twice.',
  ),
  'refusal.IncarnationAhead': term(
    'Refused: IncarnationAhead',
    'disk#refusals-of-a-partition',
    'The directory belongs to a later partition of the same number. This one was deleted.',
  ),
}
