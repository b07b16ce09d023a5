// `npm test`: prepares what is missing, then runs every kind of proof once and sums the counts of all runners.
// Arguments choose stages: `npm test -- unit e2e`. The last line is always `N passed, N failed`.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ensureBuilt, ensureChromium, ensureInstalled, main, root } from './lib/prepare.mjs'
import { scenarioLines } from './lib/scenarios.mjs'

const bin = name => join(root, 'node_modules', name)
const scratch = mkdtempSync(join(tmpdir(), 'quorumscope-test-'))
const totals = { passed: 0, failed: 0, skipped: 0 }
const failures = []
/** What failed, said again at the end, where it is looked for. */
const reds = []
/** What passed only when it was run again, with what was wrong the first time. */
const second = []
/** Every test that was executed, for the table of scenarios. */
const executed = []
const tell = (title, message = 'no message', list = reds) => {
  const lines = stripVTControlCharacters(message).split('\n')
  list.push(`${title}\n    ${lines.slice(0, 6).join('\n    ')}`)
}

const execute = (args, env = {}) =>
  new Promise(resolve => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
    })
    const forward = signal => child.kill(signal)
    process.once('SIGINT', forward)
    process.once('SIGTERM', forward)
    child.once('exit', (code, signal) => {
      process.off('SIGINT', forward)
      process.off('SIGTERM', forward)
      resolve(code ?? (signal ? 128 : 1))
    })
  })

const add = (name, passed, failed, skipped = 0) => {
  totals.passed += passed
  totals.failed += failed
  totals.skipped += skipped
  if (failed > 0) failures.push(name)
}

/** A check without test cases of its own counts as one. */
async function single(name, args) {
  const code = await execute(args)
  add(name, code === 0 ? 1 : 0, code === 0 ? 0 : 1)
}

/** @param world in which its tests run: `sim` has nothing real about it, `real` has processes, files and sockets */
async function vitest(name, project, world) {
  const report = join(scratch, `${name}.json`)
  const code = await execute([
    bin('vitest/vitest.mjs'),
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ])
  if (!existsSync(report)) return add(name, 0, 1)
  const result = JSON.parse(readFileSync(report, 'utf8'))
  const { numPassedTests, numFailedTests, numPendingTests, numTotalTests } = result
  for (const file of result.testResults) {
    const path = relative(root, file.name)
    for (const { title, ancestorTitles, status } of file.assertionResults)
      executed.push({ titles: [...ancestorTitles, title], world, passed: status === 'passed' })
    const red = file.assertionResults.filter(({ status }) => status === 'failed')
    for (const { fullName, failureMessages } of red) tell(`${path} > ${fullName}`, failureMessages[0])
    for (const { fullName, failureMessages, status } of file.assertionResults)
      if (status === 'passed' && failureMessages.length > 0) tell(`${path} > ${fullName}`, failureMessages[0], second)
    if (file.status === 'failed' && red.length === 0) tell(path, file.message)
  }
  // A file that does not even load, or an error outside any test, fails the run without a failed test.
  const failed = numFailedTests > 0 ? numFailedTests : code === 0 && numTotalTests > 0 ? 0 : 1
  add(name, numPassedTests, failed, numPendingTests)
}

async function playwright(name, chromium) {
  const report = join(scratch, `${name}.json`)
  const env = { PLAYWRIGHT_JSON_OUTPUT_FILE: report, ...(chromium ? { PLAYWRIGHT_CHROMIUM_PATH: chromium } : {}) }
  const code = await execute(
    [bin('@playwright/test/cli.js'), 'test', '--config', 'e2e/playwright.config.ts', '--reporter=list,json'],
    env,
  )
  if (!existsSync(report)) return add(name, 0, 1)
  const result = JSON.parse(readFileSync(report, 'utf8'))
  const { expected, unexpected, flaky, skipped } = result.stats
  const visit = suite => {
    for (const inner of suite.suites ?? []) visit(inner)
    for (const spec of suite.specs ?? []) {
      const [name, results] = [`e2e/${spec.file} > ${spec.title}`, spec.tests[0]?.results ?? []]
      if (!spec.ok) tell(name, results.at(-1)?.error?.message)
      else if (results.length > 1) tell(name, results[0].error?.message, second)
    }
  }
  visit(result)
  add(name, expected + flaky, unexpected > 0 ? unexpected : code === 0 && expected + flaky > 0 ? 0 : 1, skipped)
}

const stages = {
  types: () => single('types', [bin('typescript/bin/tsc'), '-p', 'tsconfig.json']),
  'shared-types': () => single('shared-types', [bin('typescript/bin/tsc'), '-p', 'tsconfig.shared.json']),
  lint: () => single('lint', [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.']),
  house: () => single('house', ['scripts/check.mjs']),
  unit: () => vitest('unit', 'unit', 'sim'),
  process: () => vitest('process', 'process', 'real'),
  e2e: async () => playwright('e2e', ensureChromium()),
}

await main(async () => {
  const wanted = process.argv.slice(2)
  const unknown = wanted.filter(name => !(name in stages))
  if (unknown.length > 0) {
    console.error(`unknown stage ${unknown.join(', ')}; stages are ${Object.keys(stages).join(', ')}`)
    process.exit(2)
  }
  ensureInstalled()
  ensureBuilt()
  for (const [name, stage] of Object.entries(stages)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const started = Date.now()
    console.error(`\n── ${name}`)
    await stage()
    console.error(`── ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`)
  }
  rmSync(scratch, { recursive: true, force: true })
  const scenarios = scenarioLines(executed)
  if (scenarios.length > 0) console.log(`\nscenarios executed and passed\n  ${scenarios.join('\n  ')}`)
  if (failures.length > 0) console.log(`\nfailed: ${failures.join(', ')}`)
  for (const red of reds) console.log(`  ${red}`)
  if (second.length > 0) console.log('\npassed only the second time')
  for (const test of second) console.log(`  ${test}`)
  if (totals.skipped > 0) console.log(`${totals.skipped} skipped (their reasons are printed above)`)
  console.log(`${totals.passed} passed, ${totals.failed} failed`)
  process.exit(totals.failed === 0 ? 0 : 1)
})
