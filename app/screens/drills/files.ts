/** What the files of a node were at a moment of a replay. */
import type { DrillReplay } from '../../../shared/inspection/drills.ts'

export interface FileNow {
  readonly path: string
  /** Null: it was removed. */
  readonly bytes: number | null
  /** The most that it had by now. */
  readonly longest: number
  /** What the last look that changed anything on this node has brought; undefined: nothing. */
  readonly change?: number | 'new' | 'gone'
}

/** Files that were there by now, by name. One that came and went before the last look is forgotten. */
export function filesAt(changes: DrillReplay['files'], node: number, at: number): FileNow[] {
  const files = new Map<string, FileNow>()
  let look: number | undefined
  for (const { at: when, node: of, path, bytes } of changes) {
    if (when > at) break
    if (of !== node) continue
    if (when !== look) {
      look = when
      for (const [name, { change: _, ...file }] of files) {
        if (file.bytes === null) files.delete(name)
        else files.set(name, file)
      }
    }
    const before = files.get(path)
    const was = before?.bytes ?? null
    const change = bytes === null ? 'gone' : was === null ? 'new' : bytes - was
    files.set(path, { path, bytes, longest: Math.max(before?.longest ?? 0, bytes ?? 0), change })
  }
  return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}
