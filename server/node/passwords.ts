import { hash, verify } from '@node-rs/argon2'
import type { Passwords } from '../../shared/replica/contract.ts'

/**
 * Argon2id with the library's defaults (19 MiB, 2 rounds), on the thread pool. What is hashed is bounded by the protocol:
 * a password has at most 255 bytes on the wire.
 */
export const argon2Passwords: Passwords = {
  hash: password => hash(password),
  // A stored text that is no hash is a wrong password, not a fault of the caller.
  verify: (stored, password) => verify(stored, password).catch(() => false),
}
