/**
 * Login (spec wire.md §2.1–2.3). Password and token login share operation Register and carry no tag: the server tries the
 * password shape first, then the token shape.
 *
 *   request:  protocol u32 | sdkName text8 (1..) | sdkVersion text8 (1..)
 *             password: username text8 (1..) | password u8 length + text | context text32
 *             token:    token u8 length + text | context text32
 *   reply:    (result section) userId u32 | session u64 | serverProtocol u32 | serverVersion text8
 */
import { ByteReader } from '../bytes/reader.ts'
import { type CodecValue, name, struct, text8, text32, u32, u64 } from './codec.ts'

/** `major << 20 | minor << 10 | patch`, as it travels in logins and evictions (§2.1). */
export const packVersion = (major: number, minor: number, patch: number): number =>
  (major << 20) | (minor << 10) | patch
export const unpackVersion = (word: number): string => `${word >>> 20}.${(word >>> 10) & 0x3ff}.${word & 0x3ff}`

export const PROTOCOL_VERSION = packVersion(0, 11, 0)
/** The same with the patch zeroed: the oldest client that is served. */
export const PROTOCOL_VERSION_MIN = PROTOCOL_VERSION & ~0x3ff
/** What the reply calls the server's release; the official clients only require that the text is there. */
export const SERVER_VERSION = '0.9.0-edge.5'

/** Whether a client that speaks `word` is served; otherwise eviction 14. */
export const isCompatible = (word: number): boolean =>
  word >= PROTOCOL_VERSION_MIN && word >>> 10 <= PROTOCOL_VERSION >>> 10

export const versionInfo = struct({ protocol: u32, sdkName: name, sdkVersion: name })
export type VersionInfo = CodecValue<typeof versionInfo>

export const passwordLogin = struct({
  protocol: u32,
  sdkName: name,
  sdkVersion: name,
  username: name,
  password: text8(),
  context: text32,
})
export type PasswordLogin = CodecValue<typeof passwordLogin>

export const tokenLogin = struct({ protocol: u32, sdkName: name, sdkVersion: name, token: text8(), context: text32 })
export type TokenLogin = CodecValue<typeof tokenLogin>

export const loginReply = struct({ userId: u32, session: u64(), serverProtocol: u32, serverVersion: text8() })
export type LoginReply = CodecValue<typeof loginReply>

/** A login body seen by the server: its version words, and the shapes that fit; both may. */
export interface LoginAttempt {
  readonly version: VersionInfo
  readonly password?: PasswordLogin
  readonly token?: TokenLogin
}

/**
 * Decodes a Register body leniently: bytes behind the last field are ignored (§2.2).
 * @throws DecodeError when even the version words do not decode (eviction 15). Gate on `isCompatible` before the shapes.
 */
export function decodeLogin(body: Uint8Array): LoginAttempt {
  const version = versionInfo.read(new ByteReader(body))
  const password = attempt(() => passwordLogin.read(new ByteReader(body)))
  const token = attempt(() => tokenLogin.read(new ByteReader(body)))
  return { version, ...(password && { password }), ...(token && { token }) }
}

function attempt<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}
