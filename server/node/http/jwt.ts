/** Bearer tokens of the HTTP API (spec wire.md §7): JWT, HS256, issuer and audience of the protocol. */
import { hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'

const PARTY = 'iggy.apache.org'
const ALGORITHM = 'HS256'
const CLOCK_SKEW_S = 5
const KEY_BYTES = 32

export interface Bearer {
  /** `jti`: the session that belongs to it. */
  readonly id: string
  readonly userId: number
  /** Unix seconds. */
  readonly expiresAtS: number
}

/** Of a secret that all nodes know, so that what one of them signs is good at every other one. */
export const sharedKey = (secret: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', 'http bearer tokens', KEY_BYTES))
/** Good at this node, until it ends. */
export const ownKey = (): Uint8Array => randomBytes(KEY_BYTES)

export class Jwt {
  private readonly key: Uint8Array
  private readonly lifetimeS: number

  constructor(key: Uint8Array, lifetimeS: number) {
    this.key = key
    this.lifetimeS = lifetimeS
  }

  async issue(userId: number): Promise<{ readonly token: string; readonly bearer: Bearer }> {
    const nowS = Math.floor(Date.now() / 1000)
    const bearer = { id: randomUUID(), userId, expiresAtS: nowS + this.lifetimeS }
    const token = await new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setJti(bearer.id)
      .setIssuer(PARTY)
      .setAudience(PARTY)
      .setSubject(String(userId))
      .setIssuedAt(nowS)
      .setNotBefore(nowS)
      .setExpirationTime(bearer.expiresAtS)
      .sign(this.key)
    return { token, bearer }
  }

  /** Undefined for anything that this node, or one with the same key, would not have issued, or that has expired. */
  async verify(token: string): Promise<Bearer | undefined> {
    try {
      const { payload } = await jwtVerify(token, this.key, {
        algorithms: [ALGORITHM],
        issuer: PARTY,
        audience: PARTY,
        clockTolerance: CLOCK_SKEW_S,
        requiredClaims: ['jti', 'sub', 'exp'],
      })
      const userId = Number(payload.sub)
      if (!Number.isInteger(userId) || userId < 0) return undefined
      return { id: payload.jti!, userId, expiresAtS: payload.exp! }
    } catch {
      return undefined
    }
  }
}
