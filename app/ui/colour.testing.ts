/** Colour arithmetic for the test of the tokens: WCAG contrast, OKLab distance, and Machado's matrices of colour vision. */

export type Rgb = readonly [number, number, number]

export function parseHex(text: string): Rgb {
  const match = /^#([0-9a-f]{6})$/i.exec(text.trim())
  if (!match) throw new Error(`${text} is not a six-digit colour`)
  const value = Number.parseInt(match[1]!, 16)
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255]
}
const linear = (channel: number): number => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4)
const encoded = (channel: number): number => {
  const value = Math.min(1, Math.max(0, channel))
  return value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055
}
const toLinear = (colour: Rgb): Rgb => [linear(colour[0]), linear(colour[1]), linear(colour[2])]

function luminance(colour: Rgb): number {
  const [r, g, b] = toLinear(colour)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
/** WCAG 2.2 contrast ratio, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const multiply = (m: readonly Rgb[], v: Rgb): Rgb => [dot(m[0]!, v), dot(m[1]!, v), dot(m[2]!, v)]
const dot = (a: Rgb, b: Rgb): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

/** Machado, Oliveira and Fernandes 2009, severity 1.0, applied to linear light. */
export const SIGHTS: Readonly<Record<string, readonly Rgb[]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}
export function seenBy(colour: Rgb, sight: readonly Rgb[]): Rgb {
  const [r, g, b] = multiply(sight, toLinear(colour))
  return [encoded(r), encoded(g), encoded(b)]
}

function oklab(colour: Rgb): Rgb {
  const [r, g, b] = toLinear(colour)
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ]
}
/** 100 times the Euclidean distance in OKLab. */
export function distance(a: Rgb, b: Rgb): number {
  const [x, y] = [oklab(a), oklab(b)]
  return 100 * Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2])
}
