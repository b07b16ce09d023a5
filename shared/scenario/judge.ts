/**
 * Whether a predicate holds of what was read, and in words what was seen. Pure: the same reading gives the same answer for
 * ever, so a verdict can be computed again from kept evidence, and an altered reading is judged as it stands.
 */
import type { Comparison, Predicate, Scalar } from './language.ts'
import type { OutcomeReading, Reading, Value } from './reading.ts'

/** As people write them. */
export const SIGNS: Readonly<Record<Comparison, string>> = { eq: '=', ne: '≠', lt: '<', le: '≤', gt: '>', ge: '≥' }

export interface Seen {
  readonly holds: boolean
  readonly seen: string
}

/** The reading is not one of this predicate: nothing can be said. */
export class NotOfThisPredicate extends Error {}

/**
 * @param predicate what was asked
 * @param reading what `read` found for it
 * @throws NotOfThisPredicate when the reading has another shape than the predicate asks for
 */
export function judge(predicate: Predicate, reading: Reading): Seen {
  if ('all' in predicate || 'any' in predicate || 'not' in predicate) return composite(predicate, reading)
  if ('event' in predicate) {
    const { count } = shaped(reading, 'events')
    const { atLeast = predicate.atMost === undefined ? 1 : 0, atMost = Number.POSITIVE_INFINITY } = predicate
    return { holds: count >= atLeast && count <= atMost, seen: `${predicate.event.kind} × ${count}` }
  }
  if ('group' in predicate) {
    const { value, other } = shaped(reading, 'field')
    const right = typeof predicate.value === 'object' ? other : predicate.value
    const seen = `${predicate.group.group} ${predicate.group.field} is ${value ?? undefined}, wanted ${SIGNS[predicate.is]} ${right ?? undefined}`
    return { holds: present(value) && present(right) && compare(value, predicate.is, right), seen }
  }
  if ('agree' in predicate) {
    const { values } = shaped(reading, 'fields')
    const distinct = new Set(values.map(({ value }) => value))
    return {
      holds: distinct.size === 1 && !distinct.has(null),
      seen: `${predicate.agree.field}: ${values.map(({ node, value }) => `node ${node} ${value ?? undefined}`).join(', ')}`,
    }
  }
  if ('settled' in predicate) return settled(shaped(reading, 'standings'))
  if ('oneLeader' in predicate) return oneLeader(shaped(reading, 'standings'))
  if ('process' in predicate) {
    const report = shaped(reading, 'process')
    const holds =
      report.state === predicate.state &&
      (predicate.exit === undefined || report.exit === predicate.exit) &&
      (predicate.code === undefined || report.code === predicate.code)
    const words = [
      `node ${report.node} ${report.state}`,
      ...(report.exit === undefined ? [] : [`exit ${report.exit}`]),
      ...(report.code === undefined ? [] : [report.code]),
    ]
    return { holds, seen: words.join(', ') }
  }
  if ('fileUnchanged' in predicate) return unchanged(shaped(reading, 'files'))
  if ('file' in predicate) {
    const { bytes, path, other } = shaped(reading, 'file')
    if ('exists' in predicate)
      return { holds: (bytes !== null) === predicate.exists, seen: bytes === null ? 'not there' : 'there' }
    if (bytes === null) return { holds: false, seen: `${predicate.file.path} is not there` }
    const wanted = typeof predicate.value === 'number' ? predicate.value : other
    return {
      holds: present(wanted) && compare(bytes, predicate.length, wanted),
      seen: `${path} has ${bytes} bytes${typeof predicate.value === 'number' ? '' : `, wanted ${SIGNS[predicate.length]} ${wanted ?? undefined}`}`,
    }
  }
  if ('superblock' in predicate) {
    const { node, value, other } = shaped(reading, 'field')
    const right = typeof predicate.value === 'object' ? other : predicate.value
    return {
      holds: present(value) && present(right) && compare(value, predicate.is, right),
      seen: `node ${node}: ${predicate.field} on disk is ${value ?? undefined}, wanted ${SIGNS[predicate.is]} ${right ?? undefined}`,
    }
  }
  if ('sameLogs' in predicate) return sameLogs(shaped(reading, 'logs'))
  if ('outcome' in predicate)
    return 'sameReplyAs' in predicate
      ? sameReply(predicate, shaped(reading, 'outcomes'))
      : outcome(predicate, shaped(reading, 'outcome').outcome)
  if ('medianOf' in predicate) return median(predicate, shaped(reading, 'outcomes'))
  if ('reached' in predicate) {
    const { node, value } = shaped(reading, 'field')
    return {
      holds: present(value) && compare(value, predicate.is, predicate.value),
      seen: `${predicate.reached.point} of node ${node} was reached ${value ?? undefined} times, wanted ${SIGNS[predicate.is]} ${predicate.value}`,
    }
  }
  if ('pauseOf' in predicate) {
    const { node, value } = shaped(reading, 'field')
    return {
      holds: present(value) && compare(value, predicate.is, predicate.valueMs),
      seen: `node ${node} stood still for ${value ?? undefined} ms at most, wanted ${SIGNS[predicate.is]} ${predicate.valueMs}`,
    }
  }
  const { counts } = shaped(reading, 'counts')
  const parts = Object.entries(predicate.counts).map(([name, [is, wanted]]) => {
    const value = counts[name]
    return { holds: value !== undefined && compare(value, is, wanted), seen: `${name} ${value}` }
  })
  return { holds: parts.every(part => part.holds), seen: parts.map(part => part.seen).join(', ') }
}

