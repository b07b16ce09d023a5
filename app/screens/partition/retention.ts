/** What a partition keeps and how often it was emptied, in words (spec partition.md §4). Pure. */
import type { PartitionSnapshot } from '../../../shared/inspection/snapshots.ts'
import { bytesShort, count, duration, grouped } from '../../ui/format.ts'

export function retentionWords({ settings, purge }: Pick<PartitionSnapshot, 'settings' | 'purge'>): string {
  const { expiryUs, sealedBytesMax } = settings
  const rules = [
    expiryUs !== undefined && `sealed segments for ${duration(Number(BigInt(expiryUs) / 1000n))}`,
    sealedBytesMax !== undefined && `${bytesShort(Number(sealedBytesMax))} of sealed segments`,
  ].filter(Boolean)
  return `${rules.length === 0 ? 'every segment' : rules.join(', at most ')}${purgeWords(purge)}`
}

function purgeWords(purge: PartitionSnapshot['purge']): string {
  if (purge === undefined) return ''
  const { applied, committed } = purge
  const due =
    BigInt(committed) > BigInt(applied) ? `; purge ${grouped(committed)} is committed and not applied here yet` : ''
  return `${applied === '0' ? '; never purged' : `; purged ${count(applied, 'time')}`}${due}`
}
