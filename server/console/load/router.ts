/**
 * Which node a partition's writes go to, learned from answers alone: the last node that took one. A node that refuses or
 * dies is left for the next candidate, and the partition rests for a moment that grows with every failure in a row, so that
 * an outage is probed and not hammered. One router serves all lanes of a run.
 */
const REST_MS = 25
const REST_MAX_MS = 400

interface Route {
  node: number | undefined
  failures: number
  restsUntilMs: number
}

export class Router {
  readonly #routes: Route[]
  readonly #candidates: () => readonly number[]
  readonly #random: () => number

  constructor(partitions: number, candidates: () => readonly number[], random: () => number) {
    this.#routes = Array.from({ length: partitions }, () => ({ node: undefined, failures: 0, restsUntilMs: 0 }))
    this.#candidates = candidates
    this.#random = random
  }

  /** Where to try `partition` now, or undefined when no node is a candidate. */
  nodeOf(partition: number): number | undefined {
    const route = this.#routes[partition]!
    const candidates = this.#candidates()
    if (route.node === undefined || !candidates.includes(route.node)) route.node = candidates[0]
    return route.node
  }

  restsUntilMs(partition: number): number {
    return this.#routes[partition]!.restsUntilMs
  }

  succeeded(partition: number, node: number): void {
    const route = this.#routes[partition]!
    route.node = node
    route.failures = 0
    route.restsUntilMs = 0
  }

  failed(partition: number, node: number | undefined, nowMs: number): void {
    const route = this.#routes[partition]!
    // Another lane found a better node meanwhile.
    if (node !== undefined && route.node !== undefined && route.node !== node && route.failures === 0) return
    const candidates = this.#candidates()
    const at = node === undefined ? -1 : candidates.indexOf(node)
    route.node = candidates[(at + 1) % Math.max(1, candidates.length)]
    const ceiling = Math.min(REST_MAX_MS, REST_MS * 2 ** Math.min(route.failures, 10))
    route.failures += 1
    route.restsUntilMs = nowMs + ceiling / 2 + (ceiling / 2) * this.#random()
  }

  /** The first partition from `from` on that does not rest, or the time when the first one has rested. */
  next(from: number, nowMs: number): { readonly partition: number } | { readonly waitMs: number } {
    let waitMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.#routes.length; i++) {
      const partition = (from + i) % this.#routes.length
      const rest = this.#routes[partition]!.restsUntilMs - nowMs
      if (rest <= 0) return { partition }
      waitMs = Math.min(waitMs, rest)
    }
    return { waitMs }
  }
}
