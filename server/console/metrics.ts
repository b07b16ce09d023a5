/** Prometheus text: a handful of gauges for each node, the load, and the console. Per-group series are left to the nodes. */
import { processState } from '../../shared/inspection/api.ts'
import type { Hub } from './hub.ts'
import type { Load } from './load/load.ts'

type Labels = Readonly<Record<string, string | number>>

const escaped = (value: string | number): string =>
  String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

class Text {
  readonly #lines: string[] = []

  metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly (readonly [Labels, number])[]): void {
    if (samples.length === 0) return
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [labels, value] of samples) {
      const list = Object.entries(labels).map(([key, label]) => `${key}="${escaped(label)}"`)
      this.#lines.push(`${name}${list.length > 0 ? `{${list.join(',')}}` : ''} ${value}`)
    }
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`
  }
}

export function metricsText(hub: Hub, load: Load): string {
  const text = new Text()
  const nodes = hub.current().nodes
  const heard = nodes.flatMap(node => (node.snapshot ? [{ node: node.id, snapshot: node.snapshot }] : []))
  text.metric(
    'quorumscope_node_state',
    'gauge',
    '1 for the state the process is in',
    nodes.flatMap(node =>
      processState.options.map(state => [{ node: node.id, state }, node.state === state ? 1 : 0] as const),
    ),
  )
  text.metric(
    'quorumscope_node_snapshot_age_seconds',
    'gauge',
    'Age of the last snapshot, by the console clock',
    nodes.flatMap(node =>
      node.snapshotWallUs === null
        ? []
        : [[{ node: node.id }, Math.max(0, Date.now() / 1000 - Number(node.snapshotWallUs) / 1e6)] as const],
    ),
  )
  text.metric(
    'quorumscope_metadata_view',
    'gauge',
    'View of the metadata group, by the node',
    heard.map(({ node, snapshot }) => [{ node }, snapshot.metadata.view]),
  )
  text.metric(
    'quorumscope_metadata_commit',
    'gauge',
    'Applied op of the metadata group, by the node',
    heard.map(({ node, snapshot }) => [{ node }, Number(snapshot.metadata.commitMin)]),
  )
  text.metric(
    'quorumscope_node_groups',
    'gauge',
    'Partition groups on the node',
    heard.map(({ node, snapshot }) => [{ node }, snapshot.groups.length]),
  )
  text.metric(
    'quorumscope_node_clients',
    'gauge',
    'Client connections of the node',
    heard.map(({ node, snapshot }) => [{ node }, snapshot.clients]),
  )
  text.metric(
    'quorumscope_node_memory_bytes',
    'gauge',
    'Resident memory of the node',
    heard.map(({ node, snapshot }) => [{ node }, snapshot.memoryBytes]),
  )
  text.metric(
    'quorumscope_node_events_total',
    'counter',
    'Exact counters of the node, by kind',
    heard.flatMap(({ node, snapshot }) =>
      Object.entries(snapshot.counters).map(([kind, value]) => [{ node, kind }, value] as const),
    ),
  )
  text.metric(
    'quorumscope_node_malformed_items_total',
    'counter',
    'Stream items of the node that were no events',
    [...hub.watchers].map(([node, watcher]) => [{ node }, watcher.malformed]),
  )
  const { ledger, latency } = load.state()
  text.metric(
    'quorumscope_load_messages',
    'gauge',
    'Messages of the present load run, by outcome',
    Object.entries(ledger).map(([outcome, value]) => [{ outcome }, value]),
  )
  if (latency) {
    const quantiles = [
      [0.5, latency.p50],
      [0.95, latency.p95],
      [0.99, latency.p99],
      [1, latency.max],
    ] as const
    text.metric(
      'quorumscope_load_ack_seconds',
      'gauge',
      'Send to acknowledgement, whole run',
      quantiles.map(([quantile, ms]) => [{ quantile }, ms / 1000]),
    )
  }
  text.metric('quorumscope_stream_readers', 'gauge', 'Readers of the event stream', [[{}, hub.stream.readers]])
  text.metric('quorumscope_stream_events_total', 'counter', 'Events in the merged stream of this run', [
    [{}, hub.log.seq - hub.log.base],
  ])
  text.metric('quorumscope_console_memory_bytes', 'gauge', 'Resident memory of the console', [
    [{}, process.memoryUsage.rss()],
  ])
  return text.toString()
}
