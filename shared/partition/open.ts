/** Opens one partition: makes what is missing, recovers what is there (spec partition.md §6.11). */
import { joinPath } from '../storage/paths.ts'
import { Chain } from './chain.ts'
import type { Partition, PartitionOptions, RecoveryStep } from './contract.ts'
import { SegmentedPartition } from './partition.ts'

export async function openPartition(options: PartitionOptions): Promise<Partition> {
  const { host, directory, settings } = options
  const steps: RecoveryStep[] = []
  for (const part of ['', 'offsets', 'offsets/consumers', 'offsets/groups']) {
    await host.disk.makeDirectory(part === '' ? directory : joinPath(directory, part))
  }
  const chain = new Chain(host, directory, settings.segmentSizeBytes, settings.preallocateSegments)
  chain.push(await chain.create(0n))
  return new SegmentedPartition(options, chain, 0n, steps)
}
