/**
 * Where configuration comes from (spec metadata-storage.md §8.1): environment over TOML file over embedded defaults.
 * Sorts every key that is set into what `settings.ts` says of it.
 */
import { parse, TomlError } from 'smol-toml'
import { Problems } from './problems.ts'
import {
  environmentName,
  type Key,
  notConfiguration,
  relocated,
  settings,
  type Unsupported,
  unsupported,
  unused,
  type Values,
} from './settings.ts'
import { Problem } from './values.ts'

export interface ReadConfiguration {
  readonly values: Values
  /** Where each value came from, for messages. */
  readonly sourceOf: (key: string) => string
  /** `cluster.nodes` as written, environment applied; `roster.ts` reads it. */
  readonly nodes: readonly unknown[]
  /** Keys that nobody here knows; worth a line in the log. */
  readonly warnings: readonly string[]
}

/** Sections in which an unknown key is an error. */
const STRICT = ['cluster', 'inspection']
const NODES_KEY = 'cluster.nodes'
/** Entries of cluster.nodes an environment may address. */
const NODES_MAX = 256

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

const within = (key: string, table: string): boolean => key === table || key.startsWith(`${table}.`)

/** @throws ConfigurationError only for text that is no TOML; everything else is added to `problems`. */
export function readSources(
  toml: { readonly path: string; readonly text: string } | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  problems: Problems,
): ReadConfiguration {
  const raw = new Map<string, { value: unknown; source: string }>()
  const warnings: string[] = []
  let nodes: unknown[] = []

  if (toml) {
    for (const [key, value] of leaves(parseToml(toml))) {
      if (key === NODES_KEY) {
        if (Array.isArray(value)) nodes = structuredClone(value)
        else problems.add(key, toml.path, 'is not an array of tables')
        continue
      }
      classify(key, toml.path, problems, warnings)
      raw.set(key, { value, source: toml.path })
    }
  }

  const byEnvironment = new Map<string, string>()
  for (const key of [...Object.keys(settings), ...unsupported.map(entry => entry.key)]) {
    byEnvironment.set(environmentName(key), key)
  }
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('IGGY_') || value === undefined || notConfiguration.has(name)) continue
    if (name.startsWith('IGGY_TEST_')) continue
    const key = byEnvironment.get(name)
    if (key !== undefined) raw.set(key, { value, source: name })
    else if (name.startsWith('IGGY_CLUSTER_NODES_')) applyToNodes(nodes, name, value, problems)
    else classifyEnvironment(name, problems, warnings)
  }

  const sourceOf = (key: string): string => raw.get(key)?.source ?? 'default'
  const values: Record<string, unknown> = {}
  for (const [key, { kind, fallback }] of Object.entries(settings)) {
    const given = raw.get(key)
    const value = given === undefined ? fallback : kind.parse(given.value)
    if (value instanceof Problem) problems.add(key, given?.source ?? 'default', value.message)
    values[key] = value instanceof Problem ? fallback : value
  }
  for (const entry of unsupported) refuseUnlessOnly(entry, raw.get(entry.key), problems)
  return { values: values as Record<Key, unknown> as Values, sourceOf, nodes, warnings }
}

function parseToml(toml: { readonly path: string; readonly text: string }): Record<string, unknown> {
  try {
    return parse(toml.text)
  } catch (error) {
    const problems = new Problems()
    const at = error instanceof TomlError ? ` at line ${error.line}, column ${error.column}` : ''
    problems.add(
      'configuration file',
      toml.path,
      `is not TOML${at}: ${String((error as Error).message).split('\n')[0]}`,
    )
    problems.throwIfAny()
    throw error
  }
}

function* leaves(table: Record<string, unknown>, prefix = ''): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix === '' ? name : `${prefix}.${name}`
    if (isTable(value)) yield* leaves(value, key)
    else yield [key, value]
  }
}

function classify(key: string, source: string, problems: Problems, warnings: string[]): void {
  if (key in settings || unsupported.some(entry => entry.key === key)) return
  const moved = relocated.find(entry => within(key, entry.key))
  if (moved) {
    problems.add(key, source, relocatedMessage(moved.option))
    return
  }
  if (unused.some(table => within(key, table))) return
  if (STRICT.some(table => within(key, table))) problems.add(key, source, 'is not a key of this section')
  else warnings.push(`${key} (${source}) is not a known key and has no effect`)
}

function classifyEnvironment(name: string, problems: Problems, warnings: string[]): void {
  const covers = (key: string): boolean => name === environmentName(key) || name.startsWith(`${environmentName(key)}_`)
  const moved = relocated.find(entry => covers(entry.key))
  if (moved) problems.add(moved.key, name, relocatedMessage(moved.option))
  else if (!unused.some(covers)) warnings.push(`${name} is not a known setting and has no effect`)
}

const relocatedMessage = (option: string | undefined): string =>
  option === undefined
    ? 'does not exist any more; remove it'
    : `became the option "${option}" of a topic; remove it here and give it at topic creation`

function refuseUnlessOnly(
  { key, kind, only, why }: Unsupported,
  given: { value: unknown; source: string } | undefined,
  problems: Problems,
): void {
  if (given === undefined) return
  const value = kind.parse(given.value)
  if (value instanceof Problem) problems.add(key, given.source, value.message)
  else if (value !== only) problems.add(key, given.source, `${JSON.stringify(value)} is not supported: ${why}`)
}

/** `IGGY_CLUSTER_NODES_0_PORTS_TCP_REPLICA` and its kin. */
function applyToNodes(nodes: unknown[], name: string, value: string, problems: Problems): void {
  const match = /^IGGY_CLUSTER_NODES_(\d{1,3})_([A-Z_]+)$/.exec(name)
  const index = Number(match?.[1])
  const field = match?.[2]?.toLowerCase()
  if (field === undefined || index >= NODES_MAX) {
    problems.add(NODES_KEY, name, `does not name a field of cluster.nodes[0..${NODES_MAX}]`)
    return
  }
  while (nodes.length <= index) nodes.push({})
  if (!isTable(nodes[index])) nodes[index] = {}
  const node = nodes[index] as Record<string, unknown>
  const port = /^ports_(.+)$/.exec(field)?.[1]
  if (port === undefined) {
    node[field] = value
    return
  }
  if (!isTable(node.ports)) node.ports = {}
  ;(node.ports as Record<string, unknown>)[port] = value
}
