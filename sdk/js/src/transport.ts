import { abortable, onAbort, sleep } from './abort.js'
import { ConnectionError, NamewharfError, TimeoutError, refuse } from './errors.js'
import type { CallOptions, Operation, Prepared } from './operation.js'
import { version } from './version.js'

/** What the clients of both APIs take. */
export interface ClientOptions {
  /** Where the service is, such as `https://names.example`; `NAMEWHARF_BASE_URL` of the environment when left out. */
  baseUrl?: string
  /** For each attempt, in milliseconds; 15000 when left out, 0: no limit. */
  timeoutMs?: number
  /** How often a call is repeated after a failure that may pass; 3 when left out. */
  retries?: number
  /** A longer `Retry-After` ends the call with its error, in seconds; 60 when left out. */
  maxRetryAfterS?: number
  /** Sends the requests, in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Further headers of every request. */
  headers?: Record<string, string>
}

/** A request, which may be sent several times. */
export interface Outgoing {
  method: string
  /** path and query below the base URL, or a whole URL */
  target: string
  body?: string
  contentType?: string
  accept?: string
  /** it may be sent again after it may have taken effect */
  repeatable: boolean
  options: CallOptions
  /** the headers that say who asks, anew for each time it is sent */
  authorize?: (url: string) => Promise<Record<string, string>> | Record<string, string>
  /** whether an authorization that was refused has been replaced by another */
  renew?: () => Promise<boolean>
}

/** An element of a stream of server-sent events. */
export interface StreamEvent {
  event: string
  data: string
}

const maxAnswer = 16 << 20 // bytes
const maxTimer = 2 ** 31 - 1 // of setTimeout, in milliseconds
const maxRedirects = 5
const firstWait = 250 // milliseconds, doubled with each attempt
const longestWait = 8000

interface Process {
  env?: Record<string, string | undefined>
  versions?: Record<string, string>
}

const runtime = globalThis as { process?: Process; navigator?: { userAgent?: string } }

/** Whether this is a page or a worker of a browser. */
export function inBrowser(): boolean {
  return /^Mozilla\//.test(runtime.navigator?.userAgent ?? '') && !runtime.process?.versions?.node
}

/** Sends requests, repeats them, and reads answers. */
export class Transport {
  /** without a slash at its end */
  readonly base: string
  readonly origin: string
  readonly #fetch: typeof globalThis.fetch
  readonly #timeoutMs: number
  readonly #retries: number
  readonly #maxRetryAfterS: number
  readonly #headers: Record<string, string>
  readonly #browser = inBrowser()

