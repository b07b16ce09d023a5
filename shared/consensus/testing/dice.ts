/** A small fast generator for test histories (mulberry32): the same seed, the same run. */
export class Dice {
  private state: number

  constructor(seed: number) {
    this.state = seed | 0
  }

  /** Uniform in 0..=max. */
  upTo(max: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % (max + 1)
  }

  chance(permille: number): boolean {
    return this.upTo(999) < permille
  }
}
