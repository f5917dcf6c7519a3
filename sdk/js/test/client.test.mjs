// The public client against the demo of the built server.
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { describe, it } from 'node:test'
import { Namewharf, NamewharfError, collect, demo, failure, front, json, price, eventually } from './support.mjs'

describe('public client', () => {
  const nw = new Namewharf({ baseUrl: demo.url })

  it('answers as the wire has them', async () => {
    const found = await nw.search('brewhaven.com', { tlds: ['com', 'net'] })
    assert.equal(found.results[0].domain, 'brewhaven.com')
    assert.equal(found.prices_masked, true)
    assert.equal((await nw.price('com', 'renew')).op, 'renew')
    assert.equal((await nw.tld('us')).tld, 'us')
    assert.equal((await nw.whois('cobaltpine.com')).registered, true)
    assert((await nw.batchCatalogue()).operations.length >= 5)
  })

  it('suggests names', async () => {
    const input = { tlds: ['com'], limit: 3, maxLength: 12, styles: ['short', 'compound'] }
    const { suggestions } = await nw.suggest('coffee shop in Berlin', input)
    assert(suggestions.length >= 3 && suggestions.every((s) => s.tld === 'com' && s.label.length <= 12 && input.styles.includes(s.style)))
    const streamed = await collect(nw.suggestStream('coffee shop in Berlin', input))
    assert.deepEqual(streamed.map((s) => s.domain).sort(), suggestions.map((s) => s.domain).sort())
    assert.equal((await collect(nw.suggestStream('coffee shop'), 1)).length, 1)
    assert.equal((await failure(nw.suggest('coffee', { limit: 99 }))).details[0].field, 'limit')
    assert.equal((await failure(collect(nw.suggestStream('coffee', { styles: ['nothing'] })))).code, 'validation_error')
  })

  it('compares TLDs, in one parameter', async () => {
    const server = await front((_, __, pass) => pass())
    const client = new Namewharf({ baseUrl: server.url })
    const { results, years, unknown } = await client.compare(new Set(['com', 'net', 'nosuchsuffix']), 5)
    assert.deepEqual([results.map((r) => r.tld), years, unknown], [['com', 'net'], 5, ['nosuchsuffix']])
    assert.equal(server.seen[0].url, '/api/pricing/compare?tlds=com%2Cnet%2Cnosuchsuffix&years=5')
    assert.equal((await client.compare(['com'])).years, 1)
    assert.equal((await failure(client.compare(['com'], 11))).details[0].field, 'years')
    assert.equal((await failure(client.compare([]))).code, 'validation_error')
    assert((await client.listingsPage({ q: 'coffee', sort: 'relevance' })).items.length > 0)
  })

  it('streams results, and stops when the loop does', async () => {
    const all = await collect(nw.searchStream('brewhaven', { tlds: ['com', 'net', 'org'] }))
    assert.deepEqual(all.map((r) => r.tld).sort(), ['com', 'net', 'org'])
    assert.equal((await collect(nw.searchStream('brewhaven'), 1)).length, 1)
    assert.equal((await collect(nw.checkStream(['cobaltpine.com', 'brewhaven.com']))).length, 2)
    assert.equal((await failure(collect(nw.searchStream('')))).code, 'validation_error')
    assert.equal((await failure(collect(nw.searchStream('brewhaven.com', { requireRealPrices: true })))).code, 'authentication_required')
  })

  it('checks any number of names in the order asked', async () => {
    const names = Array.from({ length: 450 }, (_, at) => `name-${at}.com`)
    const results = await nw.check(names)
    assert.deepEqual(results.map((r) => r.domain), names)
    assert.deepEqual(await nw.check([]), [])
    assert.deepEqual((await nw.check(new Set(['cobaltpine.com', 'not a name']))).map((r) => r.status), ['registered', 'invalid'])
  })

  it('runs any number of operations, each of which fails alone', async () => {
    const requests = Array.from({ length: 45 }, (_, at) => (at % 10 === 3 ? { op: 'nothing' } : { op: 'tld_registration_price', params: { tld: 'com' } }))
    const results = await nw.batch(requests)
    assert.deepEqual(results.map((r) => r.ok), requests.map((_, at) => at % 10 !== 3))
    assert.deepEqual(results.map((r) => r.id), requests.map((_, at) => String(at)))
    assert.equal(results[3].error.code, 'validation_error')
    assert.deepEqual((await nw.batch([{ id: 'mine', op: 'whois_lookup', params: { domain: 'cobaltpine.com' } }]))[0].id, 'mine')
    assert.deepEqual(await nw.batch([]), [])
    assert.equal((await failure(nw.batch([{ id: 'a', op: 'x' }, { id: 'a', op: 'x' }]))).code, 'validation_error')
  })

  it('pages, has one page in memory, and continues at a cursor', async () => {
    const counted = await front((_, __, pass) => pass())
    const client = new Namewharf({ baseUrl: counted.url })
    const all = await collect(client.listings({ limit: 2 }))
    assert.equal(new Set(all.map((l) => l.domain)).size, all.length)
    const pages = counted.seen.length
    assert(pages >= all.length / 2)
    await collect(client.listings({ limit: 2 }), 3)
    assert.equal(counted.seen.length, pages + 2, 'three elements are on two pages')

    const page = await client.listingsPage({ limit: 3 })
    assert.deepEqual(page.items, page.listings)
    assert.deepEqual(page.items, all.slice(0, 3))
    assert.deepEqual((await page.next()).items, all.slice(3, 6))
    assert.deepEqual(await collect(client.listings({ limit: 3, cursor: page.nextCursor })), all.slice(3))
    assert.deepEqual((await collect(client.listings({ limit: 3, offset: 2 }))), all.slice(2))
    let last = page
    while (last.nextCursor) last = await last.next()
    assert.equal(await last.next(), null)
    assert.equal((await client.listings({ limit: 1 })).items.length, 1, 'a list may be awaited')
    assert((await collect(client.tlds({ limit: 100 }), 250)).length === 250)
    assert.equal((await client.tldsPage({ limit: 5 })).items.length, 5)
    assert.equal((await failure(client.listings({ cursor: 'x' }).catch((error) => { throw error }))).code, 'validation_error')
  })

  it('refuses bad input before a request goes out', async () => {
    const silent = new Namewharf({ baseUrl: 'http://127.0.0.1:9', retries: 0 })
    for (const [call, field] of [
      [() => silent.search(''), 'q'], [() => silent.whois(), 'domain'], [() => silent.tld('..'), 'tld'], [() => silent.tld(''), 'tld'],
      [() => silent.check('a.com'), 'domains'], [() => silent.check(['a.com', 3]), 'domains[1]'], [() => silent.check(), 'domains'],
      [() => silent.suggest(''), 'q'], [() => collect(silent.suggestStream('')), 'q'], [() => silent.compare('com'), 'tlds'], [() => silent.compare(['com', '']), 'tlds[1]'],
      [() => silent.batch([{}]), 'operations[0].op'], [() => silent.addDomain(), 'domain'], [() => silent.bulk('list', 'a.com'), 'domains'],
      [() => silent.price('com', 'renew', { timeoutMs: -1 }), 'timeoutMs'], [() => silent.price('com', 'renew', { token: 'a\nb' }), 'token'],
      [() => silent.price('com', 'renew', { headers: { 'x-a': 'secret\n' } }), 'headers'], [() => silent.addDomain('a.com', { idempotencyKey: '' }), 'idempotencyKey'],
    ]) {
      const error = await failure((async () => call())())
      assert.equal(error.code, 'validation_error', `${call}`)
      assert.equal(error.details[0].field, field)
      assert(!inspect(error).includes('secret'))
    }
    assert.equal((await failure(silent.search('\ud800', { tlds: [1n] }))).code, 'validation_error')
    for (const options of [{}, { baseUrl: 'nowhere' }, { baseUrl: 'ftp://a' }, { baseUrl: 'http://u:p@a' }, { baseUrl: demo.url, token: 'a b' }, { baseUrl: demo.url, retries: -1 }]) {
      assert.throws(() => new Namewharf(options), NamewharfError)
    }
    const error = await failure(nw.whois('a b'))
    assert.deepEqual([error.code, error.status, error.details[0].field], ['validation_error', 400, 'domain'], 'the rest is the server\'s to say')
  })

  it('takes its base URL from the environment', async () => {
    process.env.NAMEWHARF_BASE_URL = `${demo.url}/`
    try {
      assert.equal((await new Namewharf().price('com')).tld, 'com')
    } finally {
      delete process.env.NAMEWHARF_BASE_URL
    }
  })

  it('says who it is, and sends no cookie or further header', async () => {
    const server = await front((_, __, pass) => pass())
    await new Namewharf({ baseUrl: server.url, token: 'nw_at_x', headers: { 'X-Mine': 'a' } }).price('com', 'renew', { headers: { 'X-Yours': 'b' } }).catch(() => {})
    const { headers } = server.seen[0]
    assert.match(headers['user-agent'], new RegExp(`^namewharf-js/\\d+\\.\\d+\\.\\d+ \\(node ${process.versions.node.split('.')[0]}\\)$`))
    assert.deepEqual([headers['x-mine'], headers['x-yours'], headers.authorization], ['a', 'b', 'Bearer nw_at_x'])
    const standard = ['accept', 'accept-encoding', 'accept-language', 'authorization', 'connection', 'host', 'sec-fetch-mode', 'user-agent', 'x-mine', 'x-yours']
    assert.deepEqual(Object.keys(headers).filter((name) => !standard.includes(name)), [])
  })

  it('shows no token', async () => {
    const client = new Namewharf({ baseUrl: demo.url, token: 'nw_at_hush' })
    const error = await failure(client.search('brewhaven.com'))
    assert.equal(error.code, 'invalid_token')
    assert(!`${inspect(client, { depth: 9, showHidden: true })}${JSON.stringify(client)}${inspect(error, { depth: 9 })}${error.stack}`.includes('hush'))
  })
})

