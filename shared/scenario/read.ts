/** Reads of the world what a predicate is about; whether it holds of it is said elsewhere (judge.ts). */
import type { GroupSummary } from '../inspection/snapshots.ts'
import { METADATA_GROUP, packGroup } from '../protocol/groups.ts'
import { same } from './judge.ts'
import type { EventMatch, FileLength, FileRef, GroupField, GroupRef, NodeRef, Predicate } from './language.ts'
import type { LedgerCounts } from './ledger.ts'
import type { GroupStanding, LogReading, OutcomeReading, Reading, Value } from './reading.ts'
import { CannotAct, type Runner, type SeenEvent } from './runner.ts'
import { readSuperblockField } from './superblock-field.ts'

/** What a running scenario knows. */
export interface Knowledge {
  readonly runner: Runner
  readonly outcomes: ReadonlyMap<string, OutcomeReading>
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

/** @throws CannotAct when the predicate is about something that is not there: a primary, a baseline, a name. */
export async function read(predicate: Predicate, know: Knowledge): Promise<Reading> {
  if ('all' in predicate) return parts(predicate.all, know)
  if ('any' in predicate) return parts(predicate.any, know)
  if ('not' in predicate) return parts([predicate.not], know)
  if ('event' in predicate) return events(predicate.event, know)
  if ('group' in predicate) {
    const node = await resolveNode(predicate.group.node, know)
    const value = await fieldOf({ ...predicate.group, node }, know)
    if (typeof predicate.value !== 'object') return { of: 'field', node, value }
    return { of: 'field', node, value, other: await fieldOf(predicate.value, know) }
  }
  if ('agree' in predicate) {
    const values: { node: number; value: Value }[] = []
    for (const node of running(know)) values.push({ node, value: await fieldOf({ node, ...predicate.agree }, know) })
    return { of: 'fields', values }
  }
  if ('settled' in predicate) {
    const nodes = predicate.nodes ? await resolveNodes(predicate.nodes, know) : running(know)
    return standings(nodes, know)
  }
  if ('oneLeader' in predicate) return standings(running(know), know, predicate.oneLeader)
  if ('process' in predicate) {
    const node = await resolveNode(predicate.process, know)
    return { of: 'process', node, ...know.runner.process(node) }
  }
  if ('fileUnchanged' in predicate) return recorded(predicate.fileUnchanged, know)
  if ('file' in predicate) {
    const found = await file(predicate.file, know)
    if ('exists' in predicate || typeof predicate.value === 'number') return found
    return { ...found, other: await lengthOf(predicate.value, found.path, know) }
  }
  if ('superblock' in predicate) {
    const node = await resolveNode(predicate.superblock.node, know)
    const fieldOn = async (each: number): Promise<Value> =>
      (await readSuperblockField(know.runner, each, predicate.superblock.directory, predicate.field))?.toString() ??
      null
    const value = await fieldOn(node)
    if (typeof predicate.value !== 'object') return { of: 'field', node, value }
    return { of: 'field', node, value, other: await fieldOn(await resolveNode(predicate.value.on, know)) }
  }
  if ('sameLogs' in predicate) return logs(predicate.sameLogs, predicate.nodes, know)
  if ('outcome' in predicate) {
    const outcome = outcomeOf(predicate.outcome, know)
    if (!('sameReplyAs' in predicate)) return { of: 'outcome', outcome }
    return { of: 'outcomes', outcomes: [outcome], others: [outcomeOf(predicate.sameReplyAs, know)] }
  }
  if ('medianOf' in predicate) {
    const { medianOf, value } = predicate
    const outcomes = medianOf.map(name => outcomeOf(name, know))
    if (typeof value === 'number') return { of: 'outcomes', outcomes }
    return { of: 'outcomes', outcomes, others: value.ofMedian.map(name => outcomeOf(name, know)) }
  }
  if ('reached' in predicate) {
    const node = await resolveNode(predicate.reached.node, know)
    return { of: 'field', node, value: (await know.runner.reached(node, predicate.reached.point)) ?? null }
  }
  if ('pauseOf' in predicate) {
    const node = await resolveNode(predicate.pauseOf, know)
    if (!know.runner.longestPauseMs) throw new CannotAct('this world has no processor to stand still on')
    return { of: 'field', node, value: (await know.runner.longestPauseMs(node)) ?? null }
  }
  const counts = know.loads.get(predicate.load)
  if (!counts) throw new CannotAct(`there is no load ${predicate.load}`)
  return { of: 'counts', counts: { ...counts } }
}

function outcomeOf(name: string, know: Knowledge): OutcomeReading {
  const outcome = know.outcomes.get(name)
  if (!outcome) throw new CannotAct(`no request is named ${name}`)
  return outcome
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

const running = (know: Knowledge): number[] =>
  Array.from({ length: know.runner.nodes }, (_, node) => node).filter(
    node => know.runner.process(node).state === 'running',
  )

/** `*` stands for any run of characters but a slash. */
export function matchPaths(pattern: string, paths: readonly string[]): string[] {
  const parts = pattern.split('*').map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('[^/]*')}$`)
  return paths.filter(path => expression.test(path))
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

export const groupId = (group: GroupRef): string => {
  if (group === 'metadata') return METADATA_GROUP.toString()
  const [stream, topic, partition] = group.split('/').map(Number)
  return packGroup({ stream: stream!, topic: topic!, partition: partition! }).toString()
}

async function parts(predicates: readonly Predicate[], know: Knowledge): Promise<Reading> {
  const found: Reading[] = []
  for (const predicate of predicates) found.push(await read(predicate, know))
  return { of: 'parts', parts: found }
}

async function events(match: EventMatch, know: Knowledge): Promise<Reading> {
  const node = match.node === undefined ? undefined : await resolveNode(match.node, know)
  const group = match.group === undefined ? undefined : groupId(match.group)
  const since = match.since === undefined ? 0 : know.baselines.get(match.since)
  if (since === undefined) throw new CannotAct(`there is no baseline ${match.since}`)
  const events = know.runner.events()
  let count = 0
  let last: SeenEvent | undefined
  for (let index = since; index < events.length; index++) {
    const event = events[index]!
    if (event.kind !== match.kind || (node !== undefined && event.node !== node)) continue
    if (group !== undefined && event.group !== group) continue
    if (!Object.entries(match.where ?? {}).every(([name, value]) => same(fieldOfEvent(event, name), value))) continue
    count++
    last = event
  }
  if (!last) return { of: 'events', count }
  const { node: of, kind, group: inGroup, view, op, data } = last
  return { of: 'events', count, last: JSON.parse(JSON.stringify({ node: of, kind, group: inGroup, view, op, data })) }
}

const fieldOfEvent = (event: SeenEvent, name: string): unknown =>
  name in event.data ? event.data[name] : (event as unknown as Record<string, unknown>)[name]

async function groupOf(node: number, group: GroupRef, know: Knowledge): Promise<GroupSummary | undefined> {
  const groups = await know.runner.groups(node)
  const id = groupId(group)
  return groups?.find(each => each.group === id)
}

async function fieldOf({ node, group, field }: GroupField, know: Knowledge): Promise<Value> {
  let value: unknown = await groupOf(await resolveNode(node, know), group, know)
  for (const part of field.split('.')) value = (value as Record<string, unknown> | undefined)?.[part]
  return typeof value === 'object' || value === undefined ? null : (value as Value)
}

async function standings(nodes: readonly number[], know: Knowledge, only?: GroupRef): Promise<Reading> {
  const id = only && groupId(only)
  const found: { node: number; groups: GroupStanding[] | null }[] = []
  for (const node of nodes) {
    const groups = await know.runner.groups(node)
    const wanted = groups?.filter(({ group }) => id === undefined || group === id).map(standing)
    found.push({ node, groups: wanted ?? null })
  }
  return { of: 'standings', nodes: found }
}

const standing = ({ group, status, role, view, commitMin, commitMax, primary }: GroupSummary): GroupStanding => ({
  group,
  status,
  role,
  view,
  commitMin: String(commitMin),
  commitMax: String(commitMax),
  primary,
})

async function primaryOf(group: GroupRef, know: Knowledge): Promise<number | undefined> {
  let best: { node: number; view: number } | undefined
  for (const node of running(know)) {
    const found = await groupOf(node, group, know)
    if (found?.status !== 'normal' || found.role !== 'primary') continue
    if (!best || found.view > best.view) best = { node, view: found.view }
  }
  return best?.node
}

async function lengthOf(length: FileLength, path: string | null, know: Knowledge): Promise<number | null> {
  if ('of' in length) return (await file(length.of, know)).bytes
  const record = know.records.get(length.recorded)
  if (!record) throw new CannotAct(`nothing was recorded as ${length.recorded}`)
  const kept = path === null ? undefined : record.files.get(path)
  // Kept as its length and its hash.
  return kept === undefined ? null : Number.parseInt(kept, 10) + (length.plus ?? 0)
}

async function file(ref: FileRef, know: Knowledge): Promise<Extract<Reading, { of: 'file' }>> {
  const node = await resolveNode(ref.node, know)
  const path = matchPaths(ref.path, await know.runner.files(node)).at(-1)
  const bytes = path === undefined ? undefined : await know.runner.readFile(node, path)
  return { of: 'file', node, path: path ?? null, bytes: bytes?.length ?? null }
}

async function recorded(name: string, know: Knowledge): Promise<Reading> {
  const record = know.records.get(name)
  if (!record) throw new CannotAct(`nothing was recorded as ${name}`)
  const now = await hashes(record.node, record.under, know)
  return { of: 'files', node: record.node, before: Object.fromEntries(record.files), now: Object.fromEntries(now) }
}

async function logs(group: GroupRef, refs: readonly NodeRef[] | undefined, know: Knowledge): Promise<Reading> {
  const [stream, topic, partition] = group.split('/')
  const directory = `streams/${stream}/topics/${topic}/partitions/${partition}`
  const ids = refs ? await resolveNodes(refs, know) : running(know)
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
  const files = all.map(({ node, path, bytes, sealed }): LogReading => {
    const other = longest.get(path)!
    const prefix = know.hashOf(other.bytes.subarray(0, bytes.length))
    const whole = { node: other.node, bytes: other.bytes.length, hash: prefix }
    return { node, path, bytes: bytes.length, hash: know.hashOf(bytes), longest: whole, sealed }
  })
  return { of: 'logs', files }
}
