/** A scenario in words: its steps for a person to follow, and what was asked so that a verdict can be read. */
import { Command } from '../protocol/commands.ts'
import type { Asked } from '../scenario/evidence.ts'
import { SIGNS } from '../scenario/judge.ts'
import type {
  Action,
  Address,
  EventMatch,
  FileEdit,
  FileLength,
  GroupRef,
  NodeRef,
  Predicate,
} from '../scenario/language.ts'

/** Steps that belong together: a person is told of them once, and a run that goes step by step takes them at once. */
export interface StepLine {
  readonly text: string
  /** Index of the first step, and how many there are. */
  readonly first: number
  readonly count: number
}

/** What only keeps something for later goes with the step that follows. */
const QUIET: ReadonlySet<Action['do']> = new Set(['baseline', 'remember', 'recordFiles', 'client'])

export function stepLines(steps: readonly Action[]): StepLine[] {
  const lines: StepLine[] = []
  let first = 0
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index]!
    if (QUIET.has(step.do) && index + 1 < steps.length) continue
    const like = alike(steps, index)
    const text = like > 1 ? `${sentence(actionText(step))}, and ${like - 1} more like it` : sentence(actionText(step))
    index += like - 1
    lines.push({ text, first, count: index + 1 - first })
    first = index + 1
  }
  return lines
}

/** How many steps from here on are the same kind of request of one client. */
function alike(steps: readonly Action[], from: number): number {
  const step = steps[from]!
  if (step.do !== 'request') return 1
  let count = 1
  for (; from + count < steps.length; count++) {
    const next = steps[from + count]!
    if (next.do !== 'request' || next.client !== step.client || next.call.request !== step.call.request) break
  }
  return count
}

export function actionText(step: Action): string {
  switch (step.do) {
    case 'start':
    case 'terminate':
    case 'pause':
    case 'resume':
    case 'wipe':
      return `${step.do} ${nodesText(step.nodes)}`
    case 'kill':
      return `kill ${nodesText(step.nodes)}${step.loss === undefined ? '' : `; its disk loses ${typeof step.loss === 'object' ? `page ${step.loss.logPage} of its log` : LOSSES[step.loss]}`}`
    case 'cut':
    case 'heal':
      return `${step.do} the link from ${nodeText(step.from)} to ${nodeText(step.to)}${commandText(step.command)}`
    case 'hold':
      return `hold ${step.count ?? 'all'} ${commandName(step.command)} from ${nodeText(step.from)} to ${nodeText(step.to)}, as ${step.name}`
    case 'release':
      return `release ${step.name}`
    case 'arm':
      return `arm ${step.point} on ${nodeText(step.node)}: ${step.effect.effect}${step.after ? ` after ${step.after} hits` : ''}`
    case 'disarm':
      return `disarm ${step.point} on ${nodeText(step.node)}`
    case 'measure':
      return `from the next start of ${nodeText(step.node)} on, write log and index ${step.halves === 'serial' ? 'one behind the other' : 'side by side'}`
    case 'edit':
      return `edit files of ${nodeText(step.node)}: ${step.edits.map(editText).join('; ')}`
    case 'undo':
      return `take back the last edit of ${nodeText(step.node)}`
    case 'skewClock':
      return `move the clock of ${nodeText(step.node)} by ${step.byMs} ms`
    case 'request':
      return requestText(step)
    case 'client':
      return `client ${step.client} connects to ${nodesText(step.nodes)}`
    case 'closeClient':
      return `client ${step.client} goes away`
    case 'startLoad':
      return `start the load ${step.load}`
    case 'stopLoad':
      return `stop the load ${step.load} and read everything back`
    case 'baseline':
      return `remember this moment as ${step.name}`
    case 'remember':
      return `remember ${nodeText(step.node)} as ${step.name}`
    case 'recordFiles':
      return `record the files of ${nodeText(step.node)} under ${step.under}`
    case 'waitFor':
      return `wait until ${step.what}`
    case 'check':
      return `check that ${step.what}`
    case 'always':
      return `for ${step.forMs} ms: ${step.what}`
    case 'repeat':
      return `${step.times} times: ${step.steps.map(actionText).join(', ')}`
  }
}

const LOSSES = {
  drop: 'all that was not synced',
  part: 'a part of what was not synced',
  'keep-index': 'what was not synced, but for index files',
  'keep-log': 'what was not synced, but for log files',
} as const

