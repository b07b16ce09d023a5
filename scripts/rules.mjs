// `npm run test:rules`: turns each rule of the protocol off, alone, and looks for the first seed on which a named checker
// notices; the same seed must be whole with the rule on. The seed on record is looked at first. At most 45 minutes.
// `--update` writes what was found into the files of records, one of which `npm test` replays; `--seeds n` is how many seeds
// each rule gets, `--jobs n` how many processes; other arguments are the rules to hunt, by default all of the consensus (R)
// and of the partitions (P). The rules of lessons (L) are shown by the drills that break them.
import { fork } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureInstalled, main, root } from './lib/prepare.mjs'

/** What a find may take (the same for every rule, whatever is asked for here). */
const SEEDS_MAX = 500
const LIMIT_MS = 44 * 60_000
/** Rules of the consensus that the swarm finds by itself, with nothing made more frequent for them. */
const PLAIN_MIN = 18
const RECORDS = join(root, 'shared/simulator/testdata/rules.json')
const SWARM_RECORDS = join(root, 'shared/simulator/testdata/rules-swarm.json')
const read = path => JSON.parse(readFileSync(path, 'utf8'))

await main(async () => {
  ensureInstalled()
  const { register } = await import('tsx/esm/api')
  register()
  const { RULE_CODES, RULE_NAMES, ruleOf } = await import('../shared/protocol/rules.ts')
  const { RULE_HUNTS } = await import('../shared/simulator/rules.ts')
  const { DRILLS } = await import('../shared/drills/library.ts')
  const { values, positionals } = parseArgs({
    options: {
      update: { type: 'boolean', default: false },
      seeds: { type: 'string', default: '500' },
      jobs: { type: 'string', default: '2' },
    },
    allowPositionals: true,
  })
  const [seeds, jobs] = [Number(values.seeds), Number(values.jobs)]
  const all = positionals.length === 0
  const wanted = all ? RULE_NAMES : positionals.map(text => ruleOf(text))
  if (wanted.includes(undefined) || !(seeds >= 1) || !(jobs >= 1)) {
    process.stderr.write(`rules are ${RULE_NAMES.map(name => `${RULE_CODES[name]} ${name}`).join(', ')}\n`)
    process.exit(2)
  }

  const started = performance.now()
  const hunted = wanted.filter(rule => RULE_HUNTS[rule] !== undefined)
  // What a focus finds sooner is found by the plain swarm too, these rules at least.
  const plain = hunted.flatMap(rule => {
    const record = read(SWARM_RECORDS).find(each => each.rule === RULE_CODES[rule])
    return record ? [{ rule, plain: true, first: Number(record.seed), seeds }] : []
  })
  const queue = [
    ...hunted.map(rule => ({
      rule,
      plain: false,
      first: recordedSeed(RULE_CODES[rule], RULE_HUNTS[rule].profile),
      seeds,
    })),
    ...plain,
  ]
  const results = new Map()
  const plainFinds = new Map()
  const say = ({ rule, plain }, found, words) => {
    if (!plain) results.set(rule, found)
    else if (found) plainFinds.set(rule, found)
    const profile = plain ? 'swarm' : (RULE_HUNTS[rule]?.profile ?? '')
    process.stdout.write(`${RULE_CODES[rule]} ${rule.padEnd(26)} ${profile.padEnd(18)} ${words}\n`)
  }
  for (const rule of wanted) {
    if (hunted.includes(rule)) continue
    const drill = DRILLS.find(({ broken }) => broken.rule === rule)
    if (drill) process.stdout.write(`${RULE_CODES[rule]} ${rule.padEnd(26)} is broken by drill ${drill.id}\n`)
    else say({ rule, plain: false }, undefined, 'nobody has said how it is found')
  }

  const hunter = () =>
    new Promise(resolve => {
      // Most of what an event makes is garbage after it; with room for it, little of that is ever copied.
      const execArgv = ['--import', 'tsx', '--max-semi-space-size=32']
      const child = fork(join(root, 'scripts/lib/rule-worker.mjs'), { execArgv, cwd: root })
      let item
      const other = new Map()
      const next = () => {
        item = queue.shift()
        other.clear()
        if (item === undefined) child.disconnect()
        else child.send(item)
      }
      const finish = (count, found, words) => {
        const others = [...other].map(([what, count]) => `${what} on ${count}`)
        const tried = `${count} seed${count === 1 ? '' : 's'} tried`
        say(item, found, [words, tried, ...others].join(', '))
        item = undefined
        next()
      }
      let tried = 0
      child.on('message', message => {
        if (message.ready) return next()
        const { seed, trial } = message
        if (trial.kind === 'found') {
          const { checker, runMs } = trial.record
          const length = runMs === undefined ? 'a whole run' : `${(runMs / 1_000).toFixed(1)} s`
          return finish(message.tried, trial.record, `seed ${seed} by ${checker} in ${length}, green with the rule on`)
        }
        if (trial.kind === 'given up') return finish(message.tried, undefined, 'NOT FOUND')
        tried = message.tried
        const what = trial.kind === 'red' ? 'red with the rule on' : trial.said[0]?.split(':')[0]
        if (what !== undefined) other.set(what, (other.get(what) ?? 0) + 1)
      })
      const limit = setTimeout(() => child.kill(), Math.max(0, LIMIT_MS - (performance.now() - started)))
      child.once('exit', () => {
        clearTimeout(limit)
        if (item !== undefined) say(item, undefined, `NOT FOUND in the time, ${tried} seeds tried`)
        resolve()
      })
    })
  await Promise.all(Array.from({ length: Math.min(jobs, queue.length) }, hunter))
  for (const item of queue) say(item, undefined, 'NOT FOUND: no time was left')

  if (values.update) {
    const codes = RULE_NAMES.map(name => RULE_CODES[name])
    update(RECORDS, codes, results)
    update(SWARM_RECORDS, codes, plainFinds)
  }
  const found = [...results.values()].filter(record => record !== undefined)
  const minutes = ((performance.now() - started) / 60_000).toFixed(1)
  const swarm = new Set(
    found.filter(({ rule, profile }) => rule.startsWith('R') && profile === 'swarm').map(({ rule }) => rule),
  )
  for (const rule of plainFinds.keys()) swarm.add(RULE_CODES[rule])
  const few = all && swarm.size < PLAIN_MIN
  process.stdout.write(
    `${swarm.size} of the rules R01 to R25 by the plain swarm${few ? `, fewer than ${PLAIN_MIN}` : ''}; ${minutes} minutes\n`,
  )
  process.stdout.write(`${found.length} passed, ${results.size - found.length} failed\n`)
  process.exitCode = found.length === results.size && !few ? 0 : 1
})

/** Seed of the find on record, when it is one of those that a hunt looks at. */
function recordedSeed(code, profile) {
  const record = read(RECORDS).find(each => each.rule === code && each.profile === profile)
  const seed = Number(record?.seed)
  return seed <= SEEDS_MAX ? seed : undefined
}

/** Finds of this hunt take the place of older ones; a rule that was not found keeps what it had. */
function update(path, codes, results) {
  const records = new Map(read(path).map(record => [record.rule, record]))
  for (const record of results.values()) if (record) records.set(record.rule, record)
  const lines = codes.map(code => records.get(code)).filter(record => record !== undefined)
  writeFileSync(path, `[\n${lines.map(line => `  ${JSON.stringify(line)}`).join(',\n')}\n]\n`)
}
