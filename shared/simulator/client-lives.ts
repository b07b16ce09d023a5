/** The lives of clients that end between two requests once they are told to. */
export class ClientLives {
  /** Something that is no answer of the protocol came out of a client. */
  failure: unknown
  protected stopping = false
  private working = 0

  /** No further request begins; true once the last one has its answer. */
  stop(): boolean {
    this.stopping = true
    return this.working === 0
  }

  /** Counts a life that has begun until it ends. */
  protected watch(life: Promise<void>): void {
    this.working++
    life
      .catch((error: unknown) => {
        this.failure ??= error
      })
      .finally(() => {
        this.working--
      })
  }
}
