import { onAbort } from './abort.js'
import { Batcher, batchSize, limiter, type BatchItem } from './batching.js'
import { NamewharfError, refuse } from './errors.js'
import * as operations from './generated/operations.js'
import type { BatchOperation } from './generated/operations.js'
import type {
  AddDomainAnswer, BatchCatalogueAnswer, BatchLookupAnswer, BatchLookupResult, BulkDomainsAnswer, BulkDomainsInput, CheckDomainsAnswer,
  CompareTldPricesAnswer, Domain, ListDomainsAnswer, ListDomainsInput, ListTldsAnswer, ListTldsInput, MarketListingsAnswer, MarketListingsInput,
  MarketListingsListing, Result, ResultError, SearchDomainAnswer, SearchDomainInput, SuggestDomainsAnswer, SuggestDomainsInput, Suggestion, Tld,
  TldMetadataAnswer, TldRegistrationPriceAnswer, TldRegistrationPriceInput, WhoisLookupAnswer, WhoisLookupInput,
} from './generated/types.js'
import { prepare, split, type CallOptions, type Operation, type Prepared } from './operation.js'
import { Paged, type Page } from './paging.js'
import { signIn, type Session, type SignInOptions } from './signin.js'
import { Transport, bearer, decode, described, outgoing, type ClientOptions, type Outgoing } from './transport.js'

/** How to make a {@link Namewharf}. */
export interface NamewharfOptions extends ClientOptions {
  /** An access token, in place of signing in. */
  token?: string
  /** Whether calls that are made together go out as batches; true when left out. */
  batching?: boolean
  /** How long a call waits for others to share a batch with, in milliseconds; 0, the same turn of the event loop, when left out. */
  batchWindowMs?: number
}

/** An operation of {@link Namewharf.batch}. */
export interface BatchRequest {
  /** Your own name for it, which its result has too; a number when left out. */
  id?: string
  /** Its name, such as `whois_lookup`; {@link Namewharf.batchCatalogue} has all of them. */
  op: BatchOperation | (string & {})
  /** Its input, as it is on the wire. */
  params?: Record<string, unknown>
}

/** What became of an operation of {@link Namewharf.batch}: `ok` says whether there is a result or an error. */
export type BatchResult =
  | { id: string; op: string; ok: true; status: number; result: Record<string, unknown>; error?: undefined }
  | { id: string; op: string; ok: false; status: number; error: ResultError; result?: undefined }

/** What {@link Namewharf.bulk} does to each domain. */
export type BulkOperation = BulkDomainsAnswer['op']

const checkSize = 200 // names that one check takes
const checksInFlight = 4

/**
 * The public API. Without a token or a sign-in prices of the market are masked; everything else is the same.
 *
 * The last argument of every method takes {@link CallOptions} too. Calls that are made together share requests; each
 * fails alone. Failures that may pass are waited for and tried again. Errors are {@link NamewharfError}.
 */
export class Namewharf {
  readonly #transport: Transport
  readonly #token: string | undefined
  readonly #batcher: Batcher | undefined
  #session: Session | undefined

  constructor(options: NamewharfOptions = {}) {
    this.#transport = new Transport(options)
    this.#token = options.token
    if (options.token !== undefined) bearer(options.token)
    if (options.batching !== false) {
      const send = (items: BatchItem[], call: CallOptions) => this.#alone<BatchLookupAnswer>(operations.batchLookup, [], { operations: items }, call)
      this.#batcher = new Batcher({ send, wait: (failure, attempt) => this.#transport.wait(failure, attempt) }, options.batchWindowMs ?? 0)
    }
  }

  /**
   * Says whether a name can be registered, and the same label under other TLDs, with prices and listings. `q` is a
   * domain, a label, a phrase or a URL. Only the status `available` is certain.
   */
  search(q: string, input?: Omit<SearchDomainInput, 'q'> & CallOptions): Promise<SearchDomainAnswer> {
    return this.#call(operations.searchDomain, [], { ...input, q })
  }

  /** Searches as {@link Namewharf.search} does, and yields each result as soon as it is known. */
  async *searchStream(q: string, input?: Omit<SearchDomainInput, 'q'> & CallOptions): AsyncGenerator<Result, void, undefined> {
    yield* this.#stream<Result>(operations.searchDomain, { ...input, q })
  }

