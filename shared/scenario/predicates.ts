/** Whether a predicate holds now, and in words what was seen, so that a deadline can say what was there instead. */

import type { GroupSummary } from '../inspection/snapshots.ts'
import { METADATA_GROUP, packGroup } from '../protocol/groups.ts'
import type { Comparison, EventMatch, FileRef, GroupField, GroupRef, NodeRef, Predicate, Scalar } from './language.ts'
import type { LedgerCounts } from './ledger.ts'
import { CannotAct, type Runner, type SeenEvent } from './runner.ts'
import { readSuperblockField } from './superblock-field.ts'

/** `undefined`: it cannot be said now, e.g. of a node that does not answer. It counts as "does not hold". */
export interface Seen {
  readonly holds: boolean
  readonly seen: string
}

export type Outcome =
  | { readonly state: 'pending' }
  | { readonly state: 'ok'; readonly baseOffset?: bigint; readonly payloads?: readonly string[] }
  | { readonly state: 'error'; readonly error: string }

/** What a running scenario knows. */
export interface Knowledge {
  readonly runner: Runner
  readonly outcomes: ReadonlyMap<string, Outcome>
  readonly loads: ReadonlyMap<string, LedgerCounts>
  /** Number of events at a baseline. */
  readonly baselines: ReadonlyMap<string, number>
  readonly named: ReadonlyMap<string, number>
  /** By record: node and what each file had. */
  readonly records: ReadonlyMap<
    string,
    { readonly node: number; readonly under: string; readonly files: ReadonlyMap<string, string> }
  >
  readonly hashOf: (bytes: Uint8Array) => string
}

export async function evaluate(predicate: Predicate, know: Knowledge): Promise<Seen> {
  if ('all' in predicate) return every(predicate.all, know)
  if ('any' in predicate) {
    const parts = await each(predicate.any, know)
    return { holds: parts.some(part => part.holds), seen: parts.map(part => part.seen).join(' | ') }
  }
  if ('not' in predicate) {
    const { holds, seen } = await evaluate(predicate.not, know)
    return { holds: !holds, seen }
  }
  if ('event' in predicate) {
    const { atLeast = predicate.atMost === undefined ? 1 : 0, atMost = Number.POSITIVE_INFINITY } = predicate
    const count = await countEvents(predicate.event, know)
    return { holds: count >= atLeast && count <= atMost, seen: `${predicate.event.kind} × ${count}` }
  }
  if ('group' in predicate) {
    const left = await fieldOf(predicate.group, know)
    const right = typeof predicate.value === 'object' ? await fieldOf(predicate.value, know) : predicate.value
    const words = `${predicate.group.group} ${predicate.group.field} is ${left}`
    if (left === undefined || right === undefined)
      return { holds: false, seen: `${words}, wanted ${predicate.is} ${right}` }
    return { holds: compare(left, predicate.is, right), seen: `${words}, wanted ${predicate.is} ${right}` }
  }
  if ('agree' in predicate) {
    const values = new Map<number, Scalar | undefined>()
    for (const node of running(know)) values.set(node, await fieldOf({ node, ...predicate.agree }, know))
    const distinct = new Set([...values.values()].map(String))
    return {
      holds: distinct.size === 1 && !distinct.has('undefined'),
      seen: `${predicate.agree.field}: ${[...values].map(([node, value]) => `node ${node} ${value}`).join(', ')}`,
    }
  }
  if ('settled' in predicate) return settled(predicate.nodes, know)
  if ('oneLeader' in predicate) return oneLeader(predicate.oneLeader, know)
  if ('process' in predicate) {
    const node = await resolveNode(predicate.process, know)
    const report = know.runner.process(node)
    const holds =
      report.state === predicate.state &&
      (predicate.exit === undefined || report.exit === predicate.exit) &&
      (predicate.code === undefined || report.code === predicate.code)
    return { holds, seen: `node ${node} ${report.state}, exit ${report.exit}, ${report.code}` }
  }
  if ('fileUnchanged' in predicate) return unchanged(predicate.fileUnchanged, know)
  if ('file' in predicate) {
    const bytes = await readFile(predicate.file, know)
    if ('exists' in predicate)
      return { holds: (bytes !== undefined) === predicate.exists, seen: bytes ? 'there' : 'not there' }
    if (!bytes) return { holds: false, seen: `${predicate.file.path} is not there` }
    return {
      holds: compare(bytes.length, predicate.length, predicate.value),
      seen: `${predicate.file.path} has ${bytes.length} bytes`,
    }
  }
  if ('superblock' in predicate) {
    const node = await resolveNode(predicate.superblock.node, know)
    const value = await readSuperblockField(know.runner, node, predicate.superblock.directory, predicate.field)
    return {
      holds: value !== undefined && compare(value, predicate.is, predicate.value),
      seen: `node ${node}: ${predicate.field} on disk is ${value}, wanted ${predicate.is} ${predicate.value}`,
    }
  }
  if ('sameLogs' in predicate) return sameLogs(predicate.sameLogs, predicate.nodes, know)
  if ('outcome' in predicate) return outcome(predicate, know)
  const counts = know.loads.get(predicate.load)
  if (!counts) throw new CannotAct(`there is no load ${predicate.load}`)
  const parts = Object.entries(predicate.counts).map(([name, [is, wanted]]) => {
    const value = counts[name as keyof LedgerCounts]
    return { holds: compare(value, is, wanted), seen: `${name} ${value}` }
  })
  return { holds: parts.every(part => part.holds), seen: parts.map(part => part.seen).join(', ') }
}

