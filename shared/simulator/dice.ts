/**
 * Chance of a simulated world. One seed gives one independent stream for each name, so that a draw more in one of them moves
 * no other (spec drills.md §2.1). 32-bit arithmetic: a world draws millions of numbers.
 */
const MASK = 0xffff_ffff_ffff_ffffn

function splitmix(state: bigint): bigint {
  let x = state & MASK
  x = ((x ^ (x >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & MASK
  x = ((x ^ (x >> 27n)) * 0x94d0_49bb_1331_11ebn) & MASK
  return x ^ (x >> 31n)
}

export class Dice {
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(seed: bigint, stream: string) {
    let state = seed & MASK
    for (let index = 0; index < stream.length; index++)
      state = splitmix(state + BigInt(stream.charCodeAt(index)) + 0x9e37_79b9_7f4a_7c15n)
    const next = splitmix(state + 0x9e37_79b9_7f4a_7c15n)
    this.a = Number(state & 0xffff_ffffn)
    this.b = Number(state >> 32n)
    this.c = Number(next & 0xffff_ffffn)
    for (let round = 0; round < 12; round++) this.u32()
  }

  /** sfc32. */
  u32(): number {
    const t = (((this.a + this.b) | 0) + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (this.c << 21) | (this.c >>> 11)
    this.c = (this.c + t) | 0
    return t >>> 0
  }

  u64(): bigint {
    return (BigInt(this.u32()) << 32n) | BigInt(this.u32())
  }

  /** 0..limit-1. */
  below(limit: number): number {
    return Math.floor((this.u32() / 0x1_0000_0000) * limit)
  }

  /** low..high, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.u32() / 0x1_0000_0000 < probability
  }

  /** Mostly short, sometimes long; `mean` on average, never above 20 times that. */
  exponential(mean: number): number {
    return Math.min(20 * mean, -mean * Math.log((this.u32() + 1) / 0x1_0000_0001))
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.u32() & 0xff)
  }
}