describe('batching by itself', () => {
  it('sends calls of one turn together, a lone one alone', async () => {
    const server = await front((_, __, pass) => pass())
    const nw = new Namewharf({ baseUrl: server.url })
    await Promise.all([nw.price('com'), nw.price('net'), nw.tld('de'), nw.whois('cobaltpine.com')])
    assert.deepEqual(server.seen.map((r) => `${r.method} ${r.path}`), ['POST /api/batch'])
    server.seen.length = 0
    const [compared, suggested] = await Promise.all([nw.compare(['com', 'net'], 2), nw.suggest('coffee', { maxLength: 9 })])
    assert.deepEqual(server.seen.map((r) => r.path), ['/api/batch'])
    assert(compared.results.length === 2 && compared.years === 2 && suggested.suggestions.every((s) => s.label.length <= 9))
    server.seen.length = 0
    await nw.price('com')
    assert.deepEqual(server.seen.map((r) => `${r.method} ${r.url}`), ['GET /api/pricing/tld?tld=com'])
    server.seen.length = 0
    await Promise.all(Array.from({ length: 45 }, () => nw.price('com')))
    assert.deepEqual(server.seen.map((r) => JSON.parse(r.body).operations.length).sort(), [20, 20, 5])
  })

  it('sends alone what a batch cannot carry', async () => {
    const server = await front((_, __, pass) => pass())
    const nw = new Namewharf({ baseUrl: server.url })
    await Promise.allSettled([
      nw.price('com', 'renew', { token: 'nw_at_x' }), nw.price('com', 'renew', { timeoutMs: 5000 }), nw.price('com', 'renew', { headers: { a: 'b' } }),
      collect(nw.searchStream('brewhaven')),
    ])
    assert(!server.seen.some((r) => r.path === '/api/batch'))
    server.seen.length = 0
    const single = new Namewharf({ baseUrl: server.url, batching: false })
    await Promise.all([single.price('com'), single.price('net')])
    assert.equal(server.seen.length, 2)
  })

  it('one failure rejects one call', async () => {
    const nw = new Namewharf({ baseUrl: demo.url })
    const results = await Promise.allSettled([nw.price('com'), nw.price('nosuchsuffix'), nw.whois('a b'), nw.whois('cobaltpine.com')])
    assert.deepEqual(results.map((r) => r.reason?.code ?? 'fine'), ['fine', 'not_found', 'validation_error', 'fine'])
    assert.equal(results[1].reason.status, 404)
  })

  it('waits for others as long as it is allowed to', async () => {
    const server = await front((_, __, pass) => pass())
    const nw = new Namewharf({ baseUrl: server.url, batchWindowMs: 50 })
    const first = nw.price('com')
    await new Promise((resolve) => setTimeout(resolve, 5))
    await Promise.all([first, nw.price('net')])
    assert.deepEqual(server.seen.map((r) => r.path), ['/api/batch'])
  })

  it('tries an operation again that failed for now', async () => {
    const server = await front((request, response, pass, number) => {
      if (number > 1) return pass()
      const results = JSON.parse(request.body).operations.map(({ id, op }) =>
        id === '1' ? { id, op, ok: false, status: 429, error: { code: 'rate_limited', message: 'wait', retry_after_s: 0 } } : { id, op, ok: true, status: 200, result: price })
      json(response, 200, { results })
    })
    const nw = new Namewharf({ baseUrl: server.url })
    assert.deepEqual((await Promise.all([nw.price('com'), nw.price('net')])).map((p) => p.tld), ['com', 'net'])
    assert.deepEqual(server.seen.map((r) => r.path), ['/api/batch', '/api/pricing/tld'])
  })

  it('a call that is stopped leaves its batch; all of them end it', async () => {
    let closed
    const gone = new Promise((resolve) => { closed = resolve })
    const one = new AbortController()
    const all = new AbortController()
    const server = await front((request, response, pass) => {
      if (request.path !== '/api/batch') return pass()
      if (JSON.parse(request.body).operations.length === 3) {
        one.abort(new Error('mine'))
        setTimeout(pass, 20)
      } else {
        response.on('close', closed)
        all.abort()
      }
    })
    const nw = new Namewharf({ baseUrl: server.url })
    const calls = [nw.price('com'), nw.price('net', 'renew', { signal: one.signal }), nw.price('org')]
    const results = await Promise.allSettled(calls)
    assert.deepEqual(results.map((r) => r.reason?.message ?? r.value.tld), ['com', 'mine', 'org'])
    const ended = Promise.allSettled([nw.price('com', 'renew', { signal: all.signal }), nw.price('net', 'renew', { signal: all.signal })])
    assert((await ended).every((r) => r.reason.name === 'AbortError'))
    await eventually(gone)
  })

  it('a batch that is refused as a whole is sent call by call', async () => {
    const nw = new Namewharf({ baseUrl: demo.url })
    const results = await Promise.allSettled([nw.price('com'), nw.search('x'.repeat(300_000))])
    assert.equal(results[0].value?.tld, 'com')
    assert.equal(results[1].reason.status, 413)
  })

  it('any number of calls may share a signal', async () => {
    const warnings = []
    process.on('warning', (warning) => warnings.push(warning))
    const nw = new Namewharf({ baseUrl: demo.url })
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 60 }, () => nw.price('com', 'renew', { signal })))
    await nw.check(Array.from({ length: 500 }, (_, at) => `n${at}.com`), { signal })
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(warnings, [])
  })
})
