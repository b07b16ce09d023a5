/** A line as it may leave this machine: without its paths, commands and ports that lead nowhere elsewhere. */
import type { ClusterNode } from '../../../shared/inspection/api.ts'
import type { RecordedLine } from '../../../shared/inspection/recording.ts'

/** Absolute paths, of which the last part is kept; and anything that was given as a secret. */
const PATH = /(?<![\w/:.])(?:\/[\w.@+ -]+){2,}/g
const SECRET = /(pass(?:word)?|secret|token|authorization|api[-_]?key)("?\s*[:=]\s*"?)(?:bearer\s+)?[^\s"',;&]+/gi

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
export const publicText = (text: string): string =>
  text.replace(SECRET, '$1$2(left out)').replace(PATH, path => `…/${lastPart(path)}`)

/** Deep copy with every text made public; keys stay. Paths of the API are no paths of the machine. */
function publicValue(value: unknown, key?: string): unknown {
  if (typeof value === 'string') return key === 'path' && value.startsWith('/api/') ? value : publicText(value)
  if (Array.isArray(value)) return value.map(item => publicValue(item, key))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, publicValue(item, name)]))
  return value
}

const publicNode = (node: ClusterNode): ClusterNode => {
  const { command: _command, logFile: _log, ...rest } = node
  return publicValue(rest) as ClusterNode
}

export function publicLine(line: RecordedLine): RecordedLine {
  if (line.event === 'nodes') return { ...line, data: line.data.map(publicNode) }
  if (line.event === 'answer') return { ...line, data: { ...line.data, json: publicValue(line.data.json) } }
  return { ...line, data: publicValue(line.data) } as RecordedLine
}
