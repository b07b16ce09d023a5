/**
 * Lowest-free-key slab (spec metadata-storage.md §4.4): the next key is the smallest unoccupied one, whatever the history.
 * A restored node must hand out the same key as a live one, so the order in which keys were freed plays no part.
 * Iteration is in ascending key order on every node.
 */
export class Slab<T> {
  private readonly values: (T | undefined)[] = []
  private used = 0
  /** Nothing below it is free. */
  private lowestMaybeFree = 0

  get size(): number {
    return this.used
  }

  /** The key that the next insert takes. */
  nextKey(): number {
    let key = this.lowestMaybeFree
    while (key < this.values.length && this.values[key] !== undefined) key++
    this.lowestMaybeFree = key
    return key
  }

  get(key: number): T | undefined {
    return this.values[key]
  }

  insert(make: (key: number) => T): T {
    const key = this.nextKey()
    const value = make(key)
    this.values[key] = value
    this.used++
    this.lowestMaybeFree = key + 1
    return value
  }

  /** Puts a value back under the key it had, as a snapshot says; the key must be free. */
  restore(key: number, value: T): void {
    if (this.values[key] !== undefined) throw new RangeError(`key ${key} is taken`)
    // No holes in the sense of the language: what is skipped reads as free either way.
    while (this.values.length < key) this.values.push(undefined)
    this.values[key] = value
    this.used++
  }

  clear(): void {
    this.values.length = 0
    this.used = 0
    this.lowestMaybeFree = 0
  }

  remove(key: number): T | undefined {
    const value = this.values[key]
    if (value === undefined) return undefined
    this.values[key] = undefined
    this.used--
    if (key < this.lowestMaybeFree) this.lowestMaybeFree = key
    while (this.values.length > 0 && this.values[this.values.length - 1] === undefined) this.values.pop()
    return value
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const value of this.values) if (value !== undefined) yield value
  }
}
