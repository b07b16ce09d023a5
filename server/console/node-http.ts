/** Reads one node's inspection endpoint. Every failure is a ConsoleError that says whether the node is down or hangs. */
import http from 'node:http'
import { ConsoleError } from './errors.ts'

/** The largest answer is a snapshot of 2,000 groups, under 2 MiB. */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** A node answers from memory or from a few reads; one that needs longer hangs. */
export const ANSWER_TIMEOUT_MS = 2_000

export interface NodeEndpoint {
  readonly host: string
  readonly port: number
}

export interface NodeAnswer {
  readonly json: unknown
  readonly bytes: number
}

export class NodeHttp {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 8, maxFreeSockets: 2 })

  /** @throws ConsoleError CON_NODE_DOWN, CON_NODE_SILENT, CON_NO_SUCH_THING, CON_BAD_REQUEST, CON_NODE_ERROR */
  get(node: number, endpoint: NodeEndpoint, path: string, method: 'GET' | 'POST' = 'GET'): Promise<NodeAnswer> {
    const timeoutMs = ANSWER_TIMEOUT_MS
    return new Promise((resolve, reject) => {
      const request = http.request({ ...endpoint, path, method, agent: this.#agent }, response => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > ANSWER_BYTES_MAX) {
            request.destroy(
              new ConsoleError('CON_NODE_ERROR', `node-${node} answered with more than ${ANSWER_BYTES_MAX} bytes.`),
            )
          } else chunks.push(chunk)
        })
        response.on('error', error => fail(error))
        response.on('end', () => {
          clearTimeout(timer)
          try {
            resolve(understand(node, response.statusCode ?? 0, Buffer.concat(chunks).toString(), bytes))
          } catch (error) {
            reject(error as Error)
          }
        })
      })
      const timer = setTimeout(() => {
        request.destroy(new ConsoleError('CON_NODE_SILENT', `node-${node} did not answer within ${timeoutMs} ms.`))
      }, timeoutMs)
      const fail = (error: Error) => {
        clearTimeout(timer)
        reject(
          error instanceof ConsoleError
            ? error
            : new ConsoleError('CON_NODE_DOWN', `node-${node} cannot be reached: ${error.message}`),
        )
      }
      request.on('error', fail)
      request.end()
    })
  }

  /** A response that does not end, for `/events`. The caller destroys it. */
  open(endpoint: NodeEndpoint, path: string): http.ClientRequest {
    return http.get({ ...endpoint, path, agent: false })
  }

  close(): void {
    this.#agent.destroy()
  }
}

function understand(node: number, status: number, text: string, bytes: number): NodeAnswer {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new ConsoleError(
      'CON_NODE_ERROR',
      `node-${node} answered with something that is not JSON (status ${status}).`,
    )
  }
  if (status === 200) return { json, bytes }
  const said = (json as { error?: { code?: unknown; message?: unknown } } | null)?.error
  const origin = { code: String(said?.code ?? status), message: String(said?.message ?? '') }
  const words = `node-${node}: ${origin.message || `status ${status}`}`
  if (status === 404) throw new ConsoleError('CON_NO_SUCH_THING', words, origin)
  if (status === 400) throw new ConsoleError('CON_BAD_REQUEST', words, origin)
  throw new ConsoleError('CON_NODE_ERROR', words, origin)
}
