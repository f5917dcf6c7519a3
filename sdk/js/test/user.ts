// A user's program, compiled with tsc --strict against the installed package.
import { Namewharf, Partner, NamewharfError, ConnectionError, fileStore } from 'namewharf'
import type { BatchResult, CallOptions, NamewharfOptions, Page, Result, Session, Suggestion, TokenStore, MarketListingsListing, MarketListingsAnswer, PartnerEvent } from 'namewharf'

const store: TokenStore = { load: () => undefined, save: async (value: string) => void value, clear: () => {} }
const options: NamewharfOptions = { baseUrl: 'http://127.0.0.1:8080', timeoutMs: 1000, retries: 1, batching: false, fetch: globalThis.fetch }

export async function main(signal: AbortSignal): Promise<number> {
  const nw = new Namewharf(options)
  const call: CallOptions = { signal, timeoutMs: 5, token: 'x', idempotencyKey: 'k', headers: { a: 'b' } }
  const found = await nw.search('brewhaven.com', { tlds: ['com'], ...call })
  const first: Result | undefined = found.results[0]
  const status: 'available' | 'likely_available' | 'registered' | 'expiring' | 'reserved' | 'invalid' | 'unknown' | undefined = first?.status
  for await (const r of nw.searchStream('brewhaven')) r.domain.toUpperCase()
  const checked: Result[] = await nw.check(new Set(['a.com']), { signal })
  const cents: number = (await nw.price('com', 'renew')).priceCents
  const names: Suggestion[] = (await nw.suggest('coffee shop', { tlds: ['com'], limit: 5, maxLength: 12, styles: ['short'], signal })).suggestions
  for await (const s of nw.suggestStream('coffee shop')) names.push(s)
  const five: number | undefined = (await nw.compare(['com', 'net'], 5, { signal })).results[0]?.total.priceCents
  await nw.listingsPage({ q: 'coffee', sort: 'relevance' })
  // @ts-expect-error: there is no such style
  void (() => nw.suggest('coffee', { styles: ['long'] }))
  // @ts-expect-error: there is no such op
  void (() => nw.price('com', 'buy'))
  // @ts-expect-error: fields of answers are as on the wire
  void found.pricesMasked
  for await (const l of nw.listings({ q: 'coffee', minPriceCents: 1, signal })) l.price.masked
  const page: Page<MarketListingsListing, MarketListingsAnswer> = await nw.listingsPage({ limit: 20 })
  const next = await page.next()
  const cursor: string | null | undefined = next?.nextCursor
  const results: BatchResult[] = await nw.batch([{ op: 'whois_lookup', params: { domain: 'a.com' } }])
  for (const r of results) {
    if (r.ok) r.result.domain
    else r.error.code.length
  }
  await nw.bulk('set_price', ['a.com'], { params: { priceCents: 1 }, dryRun: true })
  const session: Session = await nw.signIn({ store, openBrowser: (url: string) => void url, scopes: ['pricing:read'] })
  await session.signOut()
  await nw.signIn({ store: fileStore('x'), openBrowser: false })

  const partner = new Partner({ baseUrl: 'http://127.0.0.1', keyId: 'a', secret: 'b' })
  const quote = await partner.createQuote('a.example')
  const order = await partner.createOrder({ quoteId: quote.quote_id, buyer: { email: 'a@b.example' } }, { idempotencyKey: 'x' })
  await partner.playOrder(order.public_id ?? '', 'advance')
  for await (const e of partner.events({ afterId: 'evt_1' })) e.type
  const event: PartnerEvent = await Partner.verifyWebhook(new Headers(), new Uint8Array(), ['a', 'b'])
  await Partner.verifyWebhook({ a: 'b', c: ['d'], e: undefined }, '', 'a')
  const orders = await partner.request<{ orders: unknown[] }>('GET', '/orders', { query: { limit: 1 } })
  try {
    await nw.tld('x')
  } catch (error) {
    if (error instanceof ConnectionError) return 1
    if (error instanceof NamewharfError && error.code === 'rate_limited') return error.retryAfter ?? 0
  }
  return checked.length + cents + names.length + (five ?? 0) + orders.orders.length + event.id.length + (status?.length ?? 0) + (cursor?.length ?? 0)
}
