import * as platform from '#platform'
import { NamewharfError } from './errors.js'
import { encode } from './operation.js'

/** The headers of a signed request. */
export type SignedHeaders = Record<'x-service-key-id' | 'x-service-timestamp' | 'x-service-nonce' | 'x-service-signature', string>

/** A request as its signature covers it. */
export interface Signable {
  method: string
  /** the path as it is sent, with all of it */
  path: string
  /** the query as it is sent, without its `?` */
  query?: string
  /** the body exactly as it is sent */
  body?: string
  /** Unix time in seconds */
  timestamp: string
  /** another one for each request */
  nonce: string
}

/** The query with its pairs sorted by key and value, and all but unreserved characters encoded. */
export function canonicalQuery(query: string): string {
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      return at < 0 ? [decode(pair), ''] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]
    })
  pairs.sort(([key, value], [otherKey, otherValue]) => compare(key, otherKey) || compare(value, otherValue))
  return pairs.map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&')
}

/** The six lines that are signed. */
export async function canonicalString(request: Signable): Promise<string> {
  const { method, path, query = '', body = '', timestamp, nonce } = request
  const hash = hex(await platform.sha256(body))
  return [method.toUpperCase(), path, canonicalQuery(query), timestamp, nonce, hash].join('\n')
}

/** The value of `X-Service-Signature` of a request. */
export async function sign(request: Signable, secret: string): Promise<string> {
  return `v1=${hex(await platform.hmac(secret, await canonicalString(request)))}`
}

/** Lower-case hexadecimal. */
export function hex(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += byte.toString(16).padStart(2, '0')
  return out
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '))
  } catch {
    throw new NamewharfError('validation_error', 'the query is not percent-encoded UTF-8')
  }
}

/** Compares by code points, which is the order of UTF-8 bytes and not that of UTF-16 units. */
function compare(a: string, b: string): number {
  const left = [...a]
  const right = [...b]
  for (let at = 0; at < left.length && at < right.length; at++) {
    const difference = left[at].codePointAt(0)! - right[at].codePointAt(0)!
    if (difference !== 0) return difference
  }
  return left.length - right.length
}
