// The partner client against the demo's sandbox; webhooks come from the server's own dispatcher.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { inspect } from 'node:util'
import { describe, it } from 'node:test'
import { NamewharfError, Partner, collect, demo, failure, front, json, sdk, eventually } from './support.mjs'

const { keyId, secret } = demo
const vectors = JSON.parse(readFileSync(new URL('../../../docs/signing-vectors.json', import.meta.url)))

describe('signatures', () => {
  for (const v of vectors.cases) {
    it(v.name, async () => {
      const request = { method: v.method, path: v.path, query: v.query, body: v.body, timestamp: v.timestamp, nonce: v.nonce }
      assert.equal(await sdk.canonicalString(request), v.canonical)
      assert.equal(await sdk.sign(request, v.secret), v.signature)
    })
  }

  it('a query that is no text is refused', () => {
    assert.throws(() => sdk.canonicalQuery('q=%zz'), { code: 'validation_error' })
  })
})

describe('partner', () => {
  const partner = new Partner({ baseUrl: demo.url, keyId, secret })

  it('sells a name', async () => {
    const { results } = await partner.searchDomains('brew haven')
    assert.equal(results[0].domain, 'brewhaven.example')
    assert.equal((await partner.availability({ domain: 'brewhaven.example' })).available, true)
    assert.equal((await partner.pricing('brewhaven.example')).buy_now_cents, 9900)
    assert.equal((await partner.getDomain('brewhaven.example')).metadata.length, 9)
    const quote = await partner.createQuote('brewhaven.example')
    const input = { quoteId: quote.quote_id, buyer: { email: 'ada@buyer.example', country: 'DE' }, externalPaymentRef: 'pay-1', returnUrl: 'https://partner.example/back' }
    assert.equal((await partner.createOrder({ ...input, dryRun: true })).status, 'EXTERNALLY_PAID')
    const order = await partner.createOrder(input, { idempotencyKey: 'order-1' })
    assert.deepEqual(await partner.createOrder(input, { idempotencyKey: 'order-1' }), order)
    assert.equal((await failure(partner.createOrder({ ...input, externalPaymentRef: 'other' }, { idempotencyKey: 'order-1' }))).code, 'conflict')
    assert.equal(order.external_payment_ref, 'pay-1')
    await partner.playOrder(order.public_id, 'advance')
    assert.equal((await partner.getOrder(order.public_id)).status, 'TRANSFER_IN_PROGRESS')

    const other = await partner.createOrder({ domain: 'brewpath.example', expected_price: 14900 }) // names of the wire do too
    assert.equal((await partner.createRefund({ orderId: other.public_id, reason: 'changed their mind' })).order.status, 'REFUNDED')

    assert.equal((await partner.listOrders({ limit: 1 })).items.length, 1)
    assert.equal((await collect(partner.orders({ limit: 1, domain: 'brewhaven.example' }))).length, 1)
    const events = await collect(partner.events({ limit: 2 }))
    assert.deepEqual(events.map((e) => e.type).slice(0, 2), ['order.recorded', 'order.transfer_started'])
    assert.deepEqual(await collect(partner.events({ afterId: events[0].id, limit: 1 })), events.slice(1))
    assert.equal((await partner.listEvents({ limit: 1 })).nextCursor, events[0].id)
    assert((await partner.advanceClock({ advanceSeconds: 1 })).now)

    const sales = await partner.listTransactions({ paymentModel: 'partner_collected', limit: 1 })
    assert.equal(sales.items.length, 1)
    assert(sales.totals[0].count >= 2)
    assert((await collect(partner.transactions({ limit: 1 }))).length >= 2)
    assert.deepEqual([(await partner.listSettlements()).items, await collect(partner.settlements()), (await partner.listPayouts()).items], [[], [], []])
    assert.equal((await failure(partner.getSettlement('stl_nothing'))).code, 'not_found')
  })

  it('sends a buyer to the checkout', async () => {
    const input = { domain: 'brewroast.example', returnUrl: 'https://partner.example/thanks', cancelUrl: 'https://partner.example/cart', externalRef: 'cart-1' }
    const session = await partner.createCheckout(input, { idempotencyKey: 'cart-1' })
    assert.deepEqual(await partner.createCheckout(input, { idempotencyKey: 'cart-1' }), session)
    assert(session.checkout_url.startsWith(`${demo.url}/checkout`))
    assert.equal((await partner.getCheckout(session.session_id)).status, 'open')
    assert.equal((await failure(partner.createCheckout({ domain: 'brewroast.example' }))).details[0].field, 'returnUrl')
  })

  it('sends any other request', async () => {
    const found = await partner.request('get', '/domains/search', { query: { q: "it's (new)! *" } })
    assert.equal(found.query, "it's (new)! *")
    assert.equal((await partner.request('GET', '/api/partner/v1/domains/search', { query: 'q=caf%c3%a9+bar' })).query, 'café bar')
    assert.equal((await partner.request('POST', '/quotes', { body: { domain: 'brewhaven.example' } }).catch((e) => e)).status, 409, 'it is sold')
    assert.equal((await partner.request('GET', '/orders', { query: new URLSearchParams({ limit: '1' }) })).orders.length, 1)
    for (const path of ['orders', '/orders?limit=1', '/a/../b', '/a//b', '/a#b', '/./a', undefined]) {
      assert.equal((await failure(partner.request('GET', path))).code, 'validation_error', path)
    }
  })

  it('signs each attempt anew and keeps the key of a write', async () => {
    for (const call of [(p) => p.createQuote('amberleaf.example'), (p) => p.request('POST', '/quotes', { body: { domain: 'amberleaf.example' } })]) {
      const server = await front((_, response, pass, number) => (number < 3 ? json(response, 503, {}) : pass()))
      await call(new Partner({ baseUrl: server.url, keyId, secret })).catch(() => {})
      assert.equal(server.seen.length, 3)
      assert.equal(new Set(server.seen.map((r) => r.headers['x-service-nonce'])).size, 3)
      assert.equal(new Set(server.seen.map((r) => r.headers['idempotency-key'])).size, 1)
      assert.match(server.seen[0].headers['idempotency-key'], /^[0-9a-f-]{36}$/)
    }
    const server = await front((_, response) => json(response, 503, {}))
    await failure(new Partner({ baseUrl: server.url, keyId, secret }).deleteWebhook())
    assert.equal(server.seen.length, 1, 'a write without a key is not repeated')
  })

  it('signs again after a redirect, and never for another origin', async () => {
    const server = await front((request, response, pass) => (request.path.endsWith('/pricing') ? response.writeHead(307, { location: '/api/partner/v1/availability?domain=amberleaf.example' }).end() : pass()))
    assert('available' in (await new Partner({ baseUrl: server.url, keyId, secret }).pricing('amberleaf.example')))
    const other = await front((_, response) => json(response, 200, {}))
    const away = await front((_, response) => response.writeHead(307, { location: other.url }).end())
    assert.equal((await failure(new Partner({ baseUrl: away.url, keyId, secret }).getWebhook())).code, 'redirect_refused')
    assert.equal(other.seen.length, 0)
  })

  it('says what is wrong', async () => {
    const error = await failure(new Partner({ baseUrl: demo.url, keyId, secret: 'sk_wrong_hush' }).availability('a.example'))
    assert.equal(error.code, 'invalid_signature')
    assert.match(error.hint, /^The server expected this to be signed:\nGET\n\/api\/partner\/v1\/availability\ndomain=a\.example\n/)
    const hush = new Partner({ baseUrl: demo.url, keyId, secret: 'sk_hush' })
    assert(!`${inspect([hush, error], { depth: 9, showHidden: true })}${JSON.stringify(hush)}`.includes('hush'))
    for (const options of [undefined, {}, { keyId: 'a' }, { keyId: 'a', secret: '' }, { keyId: 'a b', secret: 'c' }]) {
      assert.throws(() => new Partner(options && { baseUrl: demo.url, ...options }), NamewharfError)
    }
    for (const call of [() => partner.getOrder(''), () => partner.getOrder('..'), () => partner.createQuote(''), () => partner.createQuote({}), () => partner.availability(), () => partner.createRefund({ reason: 'x' }), () => partner.createOrder([])]) {
      assert.equal((await failure(call())).code, 'validation_error', `${call}`)
    }
  })

  it('verifies the webhooks of the server', async () => {
    const seen = []
    let arrived
    const receiver = createServer((request, response) => {
      const chunks = []
      request.on('data', (chunk) => chunks.push(chunk)).on('end', () => {
        seen.push({ headers: request.headers, body: Buffer.concat(chunks) })
        response.end()
        arrived?.()
      })
    })
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    receiver.unref()
    const next = () => new Promise((resolve) => { arrived = resolve })
    const hook = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    await partner.putWebhook({ url: `http://127.0.0.1:${receiver.address().port}/`, secret: hook })
    assert.equal((await partner.getWebhook()).active, true)
    let came = next()
    await partner.testWebhook()
    await eventually(came)
    const { headers, body } = seen[0]
    const event = await Partner.verifyWebhook(headers, body, hook)
    assert.equal(event.type, 'webhook.test')
    assert.deepEqual(await Partner.verifyWebhook(new Headers(headers), body.toString(), ['another secret', hook]), event)
    assert.deepEqual(await Partner.verifyWebhook(Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toUpperCase(), [v]])), new Uint8Array(body).buffer, hook), event)

    const { items } = await partner.listDeliveries({ limit: 1 })
    came = next()
    await partner.redeliver(items[0].delivery_id)
    await eventually(came)
    assert.equal((await Partner.verifyWebhook(seen[1].headers, seen[1].body, hook)).id, event.id)
    assert((await collect(partner.deliveries({ status: 'delivered' }))).length <= 2)

    await partner.putWebhook({ url: `http://127.0.0.1:${receiver.address().port}/`, secret: 'a plain secret of mine' })
    came = next()
    await partner.testWebhook()
    await eventually(came)
    assert.equal((await Partner.verifyWebhook(seen[2].headers, seen[2].body, ['a plain secret of mine', hook])).type, 'webhook.test')
    assert.match((await partner.deleteWebhook()).url, /^http:/)
  })
})

