/**
 * xoshiro256+ over u64, the per-group generator that jitters the Prepare timer (spec consensus.md §4). Deterministic:
 * seeded, never from the clock.
 */
const MASK = 0xffff_ffff_ffff_ffffn
const rotate = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (64n - by))) & MASK

export class Xoshiro256 {
  private s0: bigint
  private s1: bigint
  private s2: bigint
  private s3: bigint

  constructor(seed: bigint) {
    // splitmix64 spreads a small seed over the whole state
    let z = seed & MASK
    const next = (): bigint => {
      z = (z + 0x9e37_79b9_7f4a_7c15n) & MASK
      let x = z
      x = ((x ^ (x >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & MASK
      x = ((x ^ (x >> 27n)) * 0x94d0_49bb_1331_11ebn) & MASK
      return x ^ (x >> 31n)
    }
    this.s0 = next()
    this.s1 = next()
    this.s2 = next()
    this.s3 = next()
  }

  u64(): bigint {
    const result = (this.s0 + this.s3) & MASK
    const t = (this.s1 << 17n) & MASK
    this.s2 ^= this.s0
    this.s3 ^= this.s1
    this.s1 ^= this.s2
    this.s0 ^= this.s3
    this.s2 ^= t
    this.s3 = rotate(this.s3, 45n)
    return result
  }

  /** Uniform in 0..=max; the bias of the modulo is below 2^-32 for every `max` used here. */
  upTo(max: number): number {
    return Number(this.u64() % BigInt(max + 1))
  }
}