function requestText({ client, call, background, expect = 'ok' }: Extract<Action, { do: 'request' }>): string {
  const what =
    call.request === 'send'
      ? `sends ${call.payloads.length === 1 ? 'one message' : `${call.payloads.length} messages`}`
      : call.request === 'poll'
        ? `reads ${call.stream}/${call.topic}/${call.partition} from ${typeof call.from === 'string' ? call.from : call.from.offset}${call.polls === undefined ? '' : `, with ${call.polls} polls`}`
        : `asks ${call.request}`
  const rest = background ? ', without waiting' : expect === 'ok' ? '' : `, expecting ${[expect].flat().join(' or ')}`
  return `client ${client} ${what}${rest}`
}

function editText(edit: FileEdit): string {
  switch (edit.edit) {
    case 'truncate':
      return `cut ${edit.path} at ${addressText(edit.to)}`
    case 'append':
      return `append ${hexText(edit.hex)}${edit.times === undefined ? '' : ` × ${edit.times}`} to ${edit.path}`
    case 'flip':
      return `flip bits ${edit.mask.toString(2)} at ${addressText(edit.at)} of ${edit.path}`
    case 'write':
      return `write ${hexText(edit.hex)} at ${addressText(edit.at)} of ${edit.path}`
    case 'delete':
      return `delete ${edit.path}`
    case 'copy':
      return `copy ${edit.path} to ${edit.to}`
    case 'swap':
      return `swap ${edit.length} bytes at ${addressText(edit.a)} and ${addressText(edit.b)} of ${edit.path}`
    case 'reseal':
      return `recompute the checksums of ${edit.path}`
  }
}

const HEX_SHOWN = 64

/** Long bytes by their beginning and their count: 256 KiB are no text. */
const hexText = (hex: string): string =>
  hex.length <= HEX_SHOWN ? hex : `${hex.slice(0, HEX_SHOWN)}… (${hex.length / 2} bytes)`

function addressText(at: Address): string {
  if ('byte' in at) return `byte ${at.byte}`
  if ('fraction' in at) return `${at.fraction} of its length`
  if ('walOp' in at) return `op ${at.walOp}, ${at.part} byte ${at.offset}`
  if ('walEntry' in at) return `entry ${nth(at.walEntry)}, ${at.part} byte ${at.offset}`
  if ('batch' in at) return `batch ${nth(at.batch)}, ${at.part} byte ${at.offset}`
  return `index entry ${nth(at.indexEntry)}, byte ${at.offset}`
}

const nth = (index: number): string => (index < 0 ? `${-index} from the end` : String(index))

export function nodeText(node: NodeRef): string {
  if (typeof node === 'number') return `node ${node}`
  if ('primaryOf' in node) return `the primary of ${groupText(node.primaryOf)}`
  if ('backupOf' in node) return `backup ${node.nth ?? 0} of ${groupText(node.backupOf)}`
  return node.named
}

const nodesText = (nodes: readonly NodeRef[] | 'all'): string =>
  nodes === 'all' ? 'all nodes' : nodes.map(nodeText).join(' and ')

const groupText = (group: GroupRef): string => (group === 'metadata' ? 'metadata' : `partition ${group}`)

const COMMANDS = new Map<number, string>(Object.entries(Command).map(([name, value]) => [Number(value), name]))
const commandName = (command: number): string => COMMANDS.get(command) ?? `command ${command}`
const commandText = (command: number | undefined): string =>
  command === undefined ? '' : `, only ${commandName(command)}`

