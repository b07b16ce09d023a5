/** The OpenAPI 3.1 document, made from the very schemas that the routes check with. */
import { z } from 'zod'
import { apiError } from '../../shared/inspection/api.ts'
import { CONSOLE_ERRORS } from './errors.ts'
import type { AnyRouteSpec } from './route.ts'

type Json = Record<string, unknown>

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json
  return rest
}

const toPath = (path: string): string => path.replace(/:(\w+)/g, '{$1}').replace(/\/\*$/, '/{path}')

export function openapiDocument(specs: readonly AnyRouteSpec[], version: string): Json {
  const paths: Record<string, Json> = {}
  for (const spec of specs) {
    const path = toPath(spec.path)
    paths[path] = { ...paths[path], [spec.method.toLowerCase()]: operation(spec) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quorumscope console',
      version,
      description:
        'Requests other than GET need "Authorization: Bearer TOKEN" with the token printed at start. 64-bit values are decimal text.',
    },
    paths,
    components: {
      schemas: { Error: jsonSchema(apiError, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operation(spec: AnyRouteSpec): Json {
  const answer =
    'mediaType' in spec.answer
      ? { [spec.answer.mediaType]: {} }
      : { 'application/json': { schema: jsonSchema(spec.answer, 'output') } }
  const result: Json = {
    summary: spec.summary,
    parameters: [
      ...parameters(spec.params, 'path'),
      ...parameters(spec.query, 'query'),
      ...Object.entries(spec.headers ?? {}).map(([name, description]) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
      })),
    ],
    responses: {
      200: { description: 'As asked.', content: answer },
      default: {
        description: `A typed error. Codes: ${Object.keys(CONSOLE_ERRORS).join(', ')}.`,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
  if (spec.body)
    result.requestBody = { required: true, content: { 'application/json': { schema: jsonSchema(spec.body, 'input') } } }
  if (spec.method !== 'GET') result.security = [{ token: [] }]
  return result
}

function parameters(schema: z.ZodType | undefined, where: 'path' | 'query'): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: property,
  }))
}
