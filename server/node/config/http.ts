/** The HTTP server of a node: where it listens and what it signs bearers with (spec wire.md §7; drills.md CF-16). */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ownKey, sharedKey } from '../http/jwt.ts'
import type { Problems } from './problems.ts'
import type { Values } from './settings.ts'

export interface HttpConfig {
  readonly listen: { readonly host: string; readonly port: number }
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly bodyBytesMax: number
  readonly jwt: { readonly key: Uint8Array; readonly lifetimeS: number }
}

/**
 * Undefined when HTTP is off. Without a secret of its own the key comes from the secret of the cluster, so that a bearer is
 * good at every node and a redirect to the primary can be followed; without that it is made up for this start.
 */
export function readHttp(
  values: Values,
  listen: HttpConfig['listen'],
  workingDirectory: string,
  sourceOf: (key: string) => string,
  problems: Problems,
): HttpConfig | undefined {
  const fail = (key: string, message: string): void => problems.add(key, sourceOf(key), message)
  const encoding = values['http.jwt.encoding_secret']
  const decoding = values['http.jwt.decoding_secret']
  if (decoding !== encoding && decoding !== '') {
    fail('http.jwt.decoding_secret', 'differs from http.jwt.encoding_secret; HS256 has one secret for both')
  }
  const tls = readTls(values, workingDirectory, fail)
  if (!values['http.enabled']) return undefined
  const cluster = values['cluster.auth.enabled'] ? values['cluster.auth.shared_secret'] : ''
  const secret = encoding === '' ? cluster : encoding
  return {
    listen,
    ...(tls && { tls }),
    bodyBytesMax: values['http.max_request_size'],
    jwt: {
      key: secret === '' ? ownKey() : sharedKey(secret),
      lifetimeS: Math.max(1, Math.floor(values['http.jwt.access_token_expiry'] / 1000)),
    },
  }
}

function readTls(
  values: Values,
  workingDirectory: string,
  fail: (key: string, message: string) => void,
): HttpConfig['tls'] {
  if (!values['http.tls.enabled']) return undefined
  const read = (key: 'http.tls.cert_file' | 'http.tls.key_file'): string => {
    if (values[key] === '') fail(key, 'is missing while http.tls.enabled is true')
    else {
      try {
        return readFileSync(resolve(workingDirectory, values[key]), 'utf8')
      } catch (error) {
        fail(key, `${values[key]} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
      }
    }
    return ''
  }
  return { cert: read('http.tls.cert_file'), key: read('http.tls.key_file') }
}
