/** What the load is asked for, as typed: one form for the tab, so that a look at another screen loses nothing of it. */
import { loadSettings, type TopicPolicy } from '../../../shared/inspection/api.ts'
import { createCell } from '../../data/cell.ts'

const DEFAULTS = loadSettings.parse({})
const MIB = 2 ** 20
/** A topic keeps the policy that it was made with; so the other policy writes to a topic of its own. */
const TOPICS: Readonly<Record<TopicPolicy, string>> = { default: DEFAULTS.topic, eager: 'eager' }

export const NUMBER_FIELDS = {
  ratePerSecond: { name: 'messages a second', label: 'msg/s', least: 1, most: 1_000_000 },
  batchMessages: { name: 'messages in a batch', label: 'batch', least: 1, most: 1000 },
  messageBytes: { name: 'bytes of a message', label: 'bytes', least: 32, most: 65_536 },
  connections: { name: 'connections', label: 'connections', least: 1, most: 64 },
  partitions: { name: 'partitions of a new topic', label: 'partitions', least: 1, most: 100 },
  segmentMib: { name: 'mebibytes of a segment of a new topic', label: 'segment MiB', least: 1, most: 1024 },
} as const
export type NumberFieldName = keyof typeof NUMBER_FIELDS

export type LoadForm = Readonly<Record<NumberFieldName | 'stream' | 'topic', string>> & {
  readonly policy: TopicPolicy
}

export const loadForm = createCell<LoadForm>({
  stream: DEFAULTS.stream,
  topic: DEFAULTS.topic,
  policy: 'default',
  ratePerSecond: String(DEFAULTS.ratePerSecond),
  batchMessages: String(DEFAULTS.batchMessages),
  messageBytes: String(DEFAULTS.messageBytes),
  connections: String(DEFAULTS.connections),
  partitions: String(DEFAULTS.partitions),
  segmentMib: String(DEFAULTS.segmentSizeBytes / MIB),
})

export const setField = (name: keyof LoadForm, value: string): void =>
  loadForm.set(form => ({ ...form, [name]: value }))

/** Chooses the policy, and with it the topic, unless a topic of one's own was typed. */
export const setPolicy = (policy: TopicPolicy): void =>
  loadForm.set(form => ({ ...form, policy, topic: form.topic === TOPICS[form.policy] ? TOPICS[policy] : form.topic }))

export function isValid(form: LoadForm, name: keyof LoadForm): boolean {
  if (name === 'policy') return true
  if (name === 'stream' || name === 'topic') return loadSettings.shape[name].safeParse(form[name]).success
  const { least, most } = NUMBER_FIELDS[name]
  const text = form[name]
  return /^\d{1,7}$/.test(text) && Number(text) >= least && Number(text) <= most
}

/** What the console is asked for; undefined while a field is out of its range. */
export function settingsOf(form: LoadForm): ReturnType<typeof loadSettings.parse> | undefined {
  const names = Object.keys(form) as (keyof LoadForm)[]
  if (names.some(name => !isValid(form, name))) return undefined
  const { segmentMib, stream, topic, policy, ...numbers } = form
  const asked = Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, Number(text)]))
  const parsed = loadSettings.safeParse({
    ...asked,
    stream,
    topic,
    policy,
    segmentSizeBytes: Number(segmentMib) * MIB,
  })
  return parsed.success ? parsed.data : undefined
}