export async function resolveNode(ref: NodeRef, know: Knowledge): Promise<number> {
  if (typeof ref === 'number') return ref
  if ('named' in ref) {
    const node = know.named.get(ref.named)
    if (node === undefined) throw new CannotAct(`nothing is remembered as ${ref.named}`)
    return node
  }
  const group = 'primaryOf' in ref ? ref.primaryOf : ref.backupOf
  const primary = await primaryOf(group, know)
  if (primary === undefined) throw new CannotAct(`${group} has no primary now`)
  if ('primaryOf' in ref) return primary
  const backups = running(know).filter(node => node !== primary)
  const backup = backups[ref.nth ?? 0]
  if (backup === undefined) throw new CannotAct(`${group} has no backup number ${ref.nth ?? 0} now`)
  return backup
}

export const resolveNodes = async (refs: readonly NodeRef[] | 'all', know: Knowledge): Promise<number[]> =>
  refs === 'all'
    ? Array.from({ length: know.runner.nodes }, (_, node) => node)
    : Promise.all(refs.map(ref => resolveNode(ref, know)))

export const running = (know: Knowledge): number[] =>
  Array.from({ length: know.runner.nodes }, (_, node) => node).filter(
    node => know.runner.process(node).state === 'running',
  )

/** `*` stands for any run of characters but a slash. */
export function matchPaths(pattern: string, paths: readonly string[]): string[] {
  const parts = pattern.split('*').map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('[^/]*')}$`)
  return paths.filter(path => expression.test(path))
}

async function readFile(file: FileRef, know: Knowledge): Promise<Uint8Array | undefined> {
  const node = await resolveNode(file.node, know)
  const last = matchPaths(file.path, await know.runner.files(node)).at(-1)
  return last === undefined ? undefined : know.runner.readFile(node, last)
}

const each = async (predicates: readonly Predicate[], know: Knowledge): Promise<Seen[]> => {
  const parts: Seen[] = []
  for (const predicate of predicates) parts.push(await evaluate(predicate, know))
  return parts
}

async function every(predicates: readonly Predicate[], know: Knowledge): Promise<Seen> {
  const parts = await each(predicates, know)
  const wrong = parts.filter(part => !part.holds)
  return { holds: wrong.length === 0, seen: (wrong.length > 0 ? wrong : parts).map(part => part.seen).join('; ') }
}

async function countEvents(match: EventMatch, know: Knowledge): Promise<number> {
  const node = match.node === undefined ? undefined : await resolveNode(match.node, know)
  const group = match.group === undefined ? undefined : groupId(match.group)
  const since = match.since === undefined ? 0 : know.baselines.get(match.since)
  if (since === undefined) throw new CannotAct(`there is no baseline ${match.since}`)
  const events = know.runner.events()
  let count = 0
  for (let index = since; index < events.length; index++) {
    const event = events[index]!
    if (event.kind !== match.kind || (node !== undefined && event.node !== node)) continue
    if (group !== undefined && event.group !== group) continue
    if (Object.entries(match.where ?? {}).every(([name, value]) => same(fieldOfEvent(event, name), value))) count++
  }
  return count
}

const fieldOfEvent = (event: SeenEvent, name: string): unknown =>
  name in event.data ? event.data[name] : (event as Record<string, unknown>)[name]

export const groupId = (group: GroupRef): string => {
  if (group === 'metadata') return METADATA_GROUP.toString()
  const [stream, topic, partition] = group.split('/').map(Number)
  return packGroup({ stream: stream!, topic: topic!, partition: partition! }).toString()
}

async function groupOf(node: number, group: GroupRef, know: Knowledge): Promise<GroupSummary | undefined> {
  const groups = await know.runner.groups(node)
  const id = groupId(group)
  return groups?.find(each => each.group === id)
}

async function fieldOf({ node, group, field }: GroupField, know: Knowledge): Promise<Scalar | undefined> {
  let value: unknown = await groupOf(await resolveNode(node, know), group, know)
  for (const part of field.split('.')) value = (value as Record<string, unknown> | undefined)?.[part]
  return typeof value === 'object' ? undefined : (value as Scalar | undefined)
}

async function settled(nodes: readonly NodeRef[] | undefined, know: Knowledge): Promise<Seen> {
  const ids = nodes ? await resolveNodes(nodes, know) : running(know)
  const commits = new Map<string, { standing: string; count: number }>()
  if (ids.length === 0) return { holds: false, seen: 'no node runs' }
  for (const node of ids) {
    const groups = await know.runner.groups(node)
    if (!groups) return { holds: false, seen: `node ${node} does not answer` }
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
  const partial = [...commits].find(([, { count }]) => count !== ids.length)
  return partial ? { holds: false, seen: `not every node has group ${partial[0]}` } : { holds: true, seen: 'settled' }
}

async function oneLeader(group: GroupRef, know: Knowledge): Promise<Seen> {
  const words: string[] = []
  let leaders = 0
  const named = new Set<string>()
  for (const node of running(know)) {
    const found = await groupOf(node, group, know)
    words.push(
      `node ${node}: ${found ? `${found.status} ${found.role} in view ${found.view}, names ${found.primary}` : 'no answer'}`,
    )
    if (found?.status !== 'normal') return { holds: false, seen: words.join('; ') }
    if (found.role === 'primary') leaders++
    named.add(`${found.view} ${found.primary}`)
  }
  return { holds: leaders === 1 && named.size === 1, seen: words.join('; ') }
}

async function primaryOf(group: GroupRef, know: Knowledge): Promise<number | undefined> {
  let best: { node: number; view: number } | undefined
  for (const node of running(know)) {
    const found = await groupOf(node, group, know)
    if (found?.status !== 'normal' || found.role !== 'primary') continue
    if (!best || found.view > best.view) best = { node, view: found.view }
  }
  return best?.node
}

async function unchanged(name: string, know: Knowledge): Promise<Seen> {
  const record = know.records.get(name)
  if (!record) throw new CannotAct(`nothing was recorded as ${name}`)
  const now = await hashes(record.node, record.under, know)
  for (const [path, hash] of record.files)
    if (now.get(path) !== hash) return { holds: false, seen: `${path} ${now.has(path) ? 'has changed' : 'is gone'}` }
  for (const path of now.keys()) if (!record.files.has(path)) return { holds: false, seen: `${path} is new` }
  return { holds: true, seen: `${record.files.size} files as before` }
}

/** Content hashes of all files under a path. */
export async function hashes(node: number, under: string, know: Knowledge): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const path of await know.runner.files(node)) {
    if (under !== '' && path !== under && !path.startsWith(`${under}/`)) continue
    const bytes = await know.runner.readFile(node, path)
    if (bytes) found.set(path, `${bytes.length} ${know.hashOf(bytes)}`)
  }
  return found
}

async function sameLogs(group: GroupRef, nodes: readonly NodeRef[] | undefined, know: Knowledge): Promise<Seen> {
  const [stream, topic, partition] = group.split('/')
  const directory = `streams/${stream}/topics/${topic}/partitions/${partition}`
  const ids = nodes ? await resolveNodes(nodes, know) : running(know)
  const longest = new Map<string, { node: number; bytes: Uint8Array }>()
  const all: { node: number; path: string; bytes: Uint8Array; sealed: boolean }[] = []
  for (const node of ids) {
    const paths = matchPaths(`${directory}/*.log`, await know.runner.files(node))
    for (const [index, path] of paths.entries()) {
      const bytes = (await know.runner.readFile(node, path)) ?? new Uint8Array(0)
      all.push({ node, path, bytes, sealed: index < paths.length - 1 })
      if (bytes.length > (longest.get(path)?.bytes.length ?? -1)) longest.set(path, { node, bytes })
    }
  }
  let bytesCompared = 0
  for (const { node, path, bytes, sealed } of all) {
    const other = longest.get(path)!
    if (sealed && bytes.length !== other.bytes.length)
      return {
        holds: false,
        seen: `${path} has ${bytes.length} bytes on node ${node}, ${other.bytes.length} on node ${other.node}`,
      }
    if (know.hashOf(bytes) !== know.hashOf(other.bytes.subarray(0, bytes.length)))
      return { holds: false, seen: `${path} differs between node ${node} and node ${other.node}` }
    bytesCompared += bytes.length
  }
  // Equal emptiness proves nothing.
  return { holds: bytesCompared > 0, seen: `${bytesCompared} bytes compared in ${all.length} files` }
}

function outcome(predicate: Extract<Predicate, { outcome: string }>, know: Knowledge): Seen {
  const found = know.outcomes.get(predicate.outcome)
  if (!found) throw new CannotAct(`no request is named ${predicate.outcome}`)
  const seen =
    found.state === 'error'
      ? `${predicate.outcome}: error ${found.error}`
      : found.state === 'ok'
        ? `${predicate.outcome}: ok${found.baseOffset === undefined ? '' : ` at ${found.baseOffset}`}${found.payloads ? ` [${found.payloads.join(', ')}]` : ''}`
        : `${predicate.outcome}: no answer yet`
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
  const holds =
    found.state === predicate.is &&
    (predicate.error === undefined || (found.state === 'error' && found.error === predicate.error))
  return { holds, seen }
}

type Value = Scalar | bigint

const same = (a: unknown, b: unknown): boolean => a !== undefined && String(a) === String(b)

export function compare(a: Value, is: Comparison, b: Value): boolean {
  if (is === 'eq') return same(a, b)
  if (is === 'ne') return !same(a, b)
  const [left, right] = [integer(a), integer(b)]
  if (left === undefined || right === undefined) return false
  if (is === 'lt') return left < right
  if (is === 'le') return left <= right
  return is === 'gt' ? left > right : left >= right
}

const integer = (value: Value): bigint | undefined =>
  /^-?\d+$/.test(String(value)) ? BigInt(String(value)) : undefined