  /** Says for any number of full names whether each can be registered, in the order asked. */
  async check(domains: Iterable<string>, input?: CallOptions): Promise<Result[]> {
    const all = parts(names(domains), checkSize)
    if (all.length === 1) return (await this.#call<CheckDomainsAnswer>(operations.checkDomains, [], { ...input, domains: all[0] })).results
    const limit = limiter(checksInFlight)
    const answers = await together(all, input?.signal, (part, signal) =>
      limit(() => this.#alone<CheckDomainsAnswer>(operations.checkDomains, [], { domains: part }, { ...input, signal })),
    )
    return answers.flatMap((answer) => answer.results)
  }

  /** Checks as {@link Namewharf.check} does, and yields each result as soon as it is known, in any order. */
  async *checkStream(domains: Iterable<string>, input?: CallOptions): AsyncGenerator<Result, void, undefined> {
    for (const part of parts(names(domains), checkSize)) yield* this.#stream<Result>(operations.checkDomains, { ...input, domains: part })
  }

  /**
   * Makes names for an idea, and answers with those that are free or for sale here. `q` is a phrase, a label or a
   * domain. Only the status `available` is certain.
   */
  suggest(q: string, input?: Omit<SuggestDomainsInput, 'q'> & CallOptions): Promise<SuggestDomainsAnswer> {
    return this.#call(operations.suggestDomains, [], { ...input, q })
  }

  /** Suggests as {@link Namewharf.suggest} does, and yields each suggestion as soon as it is known. */
  async *suggestStream(q: string, input?: Omit<SuggestDomainsInput, 'q'> & CallOptions): AsyncGenerator<Suggestion, void, undefined> {
    yield* this.#stream<Suggestion>(operations.suggestDomains, { ...input, q })
  }

  /** Registrar, dates, status codes and nameservers of a domain. A free name has `registered: false`. */
  whois(domain: string, input?: Omit<WhoisLookupInput, 'domain'> & CallOptions): Promise<WhoisLookupAnswer> {
    return this.#call(operations.whoisLookup, [], { ...input, domain })
  }

  /** What it costs to register, renew, transfer or restore a name under a TLD: `register` when left out. */
  price(tld: string, op?: TldRegistrationPriceInput['op'], input?: CallOptions): Promise<TldRegistrationPriceAnswer> {
    return this.#call(operations.tldRegistrationPrice, [], { ...input, tld, op })
  }

  /** What a name costs under at most 30 TLDs over some years (one when left out), renewals included, the cheapest first. */
  compare(tlds: Iterable<string>, years?: number, input?: CallOptions): Promise<CompareTldPricesAnswer> {
    return this.#call(operations.compareTldPrices, [], { ...input, tlds: names(tlds, 'tlds'), years })
  }

  /** Who may register under a TLD and how. Facts that the service does not know are listed in `unknown`. */
  tld(tld: string, input?: CallOptions): Promise<TldMetadataAnswer> {
    return this.#call(operations.tldMetadata, [tld], { ...input })
  }

  /** Every TLD with its registration prices. */
  tlds(input?: ListTldsInput & CallOptions, options?: CallOptions): Paged<Tld, ListTldsAnswer> {
    return this.#pages(operations.listTlds, input, options)
  }

  /** One page of {@link Namewharf.tlds}. */
  async tldsPage(input?: ListTldsInput & CallOptions, options?: CallOptions): Promise<Page<Tld, ListTldsAnswer>> {
    return this.tlds(input, options)
  }

  /** Names that their owners sell here: the newest first, or with `q` those that fit it best. */
  listings(input?: MarketListingsInput & CallOptions, options?: CallOptions): Paged<MarketListingsListing, MarketListingsAnswer> {
    return this.#pages(operations.marketListings, input, options)
  }

  /** One page of {@link Namewharf.listings}. */
  async listingsPage(input?: MarketListingsInput & CallOptions, options?: CallOptions): Promise<Page<MarketListingsListing, MarketListingsAnswer>> {
    return this.listings(input, options)
  }

  /**
   * Runs any number of look-ups, twenty a request. Each succeeds or fails alone, and results come in the order asked. If
   * no request gets an answer, it throws why.
   */
  async batch(requests: Iterable<BatchRequest>, input?: { requireRealPrices?: boolean } & CallOptions): Promise<BatchResult[]> {
    const items = identified(requests)
    const limit = limiter(8)
    const [given, options] = split(input)
    let answered = items.length === 0
    let first: unknown
    const send = async (part: BatchItem[], signal: AbortSignal): Promise<BatchLookupResult[]> => {
      try {
        const all = { ...given, operations: part }
        const { results } = await limit(() => this.#alone<BatchLookupAnswer>(operations.batchLookup, [], all, { ...options, signal }))
        answered = true
        return results
      } catch (error) {
        if (!(error instanceof NamewharfError)) throw error
        first ??= error
        const { status = 0, code, message, details, retryAfter } = error
        return part.map(({ id, op }) => ({ id, op, ok: false, status, error: { code, message, details, retry_after_s: retryAfter } }))
      }
    }
    const results = await together(parts(items, batchSize), options.signal, send)
    if (!answered) throw first
    return results.flat() as BatchResult[]
  }

  /** The operations that a batch may hold, with the JSON Schemas of their params and results. */
  batchCatalogue(input?: CallOptions): Promise<BatchCatalogueAnswer> {
    return this.#call(operations.batchCatalogue, [], { ...input })
  }

  /** The names of the signed-in account. */
  domains(input?: ListDomainsInput & CallOptions, options?: CallOptions): Paged<Domain, ListDomainsAnswer> {
    return this.#pages(operations.listDomains, input, options)
  }

  /** One page of {@link Namewharf.domains}. */
  async domainsPage(input?: ListDomainsInput & CallOptions, options?: CallOptions): Promise<Page<Domain, ListDomainsAnswer>> {
    return this.domains(input, options)
  }

  /** Adds a name to the signed-in account, and says which DNS record proves that it is yours. */
  addDomain(domain: string, input?: CallOptions): Promise<AddDomainAnswer> {
    return this.#call(operations.addDomain, [], { ...input, domain })
  }

  /** Does something to at most 1000 names of the signed-in account; each succeeds or fails alone. Do a dry run first. */
  bulk(op: BulkOperation, domains: Iterable<string>, input?: Omit<BulkDomainsInput, 'domains'> & CallOptions): Promise<BulkDomainsAnswer> {
    return this.#call(operations.bulkDomains, [op], { ...input, domains: names(domains) })
  }

  /**
   * Signs a person in: they allow it in their browser, and calls carry their token from then on. It is renewed by itself.
   * With a `store` that holds an earlier sign-in no browser is opened. For programs; a page needs a `token`.
   */
  async signIn(options: SignInOptions = {}): Promise<Session> {
    return (this.#session = await signIn(this.#transport, options, () => (this.#session = undefined)))
  }

  async #call<T>(operation: Operation, path: unknown[], given: object): Promise<T> {
    const [input, options] = split(given)
    const { signal, token, timeoutMs, headers, idempotencyKey } = options
    const plain = token === undefined && timeoutMs === undefined && headers === undefined && idempotencyKey === undefined
    const batched = this.#batcher && operation.batch && plain
    const prepared = prepare(operation, path, input)
    const alone = () => this.#transport.json<T>(this.#request(operation, prepared, options))
    return batched ? this.#batcher!.run(operation.id, prepared.params, signal, alone) : alone()
  }

  async #alone<T>(operation: Operation, path: unknown[], input: object, options: CallOptions): Promise<T> {
    return this.#transport.json<T>(this.#request(operation, prepare(operation, path, input), options))
  }

  #request(operation: Operation, prepared: Prepared, options: CallOptions): Outgoing {
    const request = outgoing(operation, prepared, options)
    const token = options.token ?? (this.#session ? undefined : this.#token)
    const session = this.#session
    if (token !== undefined) {
      const header = bearer(token)
      request.authorize = () => header
    } else if (session) {
      let used: string
      request.authorize = async () => bearer((used = await session.token()))
      request.renew = () => session.renew(used)
    }
    return request
  }

  #pages<T, Answer>(operation: Operation, given: object | undefined, more: CallOptions | undefined): Paged<T, Answer> {
    const [input, options] = split(given, more)
    const { items, next } = operation.list!
    return new Paged((cursor) => this.#alone(operation, [], cursor === undefined ? input : { ...input, offset: undefined, cursor }, options), { items, next })
  }

  async *#stream<T>(operation: Operation, given: object): AsyncGenerator<T, void, undefined> {
    const [input, options] = split(given)
    const request = { ...this.#request(operation, prepare(operation, [], input), options), accept: 'text/event-stream' }
    for await (const { event, data } of this.#transport.stream(request)) {
      if (event === 'result') yield decode<T>(data)
      else if (event === 'error') {
        const body = decode<{ error?: Record<string, unknown> }>(data)
        throw described(body.error ?? {}, {})
      } else if (event === 'done') return
    }
  }
}

/** Runs a request for each part side by side. The first failure stops the others. */
async function together<P, R>(all: P[], signal: AbortSignal | undefined, run: (part: P, signal: AbortSignal) => Promise<R>): Promise<R[]> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const forget = onAbort(signal, () => controller.abort(signal?.reason))
  try {
    return await Promise.all(all.map((part) => run(part, controller.signal)))
  } catch (error) {
    controller.abort(error)
    throw error
  } finally {
    forget()
  }
}

function parts<T>(all: T[], size: number): T[][] {
  const out: T[][] = []
  for (let at = 0; at < all.length; at += size) out.push(all.slice(at, at + size))
  return out
}

function names(domains: Iterable<string>, field = 'domains'): string[] {
  if (typeof domains === 'string' || typeof domains?.[Symbol.iterator] !== 'function') throw refuse(field, 'must be a list of names')
  const all = [...domains]
  const wrong = all.findIndex((name) => typeof name !== 'string' || name === '')
  if (wrong >= 0) throw refuse(`${field}[${wrong}]`, 'must be a text that is not empty')
  return all
}

function identified(requests: Iterable<BatchRequest>): BatchItem[] {
  const seen = new Set<string>()
  return Array.from(requests, (request, at) => {
    if (typeof request?.op !== 'string' || !request.op) throw refuse(`operations[${at}].op`, 'is required')
    const id = request.id ?? String(at)
    if (seen.has(id)) throw refuse(`operations[${at}].id`, 'is that of another operation')
    seen.add(id)
    return { id, op: request.op, params: request.params ?? {} }
  })
}
