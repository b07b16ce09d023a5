// The few globals that exist in Node, in browsers and in workers alike, and that the engine may use.
// tsconfig.shared.json compiles `shared/` without the DOM or Node libraries, so that anything else is a type error.
declare class TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean })
  decode(input?: Uint8Array): string
}
