/** The drill book: one page and one picture for each drill, and a list of them all, from the data that the drills run on. */
import type { Drill } from './contract.ts'
import { pictureOf } from './picture.ts'
import { replayOf } from './recording.ts'
import { type DrillRun, scenarioOf } from './run.ts'
import { stepLines } from './words.ts'

export const BOOK_COMMAND = 'npm run -s quorumscope -- drill book'

export interface Told {
  readonly drill: Drill
  /** In the simulator, with the drill's own seed. */
  readonly run: DrillRun
}

/** @returns the files of the book by their names in its folder */
export function bookOf(told: readonly Told[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>([['README.md', listOf(told.map(({ drill }) => drill))]])
  for (const { drill, run } of told) {
    files.set(`${drill.id}.md`, pageOf(drill))
    files.set(`${drill.id}.svg`, momentOf(drill, run))
  }
  return files
}

function momentOf(drill: Drill, { recording, findings, world, broken }: DrillRun): string {
  const replay = replayOf(scenarioOf(drill, { world, broken }), recording, findings, drill.decisive)
  return pictureOf(replay, `${drill.id} ${drill.title}: ${drill.decisive}`)
}

function listOf(drills: readonly Drill[]): string {
  const lessons = [...new Set(drills.map(({ lesson }) => lesson))]
  return page([
    '# The drill book',
    `Each drill breaks something on purpose, and a verdict is computed from what was found. They run on the page (*Drills*) and by command: \`npm run -s quorumscope -- drill run D03\`, \`--real\` on real processes, \`--broken\` with the rule off that the drill is about.`,
    `This book is made from the drills themselves: \`${BOOK_COMMAND}\`. The pictures are of runs in the simulator: time flows down, a line is a node that serves, the row in colour is the moment that decides.`,
    ...lessons.map(lesson =>
      [
        `## ${capital(lesson)}`,
        '',
        '| drill | teaches | runs in |',
        '| --- | --- | --- |',
        ...drills
          .filter(drill => drill.lesson === lesson)
          .map(({ id, title, teaches, worlds }) => `| [${id} ${title}](${id}.md) | ${teaches} | ${whereOf(worlds)} |`),
      ].join('\n'),
    ),
  ])
}

function pageOf(drill: Drill): string {
  const { id, title, teaches, goal, predictions, look, whySafe, worlds, broken, decisive, scenario } = drill
  return page([
    `# ${id} ${title}`,
    `Teaches: ${teaches}. Runs in: ${whereOf(worlds)}. [All drills](README.md)`,
    goal,
    '## What will happen?',
    predictions.map(({ text, rightIf }) => `- ${text}. *${rightIf.passes ? 'Yes' : 'No'}.*`).join('\n'),
    '## Steps',
    stepLines(scenario.steps)
      .map(({ text }, index) => `${index + 1}. ${text}`)
      .join('\n'),
    'At the end:',
    scenario.verdict.map(({ what }) => `- ${what}`).join('\n'),
    '## The moment that decides',
    `![${decisive}](${id}.svg)`,
    `*${capital(decisive)}.*`,
    `Where to look while it runs: ${look.charAt(0).toLowerCase()}${look.slice(1)}`,
    '## Why it is safe',
    whySafe,
    '## Without the rule',
    `Rule \`${broken.rule}\` off: ${broken.story} The checker \`${broken.noticedBy}\` notices.`,
    [
      '```sh',
      `npm run -s quorumscope -- drill run ${id}`,
      ...(worlds.includes('real') ? [`npm run -s quorumscope -- drill run ${id} --real`] : []),
      `npm run -s quorumscope -- drill run ${id} --broken`,
      '```',
    ].join('\n'),
  ])
}

const page = (parts: readonly string[]): string => `${parts.join('\n\n')}\n`

const whereOf = (worlds: Drill['worlds']): string =>
  worlds.includes('real') ? 'simulator, real processes' : 'simulator'

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
