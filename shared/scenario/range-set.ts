/**
 * A set of integers as sorted, disjoint ranges. Bounded: past `rangesMax` the lowest range is forgotten, and the caller is
 * told how many numbers went with it.
 */
export class RangeSet {
  readonly #rangesMax: number
  /** Pairs [from, to), ascending, with room between neighbours. */
  readonly #ranges: [number, number][] = []
  #size = 0

  constructor(rangesMax: number) {
    this.#rangesMax = rangesMax
  }

  get size(): number {
    return this.#size
  }

  get ranges(): readonly (readonly [number, number])[] {
    return this.#ranges
  }

  has(value: number): boolean {
    const range = this.#ranges[this.#lastNotAbove(value)]
    return range !== undefined && value < range[1]
  }

  /** Adds `value`; returns how many numbers were forgotten to stay within the bound. */
  add(value: number): number {
    const index = this.#lastNotAbove(value)
    const below = this.#ranges[index]
    if (below && value < below[1]) return 0
    this.#size += 1
    const above = this.#ranges[index + 1]
    const joinsBelow = below?.[1] === value
    const joinsAbove = above?.[0] === value + 1
    if (joinsBelow && joinsAbove) {
      below[1] = above[1]
      this.#ranges.splice(index + 1, 1)
    } else if (joinsBelow) below[1] = value + 1
    else if (joinsAbove) above[0] = value
    else this.#ranges.splice(index + 1, 0, [value, value + 1])
    return this.#ranges.length > this.#rangesMax ? this.#forgetLowest() : 0
  }

  /** Removes `value`; false when it was not in the set. */
  delete(value: number): boolean {
    const index = this.#lastNotAbove(value)
    const range = this.#ranges[index]
    if (!range || value >= range[1]) return false
    this.#size -= 1
    const [from, to] = range
    const parts: [number, number][] = []
    if (from < value) parts.push([from, value])
    if (value + 1 < to) parts.push([value + 1, to])
    this.#ranges.splice(index, 1, ...parts)
    return true
  }

  #forgetLowest(): number {
    const [from, to] = this.#ranges.shift()!
    this.#size -= to - from
    return to - from
  }

  /** Index of the last range that starts at or below `value`, -1 when none does. */
  #lastNotAbove(value: number): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ranges[middle]![0] <= value) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}
