/** One number for all that happened in a run: two lanes of 32 bits, mixed with every value that is put in, in order. */
export class Fingerprint {
  private a = 0x9e37_79b9
  private b = 0x85eb_ca6b

  add(value: number): void {
    this.a = Math.imul(this.a ^ value, 0x0100_0193)
    this.a ^= this.a >>> 15
    this.b = Math.imul(this.b + value + 1, 0xc2b2_ae35)
    this.b ^= this.b >>> 13
  }

  text(text: string): void {
    for (let index = 0; index < text.length; index++) this.add(text.charCodeAt(index))
  }

  /** 16 hex digits. */
  toString(): string {
    return [this.a, this.b].map(lane => (lane >>> 0).toString(16).padStart(8, '0')).join('')
  }
}