function composite(
  predicate: Extract<Predicate, { all: unknown } | { any: unknown } | { not: unknown }>,
  reading: Reading,
): Seen {
  const wanted = 'all' in predicate ? predicate.all : 'any' in predicate ? predicate.any : [predicate.not]
  const { parts: readings } = shaped(reading, 'parts')
  if (readings.length !== wanted.length)
    throw new NotOfThisPredicate(`${readings.length} readings of ${wanted.length} parts`)
  const parts = wanted.map((part, index) => judge(part, readings[index]!))
  if ('not' in predicate) return { holds: !parts[0]!.holds, seen: parts[0]!.seen }
  if ('any' in predicate)
    return { holds: parts.some(part => part.holds), seen: parts.map(part => part.seen).join(' | ') }
  const wrong = parts.filter(part => !part.holds)
  return { holds: wrong.length === 0, seen: (wrong.length > 0 ? wrong : parts).map(part => part.seen).join('; ') }
}

function settled({ nodes }: Of<'standings'>): Seen {
  const commits = new Map<string, { standing: string; count: number }>()
  if (nodes.length === 0) return { holds: false, seen: 'no node runs' }
  for (const { node, groups } of nodes) {
    if (groups === null) return { holds: false, seen: `node ${node} does not answer` }
    for (const { group, status, view, commitMin, commitMax } of groups) {
      if (status !== 'normal') return { holds: false, seen: `node ${node}, group ${group}: ${status} in view ${view}` }
      if (commitMin !== commitMax)
        return { holds: false, seen: `node ${node}, group ${group}: applied ${commitMin} of ${commitMax}` }
      const standing = `view ${view}, commit ${commitMin}`
      const other = commits.get(group)
      if (other && other.standing !== standing)
        return { holds: false, seen: `group ${group}: node ${node} has ${standing}, another ${other.standing}` }
      commits.set(group, { standing, count: (other?.count ?? 0) + 1 })
    }
  }
  const partial = [...commits].find(([, { count }]) => count !== nodes.length)
  return partial
    ? { holds: false, seen: `not every node has group ${partial[0]}` }
    : { holds: true, seen: 'every node has applied what is committed, and all say the same' }
}

function oneLeader({ nodes }: Of<'standings'>): Seen {
  const words: string[] = []
  let leaders = 0
  const named = new Set<string>()
  for (const { node, groups } of nodes) {
    const found = groups?.[0]
    words.push(
      `node ${node}: ${found ? `${found.status} ${found.role} in view ${found.view}, names ${found.primary}` : 'no answer'}`,
    )
    if (found?.status !== 'normal') return { holds: false, seen: words.join('; ') }
    if (found.role === 'primary') leaders++
    named.add(`${found.view} ${found.primary}`)
  }
  return { holds: leaders === 1 && named.size === 1, seen: words.join('; ') }
}

function unchanged({ before, now }: Of<'files'>): Seen {
  for (const [path, hash] of Object.entries(before))
    if (now[path] !== hash) return { holds: false, seen: `${path} ${path in now ? 'has changed' : 'is gone'}` }
  for (const path of Object.keys(now)) if (!(path in before)) return { holds: false, seen: `${path} is new` }
  return { holds: true, seen: `${Object.keys(before).length} files as before` }
}

function sameLogs({ files }: Of<'logs'>): Seen {
  let bytesCompared = 0
  for (const { node, path, bytes, hash, longest, sealed } of files) {
    if (sealed && bytes !== longest.bytes)
      return {
        holds: false,
        seen: `${path} has ${bytes} bytes on node ${node}, ${longest.bytes} on node ${longest.node}`,
      }
    if (hash !== longest.hash)
      return { holds: false, seen: `${path} differs between node ${node} and node ${longest.node}` }
    bytesCompared += bytes
  }
  // Equal emptiness proves nothing.
  return { holds: bytesCompared > 0, seen: `${bytesCompared} bytes compared in ${files.length} files` }
}

