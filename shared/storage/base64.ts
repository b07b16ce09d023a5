/** Base64 with the standard alphabet and padding. */
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at
    const group = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    text += BASE64[group >> 18]! + BASE64[(group >> 12) & 63]!
    text += left > 1 ? BASE64[(group >> 6) & 63]! : '='
    text += left > 2 ? BASE64[group & 63]! : '='
  }
  return text
}

/** Undefined for anything that `toBase64` would not have written. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = new Uint8Array((text.length / 4) * 3 - padding)
  for (let at = 0, out = 0; at < text.length; at += 4) {
    let group = 0
    for (let index = 0; index < 4; index++) group = (group << 6) | Math.max(0, BASE64.indexOf(text[at + index]!))
    for (let shift = 16; shift >= 0 && out < bytes.length; shift -= 8) bytes[out++] = (group >> shift) & 0xff
  }
  return toBase64(bytes) === text ? bytes : undefined
}
