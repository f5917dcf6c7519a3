import * as platform from '#platform'
import { NamewharfError, refuse } from './errors.js'
import { PartnerOperations } from './generated/partner.js'
import type { PartnerEvent } from './generated/types.js'
import { encode, json, prepare, split, type CallOptions, type Input, type Operation } from './operation.js'
import { Paged } from './paging.js'
import { canonicalQuery, sign, type SignedHeaders } from './signature.js'
import { Transport, inBrowser, outgoing, type ClientOptions, type Outgoing } from './transport.js'
import { verifyWebhook, type WebhookHeaders } from './webhook.js'

/** How to make a {@link Partner}. */
export interface PartnerOptions extends Omit<ClientOptions, 'headers'> {
  /** The id of the credential; it says whether it is of the sandbox or live. */
  keyId: string
  /** The secret of the credential. It is never sent. */
  secret: string
}

/** A request of {@link Partner.request}. */
export interface PartnerRequest extends CallOptions {
  /** The query: its fields, or as it is in a URL. Names are as on the wire. */
  query?: string | URLSearchParams | Record<string, string | number | boolean | undefined>
  /** Sent as JSON; a text is sent as it is. Names are as on the wire. */
  body?: unknown
}

const root = '/api/partner/v1'

/**
 * The partner API. Every request is signed, with another nonce for each attempt. Writes have an idempotency key, which stays
 * the same when they are tried again. For servers: a secret does not belong into a browser.
 */
export class Partner extends PartnerOperations {
  readonly #transport: Transport
  readonly #keyId: string
  readonly #secret: string

  constructor(options: PartnerOptions) {
    super()
    if (inBrowser()) throw new NamewharfError('unsupported', 'a partner secret does not belong into a browser', { hint: 'Call the partner API from your server.' })
    for (const name of ['keyId', 'secret'] as const) {
      if (typeof options?.[name] !== 'string' || options[name] === '') throw refuse(name, 'is required')
    }
    if (!/^[\x21-\x7e]+$/.test(options.keyId)) throw refuse('keyId', 'must be visible ASCII characters')
    this.#transport = new Transport(options)
    this.#keyId = options.keyId
    this.#secret = options.secret
  }

  /**
   * Verifies a delivery of the webhook and returns its event. Both signatures must match, and it must have been sent within 5
   * minutes; otherwise it throws an error with the code `invalid_webhook`. An event may come twice: store its id.
   * @param headers of the request
   * @param rawBody the body exactly as it came, not what was parsed from it
   * @param secret with which the webhook was registered; several while it is being changed
   */
  static verifyWebhook(headers: WebhookHeaders, rawBody: string | Uint8Array | ArrayBuffer, secret: string | string[]): Promise<PartnerEvent> {
    return verifyWebhook(headers, rawBody, secret)
  }

  /**
   * Sends any request to the partner API, signed, and returns its answer. A path that does not begin with `/api/` is below
   * `/api/partner/v1`. A POST has an idempotency key, so that it can be tried again.
   */
  async request<T = unknown>(method: string, path: string, input: PartnerRequest = {}): Promise<T> {
    if (typeof path !== 'string' || !path.startsWith('/') || /[?#\\]|\/\.{0,2}(\/|$)/.test(path)) throw refuse('path', 'must begin with / and have no query; give that as query')
    const [{ query, body }, options] = split(input) as [PartnerRequest, CallOptions]
    const verb = String(method).toUpperCase()
    if (!/^[A-Z]+$/.test(verb)) throw refuse('method', 'must be an HTTP method such as GET')
    const key = options.idempotencyKey ?? (verb === 'POST' ? await platform.uuid() : undefined)
    const asked = canonicalQuery(queryOf(query))
    const target = (path.startsWith('/api/') ? path : root + path) + (asked && `?${asked}`)
    return this.#send<T>({
      method: verb,
      target,
      repeatable: verb === 'GET' || verb === 'HEAD' || key !== undefined,
      options: { ...options, idempotencyKey: key },
      ...(body !== undefined && { body: typeof body === 'string' ? body : json(body) }),
    })
  }

  protected async send<T>(operation: Operation, path: string[], input?: Input, options?: CallOptions): Promise<T> {
    const [fields, all] = typeof input === 'string' ? [input, { ...options }] : split(input, options)
    if (operation.keyed) all.idempotencyKey ??= await platform.uuid()
    const request = outgoing(operation, prepare(operation, path, fields), all)
    const [resource, query] = request.target.split('?')
    return this.#send<T>({ ...request, target: query ? `${resource}?${canonicalQuery(query)}` : resource })
  }

  protected pages<T, Answer>(operation: Operation, path: string[], input?: Input, options?: CallOptions): Paged<T, Answer> {
    const { items, cursor: name, next } = operation.list!
    return new Paged((cursor) => this.send<Answer>(operation, path, cursor === undefined ? input : { ...(input as object), [camel(name)]: undefined, [name]: cursor }, options), { items, next })
  }

  #send<T>(request: Outgoing): Promise<T> {
    return this.#transport.json<T>({ ...request, authorize: (url) => this.#sign(request, new URL(url)) })
  }

  async #sign(request: Outgoing, url: URL): Promise<SignedHeaders> {
    const { method, body } = request
    const timestamp = String(Math.floor(Date.now() / 1000))
    const nonce = await platform.uuid()
    const signature = await sign({ method, path: url.pathname, query: url.search.slice(1), body, timestamp, nonce }, this.#secret)
    return { 'x-service-key-id': this.#keyId, 'x-service-timestamp': timestamp, 'x-service-nonce': nonce, 'x-service-signature': signature }
  }
}

function queryOf(query: PartnerRequest['query']): string {
  if (query === undefined || typeof query === 'string') return query ?? ''
  if (query instanceof URLSearchParams) return query.toString()
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.map(([name, value]) => `${encode(name)}=${encode(String(value))}`).join('&')
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, c: string) => c.toUpperCase())