  constructor(options: ClientOptions) {
    const url = parseBase(options.baseUrl ?? runtime.process?.env?.NAMEWHARF_BASE_URL)
    this.origin = url.origin
    this.base = url.origin + url.pathname.replace(/\/+$/, '')
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init))
    this.#timeoutMs = number('timeoutMs', options.timeoutMs, 15000)
    this.#retries = number('retries', options.retries, 3)
    this.#maxRetryAfterS = number('maxRetryAfterS', options.maxRetryAfterS, 60)
    this.#headers = { ...(!this.#browser && { 'user-agent': userAgent() }), ...headers(options.headers) }
  }

  /** Sends a request and returns its JSON answer. */
  json<T>(request: Outgoing): Promise<T> {
    return this.#repeat(request, () => this.#attempt(request, async (response) => parse<T>(response, await text(response))))
  }

  /** Sends a request and yields the events of its answer. It is repeated only before the first of them. */
  async *stream(request: Outgoing): AsyncGenerator<StreamEvent, void, undefined> {
    let clock = new Clock(request.options, this.#timeoutMs)
    try {
      const response = await this.#repeat(request, () => {
        clock.end(true)
        clock = new Clock(request.options, this.#timeoutMs)
        clock.start()
        return clock.mapped(this.origin, () => this.#follow(request, clock.signal))
      })
      if (!response.body || !/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) throw unexpected(response)
      const reader = response.body.getReader()
      const lines = new EventLines()
      for (;;) {
        clock.start()
        const { done, value } = await clock.mapped(this.origin, () => reader.read())
        clock.stop()
        if (done) throw new ConnectionError(`${this.origin} ended the stream before its end`)
        yield* lines.push(value)
      }
    } finally {
      clock.end(true)
    }
  }

  async #repeat<T>(request: Outgoing, attempt: () => Promise<T>): Promise<T> {
    let renewed = false
    for (let number = 0; ; ) {
      let failure
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof NamewharfError)) throw error
        failure = error
      }
      if (failure.status === 401 && request.renew && !renewed) {
        renewed = true
        if (await abortable(request.renew(), request.options.signal)) continue
      }
      if (!request.repeatable) throw failure
      const wait = this.wait(failure, number++)
      if (wait === undefined) throw failure
      await sleep(wait, request.options.signal)
    }
  }

  /** Milliseconds to wait before the next attempt after a failure; undefined: there is none. */
  wait(failure: NamewharfError, attempt: number): number | undefined {
    const passes = failure.code === 'connection_error' || failure.code === 'timeout' || [429, 502, 503, 504].includes(failure.status ?? 0)
    const asked = failure.retryAfter ?? 0
    if (!passes || attempt >= this.#retries || asked > this.#maxRetryAfterS) return undefined
    return asked * 1000 + Math.random() * Math.min(longestWait, firstWait * 2 ** attempt)
  }

  async #attempt<T>(request: Outgoing, read: (response: Response) => Promise<T>): Promise<T> {
    const clock = new Clock(request.options, this.#timeoutMs)
    let whole = false
    try {
      clock.start()
      const answer = await clock.mapped(this.origin, async () => read(await this.#follow(request, clock.signal)))
      whole = true
      return answer
    } finally {
      clock.end(!whole)
    }
  }

  /** Sends a request, follows redirects within its origin, and throws what is no success. */
  async #follow(request: Outgoing, signal: AbortSignal): Promise<Response> {
    const { method } = request
    const own = request.target.startsWith('/')
    let url = own ? this.base + request.target : request.target
    const origin = own ? this.origin : new URL(url).origin
    for (let redirects = 0; ; redirects++) {
      const sent = this.#head(request, request.authorize && (await abortable(request.authorize(url), signal)))
      const init: RequestInit = { method, headers: sent, body: request.body, signal, redirect: 'manual' }
      if (this.#browser) { // a page cannot see where a redirect leads: with a token none is followed
        init.credentials = 'omit'
        init.redirect = sent.authorization ? 'error' : 'follow'
      }
      const response = await this.#fetch(url, init)
      if (response.redirected && new URL(response.url).origin !== origin) throw redirect(response, origin)
      if (response.ok) return response
      if (![301, 302, 303, 307, 308].includes(response.status)) throw await failure(response)
      await response.body?.cancel()
      const next = target(response.headers.get('location'), url)
      if (next?.origin !== origin || next.username || redirects >= maxRedirects || (response.status < 307 && method !== 'GET')) throw redirect(response, origin)
      url = next.href
    }
  }

  #head(request: Outgoing, authorization?: Record<string, string>): Record<string, string> {
    const given = request.options.headers
    const all: Record<string, string> = { accept: request.accept ?? 'application/json', ...this.#headers }
    if (given) Object.assign(all, headers(given))
    if (authorization) Object.assign(all, authorization)
    if (request.body !== undefined) all['content-type'] = request.contentType ?? 'application/json'
    if (request.options.idempotencyKey !== undefined) all['idempotency-key'] = idempotencyKey(request.options.idempotencyKey)
    return all
  }
}

/** Makes the request of an operation. */
export function outgoing(operation: Operation, { target, body }: Prepared, options: CallOptions): Outgoing {
  return { method: operation.method, target, body, options, repeatable: operation.read === true || options.idempotencyKey !== undefined }
}

/** The time limit and the cancellation of a request. */
class Clock {
  readonly #controller = new AbortController()
  readonly #user: AbortSignal | undefined
  readonly #limit: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #expired = false
  readonly #forget: () => void

  constructor(options: CallOptions, timeoutMs: number) {
    this.#user = options.signal
    this.#limit = number('timeoutMs', options.timeoutMs, timeoutMs)
    this.#forget = onAbort(this.#user, () => this.#controller.abort())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  start(): void {
    this.stop()
    if (this.#limit > 0 && this.#limit <= maxTimer) {
      this.#timer = setTimeout(() => {
        this.#expired = true
        this.#controller.abort()
      }, this.#limit)
    }
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the time limit. unfinished: the connection is given up. */
  end(unfinished: boolean): void {
    this.stop()
    this.#forget()
    if (unfinished) this.#controller.abort()
  }

  /** Runs what uses the network, and says what its failures mean. */
  async mapped<T>(origin: string, run: () => Promise<T>): Promise<T> {
    try {
      this.#user?.throwIfAborted()
      return await run()
    } catch (error) {
      if (this.#user?.aborted) throw this.#user.reason
      if (error instanceof NamewharfError) throw error
      if (this.#expired) throw new TimeoutError(`${origin} did not answer within ${this.#limit} ms`)
      const cause = (error as { cause?: { code?: string; message?: string } }).cause
      const why = cause?.code ?? cause?.message
      throw new ConnectionError(`${origin} could not be reached, or the connection broke${why ? `: ${why}` : ''}`, { cause: error })
    }
  }
}

/** Takes server-sent events apart. */
class EventLines {
  readonly #decoder = new TextDecoder()
  #rest = ''
  #event = ''
  #data: string[] = [];

  *push(bytes: Uint8Array): Generator<StreamEvent, void, undefined> {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > maxAnswer) throw tooLarge()
    for (const line of lines) {
      const colon = line.indexOf(':')
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') this.#event = value
      else if (field === 'data') this.#data.push(value)
      else if (line === '') {
        if (this.#data.length > 0) yield { event: this.#event || 'message', data: this.#data.join('\n') }
        this.#event = ''
        this.#data = []
      }
    }
  }
}

/** Checks a token before it is part of a header: an error of `fetch` would show it. */
export function bearer(token: unknown): Record<string, string> {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) throw refuse('token', 'must be a text of visible ASCII characters')
  return { authorization: `Bearer ${token}` }
}

/** Decodes JSON that may be part of a stream. */
export function decode<T>(data: string, response?: Response): T {
  try {
    return JSON.parse(data) as T
  } catch {
    throw new NamewharfError('invalid_response', 'the answer is no JSON', response && about(response))
  }
}

/** The error that an answer, or an element of one, describes. */
export function described(error: Partial<Record<string, unknown>>, fields: { status?: number; requestId?: string; retryAfter?: number }): NamewharfError {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const canonical = text(error.canonical_string)
  const seconds = error.retry_after_s
  return new NamewharfError(text(error.code) ?? 'http_error', text(error.message) ?? `the server answered ${fields.status}`, {
    ...fields,
    requestId: text(error.request_id) ?? fields.requestId,
    details: Array.isArray(error.details) ? error.details : undefined,
    retryAfter: fields.retryAfter ?? (typeof seconds === 'number' && seconds >= 0 ? seconds : undefined),
    hint: text(error.hint) ?? (canonical && `The server expected this to be signed:\n${canonical}`) ?? (error.code === 'authentication_required' ? 'Sign in with signIn(), or give a token.' : undefined),
  })
}

async function failure(response: Response): Promise<NamewharfError> {
  const fields = { ...about(response), retryAfter: retryAfter(response) }
  let body: unknown
  try {
    body = JSON.parse(await text(response))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const error = (body as { error?: unknown } | undefined)?.error
  if (typeof error === 'string') { // of OAuth, RFC 6749 section 5.2
    return described({ code: error, message: (body as { error_description?: string }).error_description }, fields)
  }
  return described((error as Record<string, unknown> | undefined) ?? {}, fields)
}

function parse<T>(response: Response, body: string): T {
  const type = response.headers.get('content-type')
  if (type !== 'application/json' && !/[/+]json\b/i.test(type ?? '')) throw unexpected(response)
  return decode<T>(body, response)
}

/** Reads an answer, up to a limit. What comes uncompressed with its length needs no counting. */
async function text(response: Response): Promise<string> {
  const length = response.headers.get('content-length')
  if (Number(length) > maxAnswer) throw tooLarge(response)
  if (!response.body || (length !== null && !response.headers.get('content-encoding'))) return response.text()
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let whole = ''
  for (let size = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return whole + decoder.decode()
    size += value.byteLength
    if (size > maxAnswer) throw tooLarge(response)
    whole += decoder.decode(value, { stream: true })
  }
}

function retryAfter(response: Response): number | undefined {
  const value = response.headers.get('retry-after')?.trim()
  if (!value) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const at = Date.parse(value)
  if (Number.isNaN(at)) return undefined
  const now = Date.parse(response.headers.get('date') ?? '') // the server's clock, where it can be seen
  return Math.max(0, Math.ceil((at - (Number.isNaN(now) ? Date.now() : now)) / 1000))
}

function target(location: string | null, from: string): URL | undefined {
  try {
    return location === null ? undefined : new URL(location, from)
  } catch {
    return undefined
  }
}

const about = (response: Response) => ({ status: response.status, requestId: response.headers.get('x-request-id') ?? undefined })

const tooLarge = (response?: Response) => new NamewharfError('response_too_large', 'the answer is over 16 MiB', response && about(response))

const redirect = (response: Response, origin: string) =>
  new NamewharfError('redirect_refused', `a redirect leads away from ${origin}, changes the method, or has no end`, {
    ...about(response),
    hint: 'Give the base URL that the service itself names.',
  })

const unexpected = (response: Response) =>
  new NamewharfError('invalid_response', `the answer is ${(response.headers.get('content-type') ?? 'of no type').slice(0, 80)}, not what was asked for`, {
    ...about(response),
    hint: 'Is the base URL that of the service?',
  })

function parseBase(base: string | undefined): URL {
  if (!base) throw refuse('baseUrl', 'is required: give it, or set NAMEWHARF_BASE_URL')
  let url
  try {
    url = new URL(base)
  } catch {
    throw refuse('baseUrl', 'must be a URL such as https://names.example')
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw refuse('baseUrl', 'must be an http or https URL without user, query and fragment')
  }
  return url
}

function number(name: string, value: number | undefined, standard: number): number {
  if (value === undefined) return standard
  if (typeof value !== 'number' || !(value >= 0)) throw refuse(name, 'must be a number that is not negative')
  return value
}

function headers(given: Record<string, string> | undefined): Record<string, string> {
  const all: Record<string, string> = {}
  for (const [name, value] of Object.entries(given ?? {})) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw refuse('headers', 'must be names with texts that a header can hold')
    }
    all[name.toLowerCase()] = value
  }
  return all
}

function idempotencyKey(key: string): string {
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) throw refuse('idempotencyKey', 'must be 1 to 255 printable ASCII characters')
  return key
}

function userAgent(): string {
  const versions = runtime.process?.versions ?? {}
  for (const name of ['deno', 'bun', 'node']) {
    if (versions[name]) return `namewharf-js/${version} (${name} ${versions[name].split('.')[0]})`
  }
  return `namewharf-js/${version} (web)`
}
