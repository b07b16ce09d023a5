/** Lives of one partition on one disk, with its superblock: opened, written to, ended by a kill or by a clean stop. */
import { Micros, type Offset } from '../../bytes/units.ts'
import type { Disk } from '../../storage/disk.ts'
import type { Partition, PartitionOptions } from '../contract.ts'
import { openPartition } from '../open.ts'
import { prepare, producedBatch, TestHost, testOptions, text } from './harness.ts'
import { TestSuperblock } from './superblock.ts'

export interface LifeOptions extends Partial<Omit<PartitionOptions, 'settings' | 'host' | 'superblock'>> {
  readonly settings?: Partial<PartitionOptions['settings']>
  /** Written into the superblock in front of the boot. */
  readonly record?: readonly [frontier: bigint, reserved: bigint]
}

export class Life {
  readonly host: TestHost
  readonly superblock: TestSuperblock
  readonly partition: Partition
  private op = 0n

  private constructor(host: TestHost, superblock: TestSuperblock, partition: Partition) {
    this.host = host
    this.superblock = superblock
    this.partition = partition
  }

  static async open(disk: Disk, { settings, record, ...options }: LifeOptions = {}): Promise<Life> {
    const host = new TestHost(disk)
    const replicas = options.replicaCount ?? 1
    const superblock = record
      ? await TestSuperblock.saying(disk, record[0], record[1], replicas)
      : await TestSuperblock.open(disk, replicas)
    const partition = await openPartition({ ...testOptions(host, settings), ...options, superblock })
    return new Life(host, superblock, partition)
  }

  /** One batch, appended as the primary does once its offsets are reserved, and committed at once; its base offset. */
  async send(...payloads: string[]): Promise<Offset> {
    const op = this.op + 1n
    const { header, frame } = prepare(op, producedBatch(payloads.map(text)), {
      timestamp: Micros(1_700_000_000_001_000n + op),
    })
    for (;;) {
      const result = this.partition.append('primary', header, frame)
      if (result.ok) {
        this.op = op
        const { baseOffset } = this.partition.apply(result.header)
        if (baseOffset === undefined) throw new Error('the batch was on disk already')
        return baseOffset
      }
      if (!result.pending) throw result.error
      await new Promise<void>(resolve => this.partition.whenReserved(resolve))
    }
  }

  async sendEach(count: number, name = 'm'): Promise<Offset[]> {
    const offsets: Offset[] = []
    for (let index = 0; index < count; index++) offsets.push(await this.send(`${name}${index}`))
    return offsets
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    await this.partition.flush()
    await this.partition.collapse(true)
    await this.partition.close()
  }

  fact(kind: string) {
    return this.host.notes.find(note => note.kind === kind)?.data
  }
}
