export interface NodeOptions {
  readonly replicaId?: string
  readonly config?: string
  readonly fresh: boolean
  readonly withDefaultRootCredentials: boolean
}

/** Runs one replica until it is told to stop; the process ends with the status that says why. */
export async function runNode(options: NodeOptions): Promise<void> {
  throw new Error(`not built yet: ${JSON.stringify(options)}`)
}
