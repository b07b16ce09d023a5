/** Every drill, in the order of its number. */
import { D21, D24 } from './catching-up.ts'
import type { Drill } from './contract.ts'
import { D04, D05, D07 } from './damage.ts'
import { D22, D23 } from './forwarding.ts'
import { D25 } from './head.ts'
import { D03, D06 } from './index-and-log.ts'
import { D14, D17 } from './metadata-log.ts'
import { D18, D19, D20 } from './offsets.ts'
import { D01, D02, D08 } from './persisting.ts'
import { D15, D16 } from './retries.ts'
import { D09, D10, D11, D12, D13 } from './superblock.ts'

export const DRILLS: readonly Drill[] = [
  D01,
  D02,
  D03,
  D04,
  D05,
  D06,
  D07,
  D08,
  D09,
  D10,
  D11,
  D12,
  D13,
  D14,
  D15,
  D16,
  D17,
  D18,
  D19,
  D20,
  D21,
  D22,
  D23,
  D24,
  D25,
]

/** @returns the drill with this id in any case, or undefined */
export const drillOf = (id: string): Drill | undefined => DRILLS.find(drill => drill.id === id.toUpperCase())
