import { EngineError } from '../../../shared/bytes/errors.ts'

export interface ConfigProblem {
  /** The configuration key, or the environment variable that is not one. */
  readonly key: string
  /** Where the value came from: a file, an environment variable, or the command line. */
  readonly source: string
  readonly message: string
}

/** Everything that is wrong with a configuration, at once. The process ends with status 64 before any file is created. */
export class ConfigurationError extends EngineError {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(
      'ConfigurationInvalid',
      problems.map(({ key, source, message }) => `${key} (${source}): ${message}`).join('\n'),
      { advice: 'correct the keys named above; nothing was created or changed' },
    )
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/** Collects problems, so that a person sees all of them in one run. */
export class Problems {
  readonly list: ConfigProblem[] = []

  add(key: string, source: string, message: string): void {
    this.list.push({ key, source, message })
  }

  throwIfAny(): void {
    if (this.list.length > 0) throw new ConfigurationError(this.list)
  }
}
