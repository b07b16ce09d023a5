/** One field of the newest superblock record on a disk, decoded from the format alone (metadata-storage.md §1.2, §1.6). */
import type { Runner } from './runner.ts'

const FIELD_AT = {
  view: [18, 4],
  logView: [22, 4],
  commitMax: [26, 8],
  checkpointOp: [34, 8],
  offsetFrontier: [58, 8],
  offsetReserved: [66, 8],
} as const

const MAGIC = 0x53424c4b
const PAYLOAD_AT = 28
const PAYLOAD_BYTES = 74

/** Undefined: there is no whole record. */
export async function readSuperblockField(
  runner: Runner,
  node: number,
  directory: string,
  field: keyof typeof FIELD_AT,
): Promise<bigint | undefined> {
  let newest: { sequence: bigint; value: bigint } | undefined
  for (const slot of ['a', 'b']) {
    const bytes = await runner.readFile(node, `${directory}/superblock.${slot}`)
    if (!bytes || bytes.length !== PAYLOAD_AT + PAYLOAD_BYTES + 8) continue
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    if (view.getUint32(0, true) !== MAGIC) continue
    const [at, size] = FIELD_AT[field]
    const sequence = view.getBigUint64(8, true)
    const value = size === 4 ? BigInt(view.getUint32(PAYLOAD_AT + at, true)) : view.getBigUint64(PAYLOAD_AT + at, true)
    if (!newest || sequence > newest.sequence) newest = { sequence, value }
  }
  return newest?.value
}
