import { randomBytes } from 'node:crypto'
import type { Entropy } from '../../shared/storage/ports.ts'

export const systemEntropy: Entropy = {
  u64: () => randomBytes(8).readBigUInt64LE(),
  // A copy, because a Buffer may be a view of a pool.
  bytes: length => new Uint8Array(randomBytes(length)),
}
