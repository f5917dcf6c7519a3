// What the SDK does when servers and networks fail; the table in README.md says the same.
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { inspect } from 'node:util'
import { describe, it } from 'node:test'
import { ConnectionError, Namewharf, NamewharfError, TimeoutError, collect, failure, front, json, price, eventually } from './support.mjs'

const quick = { retries: 1 }
const timeoutOf = (name) => (name.startsWith('a slow') ? 2000 : 15000) // milliseconds

describe('faults', { concurrency: 12 }, () => {
  // Each fault is what the server does to the first requests, then it answers well.
  const passing = {
    'a connection that is cut before the answer': (_, response) => response.destroy(),
    'a connection that is cut in the middle of the answer': (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
      response.write('{"tld":', () => response.destroy())
    },
    'a chunked answer that ends early': (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
      response.write('{"tld":', () => response.destroy())
    },
    'a 429 with seconds': (_, response) => json(response, 429, { error: { code: 'rate_limited', message: 'wait', request_id: 'r' } }, { 'retry-after': '0' }),
    'a 429 with a date': (_, response) => json(response, 429, { error: { code: 'rate_limited', message: 'wait' } }, { 'retry-after': new Date().toUTCString() }),
    'a 502 of a proxy': (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>bad gateway'),
    'a 503': (_, response) => json(response, 503, { error: { code: 'unavailable', message: 'starting' } }),
    'a 504': (_, response) => response.writeHead(504).end(),
    'a slow header': () => {},
    'a slow body': (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{')
    },
  }
  for (const [name, fault] of Object.entries(passing)) {
    it(`${name}: tried again`, async () => {
      const server = await front((request, response, _, number) => (number <= 1 ? fault(request, response) : json(response, 200, price)))
      const nw = new Namewharf({ ...quick, baseUrl: server.url, timeoutMs: timeoutOf(name) })
      assert.deepEqual(await nw.price('com'), price)
      assert.equal(server.seen.length, 2)
    })
    it(`${name}: an error in the end`, async () => {
      const server = await front(fault)
      const error = await failure(new Namewharf({ retries: 1, baseUrl: server.url, timeoutMs: timeoutOf(name) }).price('com'))
      assert(error instanceof NamewharfError)
      const code = name.startsWith('a slow') ? 'timeout' : name.includes('429') ? 'rate_limited' : name === 'a 503' ? 'unavailable' : name.includes('50') ? 'http_error' : 'connection_error'
      assert.equal(error.code, code)
      assert.equal(error instanceof ConnectionError, code === 'connection_error')
      assert.equal(error instanceof TimeoutError, code === 'timeout')
      assert.equal(server.seen.length, 2)
    })
    it(`${name}: a write without a key is not repeated`, async () => {
      const server = await front(fault)
      await failure(new Namewharf({ ...quick, baseUrl: server.url, timeoutMs: timeoutOf(name), token: 'nw_at_x' }).addDomain('a.com'))
      assert.equal(server.seen.length, 1)
    })
  }

  it('a write with a key is repeated with it', async () => {
    const server = await front((_, response, __, number) => (number <= 1 ? response.destroy() : json(response, 201, { domain: 'a.com' })))
    await new Namewharf({ ...quick, baseUrl: server.url, token: 'nw_at_x' }).addDomain('a.com', { idempotencyKey: 'mine' })
    assert.deepEqual(server.seen.map((r) => r.headers['idempotency-key']), ['mine', 'mine'])
  })

  it('Retry-After is waited for, and given up at once when it is too long', async () => {
    const date = 'Thu, 01 Jan 2026 12:00:00 GMT' // the clock of the server decides
    for (const headers of [{ 'retry-after': '1' }, { 'retry-after': 'Thu, 01 Jan 2026 12:00:01 GMT', date }]) {
      const server = await front((_, response, __, number) => (number === 1 ? json(response, 429, {}, headers) : json(response, 200, price)))
      const began = Date.now()
      await new Namewharf({ baseUrl: server.url }).price('com')
      assert(Date.now() - began >= 995, `${headers['retry-after']}: ${Date.now() - began} ms`)
    }
    for (const value of ['61', new Date(Date.now() + 120_000).toUTCString()]) {
      const server = await front((_, response) => json(response, 503, {}, { 'retry-after': value }))
      const error = await failure(new Namewharf({ baseUrl: server.url }).price('com'))
      assert(error.retryAfter >= 61 && error.retryAfter <= 121, `${error.retryAfter}`)
      assert.equal(server.seen.length, 1)
    }
    const server = await front((_, response, __, number) => (number === 1 ? json(response, 429, {}, { 'retry-after': 'soon, I hope' }) : json(response, 200, price)))
    await new Namewharf({ baseUrl: server.url }).price('com')
  })

  it('retry_after_s of a body counts if it is a number of seconds', async () => {
    for (const seconds of ['-5', '-1e999', 'NaN', 'true', '"9"', 'null', '[]']) {
      const body = `{"error":{"code":"rate_limited","message":"wait","retry_after_s":${seconds}}}`
      const wrong = (response) => response.writeHead(429, { 'content-type': 'application/json' }).end(body)
      const never = await front((_, response) => wrong(response))
      assert.equal((await failure(new Namewharf({ baseUrl: never.url, retries: 0 }).price('com'))).retryAfter, undefined, seconds)
      const server = await front((_, response, __, number) => (number === 1 ? wrong(response) : json(response, 200, price)))
      assert.deepEqual(await new Namewharf({ ...quick, baseUrl: server.url }).price('com'), price, seconds)
    }
    const endless = await front((_, response) => response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{"retry_after_s":1e999}}'))
    assert.equal((await failure(new Namewharf({ baseUrl: endless.url }).price('com'))).retryAfter, Infinity)
    assert.equal(endless.seen.length, 1)
  })

  const final = {
    'junk instead of JSON': [(_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"tld": nope'), 'invalid_response'],
    'an empty answer': [(_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(), 'invalid_response'],
    'another content type': [(_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Log in to the network'), 'invalid_response'],
    'no content type': [(_, response) => response.writeHead(200).end('{}'), 'invalid_response'],
    'a length over 16 MiB': [(_, response) => response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(17 << 20) }).write('{'), 'response_too_large'],
    'more than 16 MiB': [(_, response) => { response.writeHead(200, { 'content-type': 'application/json' }); response.end(Buffer.alloc(17 << 20, 32)) }, 'response_too_large'],
    'little that grows to more than 16 MiB': [(_, response) => { response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }); response.end(gzipSync(Buffer.alloc(64 << 20, 32))) }, 'response_too_large'],
    'a 500': [(_, response) => json(response, 500, { error: { code: 'internal_error', message: 'sorry', request_id: 'req_1' } }), 'internal_error'],
    'a 404 without JSON': [(_, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('no'), 'http_error'],
    'an error of another shape': [(_, response) => json(response, 418, ['x']), 'http_error'],
    'a redirect to another origin': [(_, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(), 'redirect_refused'],
    'a redirect to the same host without TLS, or with a user': [(_, response) => response.writeHead(308, { location: 'http://user:secret@127.0.0.1:9/' }).end(), 'redirect_refused'],
    'a redirect nowhere': [(_, response) => response.writeHead(302).end(), 'redirect_refused'],
    'a redirect to no URL': [(_, response) => response.writeHead(302, { location: 'http://[' }).end(), 'redirect_refused'],
    'redirects without end': [(request, response) => response.writeHead(307, { location: `${request.url}1` }).end(), 'redirect_refused'],
  }
  for (const [name, [fault, code]] of Object.entries(final)) {
    it(`${name}: ${code}, at once`, async () => {
      const server = await front(fault)
      const error = await failure(new Namewharf({ baseUrl: server.url, token: 'nw_at_hush' }).price('com'))
      assert.equal(error.code, code)
      assert(error instanceof NamewharfError)
      assert.equal(server.seen.length, name === 'redirects without end' ? 6 : 1)
      assert(!inspect(error, { depth: 9 }).includes('hush'))
    })
  }

  it('a redirect within the origin is followed', async () => {
    const server = await front((request, response, pass) => (request.path.startsWith('/api') ? response.writeHead(307, { location: `/moved${request.url}` }).end() : json(response, 200, JSON.parse(request.body || '{}'))))
    const nw = new Namewharf({ baseUrl: server.url, token: 'nw_at_x' })
    assert.deepEqual(await nw.search('a.com'), { q: 'a.com' })
    assert.equal(server.seen[1].headers.authorization, 'Bearer nw_at_x')
    assert.equal(server.seen[1].method, 'POST')
    const changed = await front((_, response) => response.writeHead(302, { location: '/elsewhere' }).end())
    assert.equal((await failure(new Namewharf({ baseUrl: changed.url }).search('a.com'))).code, 'redirect_refused', 'a POST does not become a GET')
  })

  it('a token never goes to another origin', async () => {
    const other = await front((_, response) => json(response, 200, price))
    const server = await front((_, response) => response.writeHead(307, { location: `${other.url}/api/pricing/tld` }).end())
    await failure(new Namewharf({ baseUrl: server.url, token: 'nw_at_x' }).price('com'))
    assert.equal(other.seen.length, 0)
  })

  it('no server: connection_error', async () => {
    const error = await failure(new Namewharf({ baseUrl: 'http://127.0.0.1:9', retries: 0 }).price('com'))
    assert(error instanceof ConnectionError)
    assert.match(error.message, /^http:\/\/127\.0\.0\.1:9 could not be reached/)
  })

  it('a signal stops a call at once and leaves nothing running', async () => {
    let closed
    const gone = new Promise((resolve) => { closed = resolve })
    const stop = new AbortController()
    const server = await front((_, response) => {
      response.on('close', closed)
      stop.abort(new Error('enough'))
    })
    assert.equal((await failure(new Namewharf({ baseUrl: server.url }).price('com', 'renew', { signal: stop.signal }))).message, 'enough')
    await eventually(gone)
    // between two attempts
    const busy = await front((_, response) => json(response, 503, {}, { 'retry-after': '30' }))
    const again = new AbortController()
    setTimeout(() => again.abort(), 50)
    const began = Date.now()
    assert.equal((await failure(new Namewharf({ baseUrl: busy.url }).whois('a.com', { signal: again.signal }))).name, 'AbortError')
    assert(Date.now() - began < 5000)
    // before it began
    const silent = new Namewharf({ baseUrl: 'http://127.0.0.1:9' })
    for (const call of [() => silent.price('com', 'renew', { signal: AbortSignal.abort() }), () => silent.check(['a.com'], { signal: AbortSignal.abort() }), () => silent.addDomain('a.com', { signal: AbortSignal.abort() }), () => collect(silent.searchStream('a', { signal: AbortSignal.abort() }))]) {
      assert.equal((await failure(call())).name, 'AbortError')
    }
  })

  it('streams: cut, slow, refused', async () => {
    const events = { 'content-type': 'text/event-stream' }
    const result = 'event: result\r\ndata: {"domain":\r\ndata: "a.com"}\r\n\r\n'
    const cut = await front((_, response) => { response.writeHead(200, events); response.write(result, () => response.destroy()) })
    const seen = []
    const error = await failure((async () => { for await (const r of new Namewharf({ baseUrl: cut.url }).searchStream('a')) seen.push(r.domain) })())
    assert.deepEqual([seen, error.code, cut.seen.length], [['a.com'], 'connection_error', 1])
    const early = await front((_, response) => response.writeHead(200, events).end(result))
    assert.equal((await failure(collect(new Namewharf({ baseUrl: early.url }).searchStream('a')))).code, 'connection_error')
    const slow = await front((_, response) => { response.writeHead(200, events); response.write(result) })
    assert.equal((await failure(collect(new Namewharf({ baseUrl: slow.url, timeoutMs: 300 }).searchStream('a')))).code, 'timeout')
    const plain = await front((_, response) => json(response, 200, {}))
    assert.equal((await failure(collect(new Namewharf({ baseUrl: plain.url }).searchStream('a')))).code, 'invalid_response')
    const late = await front((_, response, __, number) => (number <= 1 ? json(response, 503, {}) : response.writeHead(200, events).end(`: hello\n\n${result}event: done\ndata: {}\n\n`)))
    assert.equal((await collect(new Namewharf({ baseUrl: late.url }).searchStream('a'))).length, 1)
    const failing = await front((_, response) => response.writeHead(200, events).end('event: error\ndata: {"error":{"code":"unavailable","message":"no"}}\n\n'))
    assert.equal((await failure(collect(new Namewharf({ baseUrl: failing.url }).searchStream('a')))).code, 'unavailable')
    let closed
    const gone = new Promise((resolve) => { closed = resolve })
    const endless = await front((_, response) => { response.on('close', closed); response.writeHead(200, events); response.write(result) })
    await collect(new Namewharf({ baseUrl: endless.url }).searchStream('a'), 1)
    await eventually(gone)
  })

  it('a page that leads to itself ends the list', async () => {
    const server = await front((_, response) => json(response, 200, { listings: [{}], page: { next_cursor: 'same' } }))
    assert.equal((await failure(collect(new Namewharf({ baseUrl: server.url }).listings()))).code, 'invalid_response')
  })
})
