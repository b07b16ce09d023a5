const DIGITS = '0123456789abcdef'

/** Lower-case hex of `bytes`, two digits a byte. */
export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += DIGITS[byte >> 4]! + DIGITS[byte & 15]!
  return text
}

/** Inverse of `toHex`. Throws a RangeError on anything that is not an even run of hex digits. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  if (text.length % 2 !== 0 || /[^0-9a-fA-F]/.test(text)) throw new RangeError('not an even run of hex digits')
  const bytes = new Uint8Array(text.length / 2)
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = Number.parseInt(text.slice(index * 2, index * 2 + 2), 16)
  return bytes
}