/** The predicate itself, short and exact. */
export function predicateText(predicate: Predicate): string {
  if ('all' in predicate) return predicate.all.map(inner).join(' and ')
  if ('any' in predicate) return predicate.any.map(inner).join(' or ')
  if ('not' in predicate) return `not ${inner(predicate.not)}`
  if ('event' in predicate) return eventText(predicate.event, predicate.atLeast, predicate.atMost)
  if ('group' in predicate) {
    const { value } = predicate
    const right =
      typeof value === 'object' ? `${value.field} of ${groupText(value.group)} at ${nodeText(value.node)}` : value
    const { node, group, field } = predicate.group
    return `${field} of ${groupText(group)} at ${nodeText(node)} ${SIGNS[predicate.is]} ${right}`
  }
  if ('agree' in predicate)
    return `every node reports one ${predicate.agree.field} of ${groupText(predicate.agree.group)}`
  if ('settled' in predicate)
    return `${predicate.nodes ? nodesText(predicate.nodes) : 'all running nodes'}: every group normal, applied as far as committed, one commit everywhere`
  if ('oneLeader' in predicate) return `exactly one primary of ${groupText(predicate.oneLeader)}, named by all`
  if ('process' in predicate) {
    const { process, state, exit, code } = predicate
    return `${nodeText(process)} is ${state}${exit === undefined ? '' : `, exit ${exit}`}${code === undefined ? '' : `, ${code}`}`
  }
  if ('fileUnchanged' in predicate) return `files recorded as ${predicate.fileUnchanged} have the same bytes`
  if ('file' in predicate) {
    const { node, path } = predicate.file
    const file = `${path} of ${nodeText(node)}`
    return 'exists' in predicate
      ? `${file} ${predicate.exists ? 'exists' : 'does not exist'}`
      : `length of ${file} ${SIGNS[predicate.length]} ${lengthText(predicate.value)}`
  }
  if ('superblock' in predicate) {
    const { node, directory } = predicate.superblock
    const right = typeof predicate.value === 'object' ? `that of ${nodeText(predicate.value.on)}` : predicate.value
    return `${predicate.field} in the superblock ${directory} of ${nodeText(node)} ${SIGNS[predicate.is]} ${right}`
  }
  if ('sameLogs' in predicate)
    return `log files of ${groupText(predicate.sameLogs)} are equal on ${predicate.nodes ? nodesText(predicate.nodes) : 'all nodes'}`
  if ('outcome' in predicate) {
    if ('payloads' in predicate) return `answer ${predicate.outcome} has payloads ${predicate.payloads.join(', ')}`
    if ('baseOffset' in predicate)
      return `base offset of answer ${predicate.outcome} ${SIGNS[predicate.baseOffset]} ${predicate.value}`
    if ('sameReplyAs' in predicate) return `answer ${predicate.outcome} has the bytes of ${predicate.sameReplyAs}`
    if ('tookMs' in predicate)
      return `answer ${predicate.outcome} took ${SIGNS[predicate.tookMs]} ${predicate.value} ms`
    return `answer ${predicate.outcome} is ${predicate.is}${predicate.error === undefined ? '' : ` ${predicate.error}`}`
  }
  if ('medianOf' in predicate) {
    const { value } = predicate
    const right =
      typeof value === 'number' ? `${value} ms` : `${value.percent} % of the median of ${namesText(value.ofMedian)}`
    return `median time of ${namesText(predicate.medianOf)} ${SIGNS[predicate.tookMs]} ${right}`
  }
  if ('reached' in predicate)
    return `times ${predicate.reached.point} of ${nodeText(predicate.reached.node)} was reached ${SIGNS[predicate.is]} ${predicate.value}`
  if ('pauseOf' in predicate)
    return `longest pause of ${nodeText(predicate.pauseOf)} ${SIGNS[predicate.is]} ${predicate.valueMs} ms`
  const counts = Object.entries(predicate.counts).map(([name, [is, value]]) => `${name} ${SIGNS[is]} ${value}`)
  return `load ${predicate.load}: ${counts.join(', ')}`
}

function lengthText(length: number | FileLength): string {
  if (typeof length === 'number') return String(length)
  if ('of' in length) return `that of ${length.of.path} of ${nodeText(length.of.node)}`
  const plus = length.plus ?? 0
  return `that recorded as ${length.recorded}${plus === 0 ? '' : plus > 0 ? ` + ${plus}` : ` − ${-plus}`}`
}

/** `timed-0 to timed-19` for many of one kind. */
const namesText = (names: readonly string[]): string =>
  names.length < 4 ? names.join(', ') : `${names[0]} to ${names.at(-1)}`

const inner = (predicate: Predicate): string =>
  'all' in predicate || 'any' in predicate ? `(${predicateText(predicate)})` : predicateText(predicate)

function eventText(match: EventMatch, atLeast: number | undefined, atMost: number | undefined): string {
  const { node, kind, group, where, since } = match
  const least = atLeast ?? (atMost === undefined ? 1 : 0)
  const often =
    atMost === undefined
      ? `at least ${least}`
      : least === atMost
        ? `exactly ${atMost}`
        : least === 0
          ? `at most ${atMost}`
          : `${least} to ${atMost}`
  const fields = Object.entries(where ?? {}).map(([name, value]) => ` with ${name} = ${value}`)
  return `events ${kind}${node === undefined ? '' : ` of ${nodeText(node)}`}${group === undefined ? '' : ` about ${groupText(group)}`}${fields.join('')}${since === undefined ? '' : ` since ${since}`}: ${often}`
}

/** What one item of evidence was gathered for. */
export function askedText(asked: Asked): string {
  switch (asked.ask) {
    case 'predicate': {
      const { predicate, withinMs, forMs } = asked
      const time = withinMs !== undefined ? `within ${withinMs} ms: ` : forMs !== undefined ? `for ${forMs} ms: ` : ''
      return time + predicateText(predicate)
    }
    case 'answer':
      return asked.expect === 'any' ? 'any answer' : `the answer is ${[asked.expect].flat().join(' or ')}`
    case 'ended':
      return `everything is read back within ${asked.withinMs} ms`
    case 'checkers':
      return 'no checker objects, and they had something to compare'
  }
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
