/**
 * JSON of the HTTP API (spec wire.md §7). Numbers of 64 and 128 bits travel as bare JSON numbers, which a double cannot hold:
 * whole numbers beyond 2^53 become bigint on the way in, and bigint becomes a bare number on the way out.
 */
import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json'
import { z } from 'zod'
import { U64_MAX, U128_MAX } from '../../../shared/bytes/units.ts'
import type { OutgoingMessage } from '../../../shared/client/client.ts'
import type { Partitioning } from '../../../shared/protocol/messages.ts'
import { protocolError } from './errors.ts'

const number = (text: string): number | bigint => (isInteger(text) && !isSafeNumber(text) ? BigInt(text) : Number(text))

/** @throws SyntaxError */
export const parseJson = (text: string): unknown => parse(text, undefined, number)
export const writeJson = (value: unknown): string => stringify(value) ?? 'null'

const unsigned = (max: bigint) =>
  z
    .union([z.number().int(), z.bigint()])
    .transform(value => BigInt(value))
    .refine(value => value >= 0n && value <= max, `must be 0 to ${max}`)
const base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
  .transform(text => new Uint8Array(Buffer.from(text, 'base64')))

export const credentialsBody = z.object({ username: z.string().min(1), password: z.string() })
export const tokenBody = z.object({ token: z.string().min(1) })
export const createTokenBody = z.object({ name: z.string().min(1), expiry: unsigned(U64_MAX) })

const partitioning = z
  .object({ kind: z.enum(['balanced', 'partition_id', 'messages_key']), value: base64.optional() })
  .transform(({ kind, value = new Uint8Array(0) }, context): Partitioning => {
    if (kind === 'balanced') return { kind }
    if (kind === 'messages_key' && value.length >= 1 && value.length <= 255) return { kind: 'key', key: value }
    if (kind === 'partition_id' && value.length === 4) {
      return { kind: 'partition', partition: Buffer.from(value).readUInt32LE() }
    }
    context.addIssue(kind === 'partition_id' ? 'a partition id has four bytes' : 'a messages key has 1 to 255 bytes')
    return z.NEVER
  })
const message = z
  .object({
    id: unsigned(U128_MAX).optional(),
    payload: base64,
    user_headers: z.null('user headers are not taken over HTTP').optional(),
  })
  // An id of 0 is none: the server draws one.
  .transform(({ id, payload }): OutgoingMessage => ({ payload, ...(id !== undefined && id !== 0n && { id }) }))
export const sendBody = z.object({ partitioning, messages: z.array(message).min(1) })

/** @throws HttpError 400 that names the field. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw protocolError(3, issue!.message, issue!.path.join('.') || null)
}
