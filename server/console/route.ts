/**
 * One way to add a route: path, words, schemas and handler together. What is declared here is checked on the way in and
 * is what the OpenAPI document says, so that neither can drift from the other.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ConsoleError } from './errors.ts'

type Shape = z.ZodType | undefined
type Out<T extends Shape> = T extends z.ZodType ? z.output<T> : undefined

export interface RouteSpec<P extends Shape, Q extends Shape, B extends Shape> {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** With `:name` parameters. */
  readonly path: string
  readonly summary: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Schema of a JSON answer, or the media type of any other. */
  readonly answer: z.ZodType | { readonly mediaType: string }
  /** Required request headers, by name. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface RouteContext<P extends Shape, Q extends Shape, B extends Shape> {
  readonly params: Out<P>
  readonly query: Out<Q>
  readonly body: Out<B>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export type AnyRouteSpec = RouteSpec<Shape, Shape, Shape>

export class Routes {
  readonly app: FastifyInstance
  readonly specs: AnyRouteSpec[] = []

  constructor(app: FastifyInstance) {
    this.app = app
  }

  add<P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
    spec: RouteSpec<P, Q, B>,
    handler: (context: RouteContext<P, Q, B>) => unknown,
  ): void {
    this.specs.push(spec as AnyRouteSpec)
    this.app.route({
      method: spec.method,
      url: spec.path,
      handler: async (request, reply) =>
        handler({
          params: parse(spec.params, request.params, 'path') as Out<P>,
          query: parse(spec.query, request.query, 'query') as Out<Q>,
          body: parse(spec.body, request.body, 'body') as Out<B>,
          request,
          reply,
        }),
    })
  }
}

function parse(schema: Shape, value: unknown, where: string): unknown {
  if (!schema) return undefined
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  const first = result.error.issues[0]!
  const at = [where, ...first.path.map(String)].join('.')
  throw new ConsoleError('CON_BAD_REQUEST', `${at}: ${first.message}`)
}

/* Text of URLs to values. */
/** Digits and nothing else: `0x1` and `1e0` are numbers to JavaScript, and name nothing here. */
const digits = z.string().regex(/^\d{1,15}$/, 'must be a decimal number')
export const smallInt = (max: number) => digits.transform(Number).pipe(z.number().int().min(0).max(max))
export const nodeId = smallInt(31)
export const u64Text = z.string().regex(/^(0|[1-9][0-9]{0,19})$/, 'must be an unsigned decimal number')
