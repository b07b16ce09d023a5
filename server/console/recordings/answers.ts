/**
 * The answers that the screens of bytes are drawn from, kept in the recording: asked of this console's own routes, so that
 * what is replayed is to the byte what was answered. At keyframes, and soon after something turned; an answer equal to the
 * one kept before, but for when it was given, is not kept again. Never a segment's bytes.
 */
import type { ClusterNode } from '../../../shared/inspection/api.ts'
import { FORWARDS_LIMIT_MAX } from '../../../shared/inspection/forwards.ts'
import type { NodeSnapshot } from '../../../shared/inspection/snapshots.ts'

const ROUND_MS = 10_000
const TURN_MS = 1_000
const RARE_MS = 60_000
/** Larger answers are left out, and so said where they are asked for. */
const ANSWER_CHARS_MAX = 512 * 1024
const PARTITIONS_MAX = 16

export interface AnswerPorts {
  readonly get: (path: string) => Promise<{ status: number; text: string }>
  readonly nodes: () => readonly ClusterNode[]
  readonly snapshotOf: (node: number) => NodeSnapshot | undefined
  readonly keep: (json: string) => void
}

export class AnswerRounds {
  readonly #ports: AnswerPorts
  readonly #kept = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  /** By node: when its log was last kept, and what its process did then. */
  readonly #logs = new Map<number, { readonly state: string; readonly ms: number }>()
  #busy = false
  #closed = false
  #dueMs = 0

  constructor(ports: AnswerPorts) {
    this.#ports = ports
    this.#schedule(TURN_MS)
  }

  /** Something turned: what is kept should follow soon. */
  soon(): void {
    this.#schedule(TURN_MS)
  }

  /** The keyframes of a new file stand alone: everything is kept anew. */
  forget(): void {
    this.#kept.clear()
    this.#logs.clear()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #schedule(ms: number): void {
    const due = performance.now() + ms
    if (this.#closed || (this.#timer !== undefined && this.#dueMs <= due)) return
    clearTimeout(this.#timer)
    this.#dueMs = due
    this.#timer = setTimeout(() => void this.#round(), ms)
  }

  async #round(): Promise<void> {
    this.#timer = undefined
    if (this.#busy) return this.#schedule(TURN_MS)
    this.#busy = true
    try {
      for (const path of this.#paths()) {
        if (this.#closed) return
        const { status, text } = await this.#ports.get(path)
        const essence = withoutTimes(text)
        if (text.length > ANSWER_CHARS_MAX || this.#kept.get(path) === essence) continue
        this.#kept.set(path, essence)
        this.#ports.keep(`{"path":${JSON.stringify(path)},"status":${status},"json":${text}}`)
      }
    } finally {
      this.#busy = false
      this.#schedule(ROUND_MS)
    }
  }

  #paths(): string[] {
    const paths = ['/api/topics', '/api/links', `/api/forwards?limit=${FORWARDS_LIMIT_MAX}`, '/api/drills/runs']
    for (const { id, state } of this.#ports.nodes()) {
      const base = `/api/nodes/${id}`
      paths.push(`${base}/superblocks`)
      if (this.#isLogDue(id, state)) paths.push(`${base}/wal`)
      if (state !== 'running') continue
      paths.push(`${base}/recovery`, `${base}/clients`)
      const said = this.#ports.snapshotOf(id)
      if (said) paths.push(`${base}/groups/${said.metadata.group}`)
      const groups = said?.groups ?? []
      for (const { group, key } of groups.slice(0, PARTITIONS_MAX)) {
        if (!key) continue
        paths.push(`${base}/groups/${group}`, `${base}/partitions/${key.stream}/${key.topic}/${key.partition}`)
      }
    }
    return paths
  }

  /** A log is long and grows slowly: it is kept rarely, and whenever a process has come or gone. Who is held shows none. */
  #isLogDue(id: number, state: ClusterNode['state']): boolean {
    if (state === 'paused' || state === 'starting') return false
    const now = performance.now()
    const last = this.#logs.get(id)
    if (last && last.state === state && now - last.ms < RARE_MS) return false
    this.#logs.set(id, { state, ms: now })
    return true
  }
}

const withoutTimes = (text: string): string =>
  text.replace(/"(?:takenWallUs|takenMonoUs|heardWallUs|seq|idleMs|remainingMs)":"?\d+(?:\.\d+)?"?/g, '')
