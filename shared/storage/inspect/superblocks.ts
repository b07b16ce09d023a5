/** Superblocks of one group under inspection (spec metadata-storage.md §1): each slot by itself, then the two together. */
import { DecodeError } from '../../bytes/errors.ts'
import type { Hash } from '../../bytes/hash.ts'
import type { Disk } from '../disk.ts'
import { describeSuperblock, readSuperblock, type SlotReading } from '../superblock.ts'
import { decodeVsrState, SUPERBLOCK_HEADER_BYTES, type VsrState } from '../superblock-record.ts'
import { checkName, type Findings, type GroupSuperblock } from './report.ts'

export interface InspectedSuperblock {
  readonly report: GroupSuperblock
  /** State of the winning slot, when it decodes. */
  readonly state?: VsrState
}

/** Undefined when a slot could not be read at all; that is a finding already. */
export async function inspectSuperblock(
  disk: Disk,
  directory: string,
  hash: Hash,
  findings: Findings,
  group: Pick<GroupSuperblock, 'plane' | 'key'>,
): Promise<InspectedSuperblock | undefined> {
  const reading = await readSuperblock(disk, directory, hash).catch(error => {
    findings.unreadable(error, error.context?.path ?? directory)
    return undefined
  })
  if (reading === undefined) return undefined
  const states = { a: inspectSlot(reading.a, findings), b: inspectSlot(reading.b, findings) }
  if (reading.verdict.kind === 'unreadable') {
    findings.add(
      'damage',
      'SUPERBLOCK_UNREADABLE',
      directory,
      0,
      'slot_combination',
      `${reading.verdict.why}; a boot refuses this group and writes neither slot`,
    )
  }
  const state = reading.verdict.kind === 'present' ? states[reading.verdict.winner] : undefined
  const report: GroupSuperblock = { ...group, directory, ...describeSuperblock(reading) }
  return { report, ...(state === undefined ? {} : { state }) }
}

function inspectSlot(slot: SlotReading, findings: Findings): VsrState | undefined {
  if (slot.class.kind === 'absent') {
    if (slot.class.reason === 'empty') {
      findings.countFile(0)
      findings.add('info', 'SUPERBLOCK_EMPTY_SLOT', slot.path, 0, 'length', 'the file is empty, which counts as absent')
    }
    return undefined
  }
  findings.countFile(slot.fileBytes)
  if (slot.class.kind === 'corrupt') {
    const { failure, version } = slot.class
    const values = failure.expected === undefined ? '' : `: expected ${failure.expected}, found ${failure.actual}`
    const downgrade = version === undefined ? '' : '; written by a newer build?'
    findings.add(
      'damage',
      'SUPERBLOCK_CORRUPT',
      slot.path,
      failure.position,
      checkName(failure.code),
      `${failure.message}${values}${downgrade}`,
    )
    return undefined
  }
  try {
    const { layoutBytes, state } = decodeVsrState(slot.class.payload)
    if (layoutBytes !== 74) {
      const fate =
        layoutBytes === 66
          ? 'it holds no offset reservation, so a node of this build refuses it'
          : 'a node of this build reads its missing fields as 0'
      findings.add(
        'info',
        'SUPERBLOCK_OLDER_BUILD',
        slot.path,
        24,
        'payload_length',
        `a record of an older build, payload of ${layoutBytes} bytes: ${fate}`,
      )
    }
    if (state.replicaCount === 0 || state.replicaId >= state.replicaCount) {
      findings.add(
        'damage',
        'SUPERBLOCK_UNDECODABLE',
        slot.path,
        44,
        'replica_id',
        `replica ${state.replicaId} of ${state.replicaCount} cannot be`,
      )
      return undefined
    }
    return state
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const position = error.code === 'WrongLength' ? 24 : SUPERBLOCK_HEADER_BYTES + error.position
    findings.add('damage', 'SUPERBLOCK_UNDECODABLE', slot.path, position, checkName(error.code), error.message)
    return undefined
  }
}
