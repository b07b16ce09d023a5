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

/** Where a field of the payload lies in a slot, and how many bytes it has. */
export function superblockFieldAt(field: string): { readonly at: number; readonly size: number } | undefined {
  if (!Object.hasOwn(FIELD_AT, field)) return undefined
  const [at, size] = FIELD_AT[field as keyof typeof FIELD_AT]
  return { at: PAYLOAD_AT + at, size }
}

/** Undefined: there is no whole record. */
export async function readSuperblockField(
  runner: Runner,
  node: number,
  directory: string,
  field: keyof typeof FIELD_AT,
): Promise<bigint | undefined> {
  const newest = await newestOf(runner, node, `${directory}/superblock.`)
  if (!newest) return undefined
  const [at, size] = FIELD_AT[field]
  const { view } = newest
  return size === 4 ? BigInt(view.getUint32(PAYLOAD_AT + at, true)) : view.getBigUint64(PAYLOAD_AT + at, true)
}

/** Letter of the slot with the higher sequence. @param prefix path of the slots, up to their letter */
export const newestSlot = async (runner: Runner, node: number, prefix: string): Promise<'a' | 'b' | undefined> =>
  (await newestOf(runner, node, prefix))?.slot

async function newestOf(runner: Runner, node: number, prefix: string) {
  let newest: { slot: 'a' | 'b'; sequence: bigint; view: DataView } | undefined
  for (const slot of ['a', 'b'] as const) {
    const bytes = await runner.readFile(node, `${prefix}${slot}`)
    if (!bytes || bytes.length !== PAYLOAD_AT + PAYLOAD_BYTES + 8) continue
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    if (view.getUint32(0, true) !== MAGIC) continue
    const sequence = view.getBigUint64(8, true)
    if (!newest || sequence > newest.sequence) newest = { slot, sequence, view }
  }
  return newest
}
