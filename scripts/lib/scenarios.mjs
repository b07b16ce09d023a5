// Which acceptance scenarios were executed and passed, and in which world: read from what the runners report, not from files.

/** What a title begins with: one scenario or several, `CT-14 CT-01 a request …`, maybe behind the number of a known fault. */
const LEADING = /^(?:[A-Z]\d{1,2} )*((?:[A-Z]{2}-\d{2}[,:]? (?:and )?)+)/

/**
 * @param executed tests with the `titles` of each, those around it first, its `world` (`sim` or `real`) and whether it `passed`
 * @returns a line per group, `CN: 21 (sim 20, real 3)`, where a group is the first two letters of an ID
 */
export function scenarioLines(executed) {
  const groups = new Map()
  for (const { titles, world, passed } of executed) {
    if (!passed) continue
    const leading = titles.map(title => LEADING.exec(title)?.[1] ?? '').join(' ')
    for (const [id] of leading.matchAll(/[A-Z]{2}-\d{2}/g)) {
      const group = groups.get(id.slice(0, 2)) ?? { sim: new Set(), real: new Set() }
      group[world].add(id)
      groups.set(id.slice(0, 2), group)
    }
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { sim, real }]) => `${name}: ${new Set([...sim, ...real]).size} (sim ${sim.size}, real ${real.size})`)
}