type ReplyPredicate = Extract<Predicate, { sameReplyAs: string }>

function sameReply({ outcome: name, sameReplyAs }: ReplyPredicate, { outcomes, others }: Of<'outcomes'>): Seen {
  const replyOf = (found: OutcomeReading | undefined) => (found?.state === 'ok' ? found.reply : undefined)
  const [reply, other] = [replyOf(outcomes[0]), replyOf(others?.[0])]
  return {
    holds: reply !== undefined && reply === other,
    seen: `${name}: ${reply ?? 'no reply'}; ${sameReplyAs}: ${other ?? 'no reply'}`,
  }
}

function outcome(
  predicate: Exclude<Extract<Predicate, { outcome: string }>, ReplyPredicate>,
  found: OutcomeReading,
): Seen {
  const name = predicate.outcome
  const seen =
    found.state === 'error'
      ? `${name}: error ${found.error}`
      : found.state === 'ok'
        ? `${name}: ok${found.baseOffset === undefined ? '' : ` at ${found.baseOffset}`}${found.payloads ? ` [${found.payloads.join(', ')}]` : ''}`
        : `${name}: no answer yet`
  if ('payloads' in predicate) {
    const holds = found.state === 'ok' && JSON.stringify(found.payloads) === JSON.stringify(predicate.payloads)
    return { holds, seen }
  }
  if ('baseOffset' in predicate) {
    const holds =
      found.state === 'ok' &&
      found.baseOffset !== undefined &&
      compare(found.baseOffset, predicate.baseOffset, predicate.value)
    return { holds, seen }
  }
  if ('tookMs' in predicate) {
    const took = found.state === 'ok' ? found.tookMs : undefined
    return {
      holds: took !== undefined && compare(took, predicate.tookMs, predicate.value),
      seen: took === undefined ? seen : `${name}: ok after ${took} ms`,
    }
  }
  const holds =
    found.state === predicate.is &&
    (predicate.error === undefined || (found.state === 'error' && found.error === predicate.error))
  return { holds, seen }
}

function median(predicate: Extract<Predicate, { medianOf: unknown }>, { outcomes, others }: Of<'outcomes'>): Seen {
  const { medianOf, tookMs, value } = predicate
  const middle = middleOf(outcomes, medianOf.length)
  const seen =
    middle === undefined ? 'not all have succeeded' : `median ${middle} ms of ${timesOf(outcomes).join(', ')}`
  if (typeof value === 'number') return { holds: middle !== undefined && compare(middle, tookMs, value), seen }
  const other = middleOf(others ?? [], value.ofMedian.length)
  if (middle === undefined || other === undefined) return { holds: false, seen: 'not all have succeeded' }
  const limit = Math.floor((other * value.percent) / 100)
  const words = `${Math.round((middle * 100) / Math.max(1, other))} % of ${other} ms`
  return { holds: compare(middle, tookMs, limit), seen: `median ${middle} ms: ${words}` }
}

const timesOf = (outcomes: readonly OutcomeReading[]): number[] =>
  outcomes.flatMap(found => (found.state === 'ok' && found.tookMs !== undefined ? [found.tookMs] : []))

/** Of an even number the upper of the two in the middle; undefined unless all have succeeded. */
function middleOf(outcomes: readonly OutcomeReading[], wanted: number): number | undefined {
  if (outcomes.length !== wanted) throw new NotOfThisPredicate(`${outcomes.length} answers of ${wanted}`)
  const times = timesOf(outcomes).sort((a, b) => a - b)
  return times.length === wanted ? times[Math.floor(wanted / 2)] : undefined
}

type Of<Shape extends Reading['of']> = Extract<Reading, { readonly of: Shape }>

function shaped<Shape extends Reading['of']>(reading: Reading, shape: Shape): Of<Shape> {
  if (reading?.of !== shape) throw new NotOfThisPredicate(`wanted a reading of ${shape}, got ${reading?.of}`)
  return reading as Of<Shape>
}

const present = (value: Value | undefined): value is Scalar => value !== null && value !== undefined

export const same = (a: unknown, b: unknown): boolean => a !== undefined && String(a) === String(b)

/** 64-bit values are compared as numbers, whatever their form. */
export function compare(a: Scalar | bigint, is: Comparison, b: Scalar | bigint): boolean {
  if (is === 'eq') return same(a, b)
  if (is === 'ne') return !same(a, b)
  const [left, right] = [integer(a), integer(b)]
  if (left === undefined || right === undefined) return false
  if (is === 'lt') return left < right
  if (is === 'le') return left <= right
  return is === 'gt' ? left > right : left >= right
}

const integer = (value: Scalar | bigint): bigint | undefined =>
  /^-?\d+$/.test(String(value)) ? BigInt(String(value)) : undefined
