/**
 * What the `stats` command tells of this process and its machine (spec wire.md §3.1.1). Asked for at every request, so
 * everything here is cheap; the disk is looked at in the background, at most once in ten seconds.
 */
import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { cpus, freemem, hostname, release, totalmem, type, version } from 'node:os'
import type { HostFacts } from '../../shared/replica/contract.ts'

const DISK_MS = 10_000
/** Shares of a processor over less time than this are noise; the last figure is told again. */
const CPU_MS = 200

export function hostFacts(dataDirectory: string, monoMicros: () => number): () => HostFacts {
  let disk = { freeDiskSpace: 0n, totalDiskSpace: 0n }
  let lookedMs = Number.NEGATIVE_INFINITY
  const lookAtDisk = (nowMs: number) => {
    if (nowMs - lookedMs < DISK_MS) return
    lookedMs = nowMs
    statfs(dataDirectory, { bigint: true }).then(
      ({ bavail, blocks, bsize }) => {
        disk = { freeDiskSpace: bavail * bsize, totalDiskSpace: blocks * bsize }
      },
      // Without it the figures stay what they were.
      () => {},
    )
  }
  lookAtDisk(0)

  let last = { micros: monoMicros(), own: ownCpuMicros(), machine: machineCpu() }
  let shares = { cpuUsage: 0, totalCpuUsage: 0 }
  const lookAtCpu = () => {
    const now = { micros: monoMicros(), own: ownCpuMicros(), machine: machineCpu() }
    if (now.micros - last.micros < CPU_MS * 1000) return
    const total = now.machine.total - last.machine.total
    shares = {
      cpuUsage: percent(now.own - last.own, now.micros - last.micros),
      totalCpuUsage: percent(now.machine.busy - last.machine.busy, total),
    }
    last = now
  }

  return () => {
    lookAtDisk(monoMicros() / 1000)
    lookAtCpu()
    const io = processIo()
    return {
      processId: process.pid,
      ...shares,
      memoryUsage: BigInt(process.memoryUsage.rss()),
      totalMemory: BigInt(totalmem()),
      availableMemory: BigInt(freemem()),
      ...io,
      hostname: hostname(),
      osName: type(),
      osVersion: release(),
      kernelVersion: version(),
      threadsCount: cpus().length,
      ...disk,
    }
  }
}

const percent = (part: number, whole: number): number => (whole > 0 ? (part / whole) * 100 : 0)

function ownCpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function machineCpu(): { busy: number; total: number } {
  let busy = 0
  let total = 0
  for (const { times } of cpus()) {
    const all = times.user + times.nice + times.sys + times.idle + times.irq
    total += all
    busy += all - times.idle
  }
  return { busy, total }
}

/** Linux counts the bytes that a process moved to and from its disks; elsewhere they read 0. */
function processIo(): Pick<HostFacts, 'readBytes' | 'writtenBytes'> {
  try {
    const text = readFileSync('/proc/self/io', 'utf8')
    const value = (name: string) => BigInt(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    return { readBytes: value('read_bytes'), writtenBytes: value('write_bytes') }
  } catch {
    return { readBytes: 0n, writtenBytes: 0n }
  }
}
