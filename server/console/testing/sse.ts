/** A reader of server-sent events that keeps what it got. */
import http from 'node:http'

export interface SseMessage {
  readonly id: string | undefined
  readonly event: string
  /** When it arrived. */
  readonly atMs: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what they expect
  readonly data: any
}

export class SseReader {
  readonly messages: SseMessage[] = []
  readonly #request: http.ClientRequest
  #text = ''
  #wake: (() => void)[] = []
  status = 0

  constructor(url: string, headers: http.OutgoingHttpHeaders = {}) {
    this.#request = http.get(url, { headers, agent: false }, response => {
      this.status = response.statusCode ?? 0
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => this.#take(chunk))
    })
    this.#request.on('error', () => {})
  }

  #take(chunk: string): void {
    const parts = (this.#text + chunk).split('\n\n')
    this.#text = parts.pop()!
    for (const part of parts) {
      const fields = new Map(
        part.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      const event = fields.get('event')
      if (event === undefined) continue
      this.messages.push({ id: fields.get('id'), event, atMs: Date.now(), data: JSON.parse(fields.get('data')!) })
    }
    for (const wake of this.#wake.splice(0)) wake()
  }

  of(event: string): SseMessage[] {
    return this.messages.filter(message => message.event === event)
  }

  /** Every event and gap received, in order. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  items(): any[] {
    return this.of('batch').flatMap(message => message.data)
  }

  async until(done: (reader: SseReader) => boolean): Promise<void> {
    while (!done(this)) await new Promise<void>(resolve => this.#wake.push(resolve))
  }

  close(): void {
    this.#request.destroy()
  }
}
