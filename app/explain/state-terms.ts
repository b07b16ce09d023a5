/** Words of states and verdicts that are concluded, not read: how a node, a reader, a request, a forward or a run stands. */
import { type Term, term } from './term.ts'

export const STATE_TERMS: Readonly<Record<string, Term>> = {
  'poll.offset': term(
    'Poll by offset',
    'logs#poll',
    'It begins at the offset that is named, or at the next one where that lies in a gap. Beyond the last committed offset it brings nothing.',
  ),
  'poll.timestamp': term(
    'Poll by time',
    'logs#poll',
    'It begins with the first batch that was appended at that time or later. The time is the primary’s, and all messages of a batch share it.',
  ),
  'poll.first': term(
    'Poll first',
    'logs#poll',
    'It begins at the earliest message that is still there. Retention may have removed what came before.',
  ),
  'poll.last': term(
    'Poll last',
    'logs#poll',
    'It brings the newest committed messages, in ascending order. What is prepared and not committed is never told.',
  ),
  'poll.next': term(
    'Poll next',
    'logs#poll',
    'It begins behind what is stored for the consumer, or at the first message when nothing is. From this page nothing is stored by polling.',
  ),
  'reader.behind': term(
    'Reader, behind',
    'logs#where-a-reader-stands',
    'There are offsets behind what is stored for this consumer. The next poll brings them.',
  ),
  'reader.at_end': term(
    'Reader, at the end',
    'logs#where-a-reader-stands',
    'What is stored is the last visible offset. The next poll brings nothing until somebody writes.',
  ),
  'reader.below_earliest': term(
    'Reader, below the earliest',
    'logs#where-a-reader-stands',
    'What it would read next was removed. It goes on at the earliest offset that is there, and what lies between is gone.',
  ),
  'reader.beyond': term(
    'Reader, beyond the end',
    'logs#where-a-reader-stands',
    'An offset is stored that the log has not reached. The files belong to different histories, or the log was purged.',
  ),
  'retry.new': term(
    'Request, new',
    'logs#a-request-that-comes-again',
    'Its number is above the watermark of its session, so nobody has applied it. It is ordered and runs.',
  ),
  'retry.duplicate': term(
    'Request, duplicate',
    'logs#a-request-that-comes-again',
    'It was applied, and its reply is kept. The same reply is sent again and nothing runs twice.',
  ),
  'retry.already_applied': term(
    'Request, already applied',
    'logs#a-request-that-comes-again',
    'It was applied, and its reply is kept no more. It does not run again, and the client is told that it was applied.',
  ),
  'retry.no_session': term(
    'Request without a session',
    'logs#a-request-that-comes-again',
    'The table has no session for this client. It is refused, and the client signs in anew.',
  ),
  'journal.prepared': term(
    'Journal, prepared',
    'logs#journal',
    'The op is in the memory of this replica and not applied. The next view may bring another one in its place.',
  ),
  'journal.committed': term(
    'Journal, committed',
    'logs#journal',
    'The op is applied, and its bytes are owed to the disk. A flush or a restart by peers settles it.',
  ),
  'journal.settled': term(
    'Journal, settled',
    'logs#journal',
    'The op is on disk, or has nothing to write. It is kept for repair until the ring is full.',
  ),
  'gap.ring_overflow': term(
    'Gap, ring overflow',
    'logs#gap',
    'A node told more than its ring keeps before the console had read it. The missing ones are counted and lost to this page.',
  ),
  'gap.slow_reader': term(
    'Gap, slow reader',
    'logs#gap',
    'This page, or the recording, took longer than the console could wait. It asks for snapshots and goes on from there.',
  ),
  'gap.node_restarted': term(
    'Gap, node restarted',
    'logs#gap',
    'The node began another life, whose events are counted anew. What the life before had not told yet is gone.',
  ),
  'gap.console_restarted': term(
    'Gap, console restarted',
    'logs#gap',
    'Another run of the console tells the events now. It knows nothing of those that this page saw before.',
  ),
  'gap.damaged': term(
    'Gap, damaged',
    'logs#gap',
    'A part of the recording does not verify. What it held is not shown.',
  ),

  'forward-step.received': term(
    'Step: received',
    'forwards#steps',
    'The write came to a node that does not lead its partition. This node is its origin.',
  ),
  'forward-step.parked': term(
    'Step: parked',
    'forwards#steps',
    'The origin holds the write until its outcome is known. It has room for a bounded number of them.',
  ),
  'forward-step.sent': term(
    'Step: sent',
    'forwards#steps',
    'The write left for the primary under its nonce. It goes one hop and no further.',
  ),
  'forward-step.unsent': term(
    'Step: unsent',
    'forwards#steps',
    'The write could not leave, so it surely never came anywhere. The client may send it again.',
  ),
  'forward-step.taken': term(
    'Step: taken',
    'forwards#steps',
    'The node it was sent to took it and leads the partition. From here on it may be committed.',
  ),
  'forward-step.accepted': term(
    'Step: accepted',
    'forwards#steps',
    'A quorum has the write. The primary has said so once, for this nonce.',
  ),
  'forward-step.refused': term(
    'Step: refused',
    'forwards#steps',
    'The primary refused it before it became an op. It is surely not stored.',
  ),
  'forward-step.answered': term(
    'Step: answered',
    'forwards#steps',
    'The origin told its client how it ended. The write is parked no more.',
  ),
  'forward-step.lost': term(
    'Step: lost',
    'forwards#steps',
    'The outcome did not come in time, or its connection broke. The client was told that nobody knows.',
  ),

  'standing.primary': term(
    'Stands as primary',
    'views#standing',
    'It leads, and a majority of those who are heard says so. What it commits counts.',
  ),
  'standing.healthy': term(
    'Stands as a healthy backup',
    'views#standing',
    'It follows the view of the group and lacks nothing that was committed a second ago. Less than that is the protocol at work.',
  ),
  'standing.behind': term(
    'Behind',
    'views#standing',
    'It follows, and lacks ops that had been committed for more than a second. Repair or a transfer closes the gap by itself.',
  ),
  'standing.recovering': term(
    'Stands as recovering',
    'views#standing',
    'It has restarted and asks for the view. It counts for no quorum until it knows.',
  ),
  'standing.view_change': term(
    'Stands in a view change',
    'views#standing',
    'It has left its view and serves nobody. It waits for the next one.',
  ),
  'standing.tombstoned': term(
    'Stands as refused',
    'views#standing',
    'The node runs and does not serve this group. It says which file or fact it refuses.',
  ),
  'standing.paused': term(
    'Stands as paused',
    'views#standing',
    'Its process is stopped by a signal. Its last words are shown with their age and support nothing.',
  ),
  'standing.silent': term(
    'Silent',
    'views#standing',
    'Its process runs and was not heard for two seconds. That is neither dead nor well.',
  ),
  'standing.down': term(
    'Down',
    'views#standing',
    'Its process has ended. Its last words stay visible and support nothing.',
  ),
  'standing.unknown': term(
    'Not heard',
    'views#standing',
    'Nothing is known of this life of the node. A new process must speak for itself.',
  ),
  'no-primary.no_reports': term(
    'No primary: no reports',
    'views#no-primary',
    'No node that runs reports on this group. Nothing follows, neither that it serves nor that it does not.',
  ),
  'no-primary.no_quorum': term(
    'No primary: no quorum',
    'views#no-primary',
    'Too few replicas are heard for a majority of the whole cluster. Writes wait until enough come back.',
  ),
  'no-primary.primary_down': term(
    'No primary: it is down',
    'views#no-primary',
    'The replica that the others still name has ended. They elect when it has been silent for five seconds.',
  ),
  'no-primary.primary_paused': term(
    'No primary: it is paused',
    'views#no-primary',
    'The replica that the others still name is stopped by a signal. To them it looks dead, and they elect.',
  ),
  'no-primary.primary_silent': term(
    'No primary: it is silent',
    'views#no-primary',
    'The replica that the others name is not heard here. Whether it leads can’t be said.',
  ),
  'no-primary.view_change': term(
    'No primary: view change',
    'views#no-primary',
    'Those who are heard have left their view. One of them leads as soon as enough logs are in its hands.',
  ),
  'no-primary.disagree': term(
    'No primary: disagreement',
    'views#no-primary',
    'Those who are heard name different primaries, or one that does not say so itself. The page does not choose among them.',
  ),
  'belief.primary': term(
    'Believes: primary',
    'views#who-believes-whom',
    'The reporter takes this replica for the primary of its view. The view is printed beside it.',
  ),
  'belief.backup': term(
    'Believes: backup',
    'views#who-believes-whom',
    'The reporter takes this replica for a follower. It follows from the view alone.',
  ),
  'belief.candidate': term(
    'Believes: candidate',
    'views#who-believes-whom',
    'In the view that the reporter wants, this replica would lead. It does not yet.',
  ),
  'belief.voted': term(
    'Believes: voted',
    'views#who-believes-whom',
    'The reporter has this replica’s vote for the next view. With enough of them the view changes.',
  ),
  'belief.no_vote': term(
    'Believes: no vote',
    'views#who-believes-whom',
    'The reporter waits for a view change and has no vote of this replica. It may be on its way.',
  ),
  'belief.recovering': term(
    'Believes: recovering',
    'views#who-believes-whom',
    'The reporter has restarted and takes nobody for the primary yet. It asks.',
  ),
  'belief.silent': term(
    'Believes: no link',
    'views#who-believes-whom',
    'The reporter has no connection to this replica. Between the two nothing is said.',
  ),
  'belief.nothing': term(
    'Says nothing',
    'views#who-believes-whom',
    'The reporter has said nothing of this group. Nothing is put into its mouth.',
  ),

  'heard.live': term(
    'Live',
    'processes#heard',
    'The process runs, and this very life of it was heard in the last two seconds. Its numbers are of now.',
  ),
  'heard.paused': term(
    'Not heard: paused',
    'processes#heard',
    'The process is stopped by a signal and can’t answer. Its last words are as old as it says.',
  ),
  'heard.silent': term(
    'Not heard: silent',
    'processes#heard',
    'The process runs and does not answer. It may hang, or be busy.',
  ),
  'heard.down': term('Dead', 'processes#heard', 'The process has ended. What is shown of it are its last words.'),
  'heard.unknown': term(
    'Never heard',
    'processes#heard',
    'This life of the process has not spoken yet. The words of the one before it are not its own.',
  ),
  'heard.connected': term(
    'Connected',
    'processes#heard',
    'The console follows the events of the node. A gap between two of them would be told.',
  ),
  'heard.connecting': term(
    'Connecting',
    'processes#heard',
    'The console tries to reach the node. Until then it knows only that the process runs.',
  ),
  'link.cut': term(
    'Link, cut',
    'processes#link-faults',
    'Frames one way are thrown away at the proxy. The connection itself stays open, as with a bad cable.',
  ),
  'link.hold': term(
    'Link, held',
    'processes#link-faults',
    'Frames of some kinds wait at the proxy. They go on one by one or all at once when they are let go.',
  ),
  'link.double': term(
    'Link, doubled',
    'processes#link-faults',
    'Each frame arrives twice. A replica must take the second for what it is.',
  ),
  'link.delay': term(
    'Link, delayed',
    'processes#link-faults',
    'Each frame comes later by the time that is named. Their order stays as it was.',
  ),
  'exit.0': term('Exit 0', 'processes#exit-status', 'A clean stop. Nothing is owed to the disk.'),
  'exit.2': term(
    'Exit 2',
    'processes#exit-status',
    'The head of the log can’t be reconciled with what the group has. Going on would fork it, so the process ends.',
  ),
  'exit.3': term(
    'Exit 3',
    'processes#exit-status',
    'The superblock can’t be written. A replica that can’t keep its promises makes none.',
  ),
  'exit.64': term(
    'Exit 64',
    'processes#exit-status',
    'The configuration is wrong. Nothing was opened and nothing written.',
  ),
  'exit.65': term(
    'Exit 65',
    'processes#exit-status',
    'The node refuses to boot from this directory. No byte of it was changed.',
  ),
  'exit.69': term(
    'Exit 69',
    'processes#exit-status',
    'A port or the data directory is in use. Another process has it.',
  ),
  'exit.70': term(
    'Exit 70',
    'processes#exit-status',
    'A fault of this program: an exception that nobody caught. The log has its stack.',
  ),
  'exit.74': term(
    'Exit 74',
    'processes#exit-status',
    'A write to disk failed. After that nothing in memory can be trusted to be kept, so the process ends at once.',
  ),

  'load-state.idle': term(
    'Load, idle',
    'verdicts#a-load-and-its-states',
    'No load runs. Nothing of it changes the cluster.',
  ),
  'load-state.starting': term(
    'Load, starting',
    'verdicts#a-load-and-its-states',
    'The load signs in and makes its topic. No message counts yet.',
  ),
  'load-state.running': term(
    'Load, running',
    'verdicts#a-load-and-its-states',
    'Messages are sent at the pace that is set, and read back. Every one is in the ledger.',
  ),
  'load-state.stopping': term(
    'Load, stopping',
    'verdicts#a-load-and-its-states',
    'No new message is sent. The answers of those that were are waited for.',
  ),
  'load-state.verifying': term(
    'Load, verifying',
    'verdicts#a-load-and-its-states',
    'The reader goes through everything that was acknowledged. Its verdict comes at the end.',
  ),
  'load-state.done': term(
    'Load, done',
    'verdicts#a-load-and-its-states',
    'The load has ended and was read back. Its verdict stands.',
  ),
  'load-state.failed': term(
    'Load, failed',
    'verdicts#a-load-and-its-states',
    'The load could not go on, and says why. What was counted so far is true.',
  ),

  'bench.running': term(
    'Benchmark, running',
    'verdicts#benchmarks',
    'The suite runs as a process of its own. Its figures come at the end.',
  ),
  'bench.cancelling': term(
    'Benchmark, cancelling',
    'verdicts#benchmarks',
    'It was asked to end and cleans up. It gives no figures.',
  ),
  'bench.done': term(
    'Benchmark, done',
    'verdicts#benchmarks',
    'It ran to its end. The figures are those that the command printed.',
  ),
  'bench.refused': term(
    'Benchmark, refused',
    'verdicts#benchmarks',
    'The machine was busy, so nothing was measured. A figure of a busy machine would mislead.',
  ),
  'bench.cancelled': term(
    'Benchmark, cancelled',
    'verdicts#benchmarks',
    'Somebody ended it. A part of a measurement is no measurement.',
  ),
  'bench.failed': term(
    'Benchmark, failed',
    'verdicts#benchmarks',
    'It ended by itself without figures, and says why. Nothing is concluded.',
  ),
}