describe('forged webhooks', () => {
  const hook = 'a secret of sixteen or more'
  const body = '{"id":"evt_1","type":"order.recorded","created_at":"2026-01-01T00:00:00Z","partner_id":"prt_1","data":{}}'
  const signed = (text = body, at = Math.floor(Date.now() / 1000), key = hook) => ({
    'webhook-id': 'evt_1', 'webhook-timestamp': String(at),
    'webhook-signature': `v1,${createHmac('sha256', key).update(`evt_1.${at}.${text}`).digest('base64')}`,
    'x-service-signature': createHmac('sha256', key).update(text).digest('hex'),
  })
  const now = () => Math.floor(Date.now() / 1000)
  const changed = (change) => ({ ...signed(), ...change })

  it('a good one passes', async () => {
    assert.equal((await Partner.verifyWebhook(signed(), body, hook)).id, 'evt_1')
    assert.equal((await Partner.verifyWebhook(changed({ 'webhook-signature': `v2,x v1,AAAA ${signed()['webhook-signature']}` }), body, hook)).id, 'evt_1')
    assert.equal((await Partner.verifyWebhook(signed(body, now() - 290), body, hook)).id, 'evt_1')
  })

  for (const [name, headers, text] of [
    ['no headers', () => ({})], ['null', () => null],
    ['the old header alone', () => ({ 'x-service-signature': signed()['x-service-signature'] })],
    ['without the old header', () => changed({ 'x-service-signature': undefined })],
    ['an empty old header', () => changed({ 'x-service-signature': '' })],
    ['the other secret', () => signed(body, now(), 'b secret of sixteen or more')],
    ['another body', () => signed(), `${body} `],
    ['too old', () => signed(body, now() - 310)], ['too new', () => signed(body, now() + 310)],
    ['a time that is none', () => changed({ 'webhook-timestamp': 'now' })], ['a time of another', () => changed({ 'webhook-timestamp': String(now() - 5) })],
    ['an endless time', () => changed({ 'webhook-timestamp': '9'.repeat(400) })],
    ['another id', () => changed({ 'webhook-id': 'evt_2' })],
    ['any bytes', () => changed({ 'webhook-signature': '\u0000\u00ff\ud800 \u{1f600}', 'x-service-signature': '\ud800' })],
    ['long signatures', () => changed({ 'webhook-signature': 'v1,'.repeat(5000), 'x-service-signature': 'a'.repeat(1e6) })],
    ['upper case', () => changed({ 'x-service-signature': signed()['x-service-signature'].toUpperCase() })],
    ['a body that is no JSON', () => signed('hello'), 'hello'], ['a body that is no event', () => signed('{"id":1}'), '{"id":1}'],
  ]) {
    it(name, async () => {
      assert.equal((await failure(Partner.verifyWebhook(headers(), text ?? body, hook))).code, 'invalid_webhook')
    })
  }

  it('what is no body or no secret is said', async () => {
    assert.equal((await failure(Partner.verifyWebhook(signed(), JSON.parse(body), hook))).code, 'validation_error')
    assert.equal((await failure(Partner.verifyWebhook(signed(), body, ''))).code, 'validation_error')
    assert.equal((await failure(Partner.verifyWebhook(signed(), body))).code, 'validation_error')
  })
})
