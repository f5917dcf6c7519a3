import { NamewharfError, refuse } from './errors.js'

/** An operation of the API, as docs/openapi.json describes it. */
export interface Operation {
  id: string
  method: string
  /** with {names} of path parameters */
  path: string
  /** it changes nothing, so that it may be repeated */
  read?: boolean
  /** a batch may contain it */
  batch?: boolean
  /** it takes an idempotency key */
  keyed?: boolean
  /** it has a JSON body */
  body?: boolean
  required?: string[]
  /** fields whose values are objects with snake_case fields */
  nested?: string[]
  /** fields that are camelCase on the wire too */
  exact?: string[]
  /** fields that go into the query although there is a body */
  query?: string[]
  list?: { items: string; cursor: string; next: string }
}

/** What every call takes, as its last argument. */
export interface CallOptions {
  /** Stops the call at once; its reason is thrown. */
  signal?: AbortSignal
  /** For each attempt, the answer's body included; of a stream, between two parts of it. 0: no limit. */
  timeoutMs?: number
  /** Sent in place of the client's token. */
  token?: string
  /** Makes a write safe to repeat: the same key and input have one effect. */
  idempotencyKey?: string
  /** Further headers of the request. */
  headers?: Record<string, string>
}

/** What a caller gives: fields by their camelCase names, or a string for the only field that is required. */
export type Input = object | string

/** The input of an operation, as it goes out. */
export interface Prepared {
  /** path and query */
  target: string
  body?: string
  /** all of it, for a batch */
  params: Record<string, unknown>
}

const optionNames = ['signal', 'timeoutMs', 'token', 'idempotencyKey', 'headers'] as const

/** Takes the options of a call out of an object that has them beside the input. */
export function split(given: object = {}, options: CallOptions = {}): [Record<string, unknown>, CallOptions] {
  const input: Record<string, unknown> = { ...given }
  const all: Record<string, unknown> = { ...options }
  for (const name of optionNames) {
    if (name in input) {
      all[name] ??= input[name]
      delete input[name]
    }
  }
  return [input, all as CallOptions]
}

/** Brings input into the form of the wire, and refuses what cannot be sent. */
export function prepare(operation: Operation, path: unknown[], input: Input = {}): Prepared {
  if (typeof input === 'string') input = { [operation.required?.[0] ?? '']: input }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw refuse('input', 'must be an object')
  const params: Record<string, unknown> = {}
  const given = wire(input as Record<string, unknown>, operation.exact, operation.nested)
  for (const name of operation.required ?? []) {
    if (given[name] === undefined || given[name] === null || given[name] === '') throw refuse(camel(name), 'is required')
  }
  let next = 0
  const resource = !operation.path.includes('{') ? operation.path : operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[next++]
    params[name] = value
    return segment(camel(name), value)
  })
  Object.assign(params, given)
  const rest: Record<string, unknown> = {}
  let query = ''
  for (const [name, value] of Object.entries(given)) {
    if (operation.body && !operation.query?.includes(name)) rest[name] = value
    else query += `${query ? '&' : '?'}${encode(name)}=${encode(String(value))}` // of a list a,b,c
  }
  return { target: resource + query, params, ...(operation.body && { body: json(rest) }) }
}

/** An element of a path. `.` and `..` would lead elsewhere. */
export function segment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') throw refuse(name, 'must be a text that is not empty')
  return encode(value)
}

/** Percent-encodes all but unreserved characters, as signatures have it. */
export function encode(text: string): string {
  try {
    return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  } catch (cause) {
    throw new NamewharfError('validation_error', 'a text has half of a surrogate pair', { cause })
  }
}

/** Encodes a body. */
export function json(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new NamewharfError('validation_error', 'the input cannot be encoded as JSON: it is circular, or has a BigInt', { cause })
  }
}

function wire(input: Record<string, unknown>, exact: string[] = [], nested: string[] = []): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(input)) {
    if (value === undefined) continue
    const name = exact.includes(key) ? key : snake(key)
    out[name] = nested.includes(name) ? deep(value) : value
  }
  return out
}

function deep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deep)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(wire(value as Record<string, unknown>)).map(([name, one]) => [name, deep(one)]))
}

const snakes = new Map<string, string>() // of the names seen, which are few

function snake(name: string): string {
  let known = snakes.get(name)
  if (known === undefined) {
    known = name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
    if (snakes.size < 1000) snakes.set(name, known)
  }
  return known
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, c: string) => c.toUpperCase())
