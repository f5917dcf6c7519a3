// Signing in at the demo: a person without scripts in their browser allows it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, it } from 'node:test'
import { Namewharf, collect, demo, failure, front, json, memoryStore, sdk, startDemo } from './support.mjs'

const forSale = 'brewhaven.com'
const openBrowser = (url) => demo.person.allow(url)
const noBrowser = () => { throw new Error('a browser was opened') }
const edit = (store, change) => { store.value = JSON.stringify({ ...JSON.parse(store.value), ...change }) }

// A demo that people reach through a server that counts, and that can fail.
let rule
const counting = await front((request, response, pass) => (rule ?? ((_, __, onward) => onward()))(request, response, pass))
const behind = await startDemo('-rate-limits', 'off', '-base-url', counting.url)
counting.origin = behind.url
const allowed = (url) => behind.person.allow(url)
const tokens = () => counting.seen.filter((r) => r.path === '/api/oauth/token')
function counted() {
  rule = undefined
  counting.seen.length = 0
}

async function masked(nw) {
  return (await nw.search(forSale, { tlds: ['com'] })).prices_masked
}

describe('sign-in', () => {
  it('shows real prices, and the account its names', async () => {
    const nw = new Namewharf({ baseUrl: demo.url })
    const store = memoryStore()
    assert.equal(await masked(nw), true)
    const session = await nw.signIn({ openBrowser, store, scopes: ['pricing:read', 'domains:write'], clientName: 'A test' })
    assert.deepEqual(session.scopes, ['pricing:read', 'domains:write'])
    const found = await nw.search(forSale, { tlds: ['com'], requireRealPrices: true })
    assert(found.results[0].listing.price.priceCents > 0)
    assert((await nw.listingsPage({ sort: 'price', limit: 3, minPriceCents: 1 })).items.every((l) => l.price.priceCents > 0))
    assert.equal((await nw.addDomain('mine.com')).proof.type, 'TXT')
    assert.equal((await nw.bulk('set_price', ['mine.com', 'yours.com'], { params: { priceCents: 250000 }, dryRun: true })).failed, 2)
    assert.deepEqual((await collect(nw.domains())).map((d) => d.domain), ['mine.com'])
    assert.equal((await nw.domainsPage({ limit: 1 })).items.length, 1)
    assert(!inspect([nw, session], { depth: 9, showHidden: true }).includes('nw_at_'))

    await session.signOut()
    assert.equal(store.value, undefined)
    assert.equal(await masked(nw), true, 'the client goes on without a sign-in')
  })

  it('a later process goes on without a browser', async () => {
    const store = memoryStore()
    await new Namewharf({ baseUrl: demo.url }).signIn({ openBrowser, store })
    assert.equal(store.saves, 1)
    const later = new Namewharf({ baseUrl: demo.url })
    await later.signIn({ openBrowser: noBrowser, store })
    assert.equal(await masked(later), false)
    // a wider scope needs the person
    await later.signIn({ openBrowser, store, scopes: ['pricing:read', 'domains:write'] })
    assert.equal((await later.domainsPage()).items.length >= 0, true)
    // what is of another service, or junk, counts as nothing
    for (const value of ['junk', '{}', JSON.stringify({ ...JSON.parse(store.value), base: 'http://127.0.0.1:9' })]) {
      assert.match((await failure(later.signIn({ openBrowser: noBrowser, store: memoryStore(value) }))).message, /a browser was opened/)
    }
  })

  it('50 calls at once with a token that ended: one refresh', async () => {
    for (const change of [{ access_token: 'nw_at_ended' }, { expires_at: 1 }]) {
      const store = memoryStore()
      await new Namewharf({ baseUrl: counting.url }).signIn({ openBrowser: allowed, store })
      edit(store, change)
      const again = new Namewharf({ baseUrl: counting.url, batching: false })
      counted()
      await again.signIn({ openBrowser: noBrowser, store })
      const results = await Promise.all(Array.from({ length: 50 }, () => masked(again)))
      assert(results.every((one) => one === false))
      assert.equal(tokens().length, 1)
      assert.equal(store.saves, 2)
    }
  })

  it('works through a proxy on loopback, whose port the service does not know', async () => {
    const proxy = await front((_, __, pass) => pass())
    const store = memoryStore()
    await new Namewharf({ baseUrl: proxy.url }).signIn({ openBrowser, store })
    edit(store, { expires_at: 1 })
    const nw = new Namewharf({ baseUrl: proxy.url })
    await nw.signIn({ openBrowser: noBrowser, store })
    assert.equal(await masked(nw), false)
  })

  it('a rotated refresh token is stored before it is used', async () => {
    const store = memoryStore()
    await new Namewharf({ baseUrl: counting.url }).signIn({ openBrowser: allowed, store })
    edit(store, { access_token: 'nw_at_ended' })
    const nw = new Namewharf({ baseUrl: counting.url })
    await nw.signIn({ openBrowser: noBrowser, store })
    const save = store.save
    store.save = () => { throw new Error('disk full') }
    counted()
    assert.equal((await failure(masked(nw))).message, 'disk full')
    assert.deepEqual(counting.seen.map((r) => r.path), ['/api/domain/search', '/api/oauth/token'])
    store.save = save
    assert.equal(await masked(nw), false, 'the next call stores it')
    assert.equal(tokens().length, 1)
  })

  it('a dead grant clears the store and says so', async () => {
    const store = memoryStore()
    const nw = new Namewharf({ baseUrl: demo.url })
    const session = await nw.signIn({ openBrowser, store })
    const saved = store.value
    await session.signOut()
    store.value = saved
    const later = new Namewharf({ baseUrl: demo.url })
    await later.signIn({ openBrowser: noBrowser, store })
    for (let calls = 0; calls < 2; calls++) {
      const error = await failure(later.price('com').then(() => later.search(forSale)))
      assert.deepEqual([error.code, error.hint], ['signed_out', 'Call signIn() again: it opens the browser.'])
    }
    assert.equal(store.value, undefined)
    await later.signIn({ openBrowser, store })
    assert.equal(await masked(later), false)
  })

  it('a refresh that fails for now loses nothing', async () => {
    const store = memoryStore()
    await new Namewharf({ baseUrl: counting.url }).signIn({ openBrowser: allowed, store })
    edit(store, { access_token: 'nw_at_ended' })
    const nw = new Namewharf({ baseUrl: counting.url, retries: 0 })
    await nw.signIn({ openBrowser: noBrowser, store })
    rule = (request, response, pass) => (request.path === '/api/oauth/token' ? json(response, 503, {}) : pass())
    assert.equal((await failure(masked(nw))).status, 503)
    counted()
    assert.equal(await masked(nw), false)
  })

  it('a call stops at once although a refresh goes on', async () => {
    const store = memoryStore()
    await new Namewharf({ baseUrl: counting.url }).signIn({ openBrowser: allowed, store })
    edit(store, { access_token: 'nw_at_ended' })
    const nw = new Namewharf({ baseUrl: counting.url, batching: false })
    await nw.signIn({ openBrowser: noBrowser, store })
    const stop = new AbortController()
    let release
    rule = (request, _, pass) => {
      if (request.path !== '/api/oauth/token') return pass()
      release = pass
      stop.abort()
    }
    const other = masked(nw)
    assert.equal((await failure(nw.search(forSale, { signal: stop.signal }))).name, 'AbortError')
    release()
    assert.equal(await other, false)
    counted()
  })

  it('a sign-out waits for a refresh', async () => {
    const store = memoryStore()
    await new Namewharf({ baseUrl: counting.url }).signIn({ openBrowser: allowed, store })
    edit(store, { access_token: 'nw_at_ended' })
    const nw = new Namewharf({ baseUrl: counting.url })
    const session = await nw.signIn({ openBrowser: noBrowser, store })
    const refreshing = new Promise((resolve) => {
      rule = (request, _, pass) => (request.path === '/api/oauth/token' ? resolve(pass) : pass())
    })
    const call = masked(nw).catch(() => {})
    const release = await refreshing
    const leaving = session.signOut()
    release()
    await Promise.all([call, leaving])
    counted()
    assert.equal(store.value, undefined)
    assert.equal(await masked(nw), true)
  })

  it('refuses answers that are not those of its request', async () => {
    const nw = new Namewharf({ baseUrl: demo.url })
    const cases = [
      [(back) => back.searchParams.set('iss', 'https://evil.example'), /another authorization server/],
      [(back) => back.searchParams.delete('iss'), /another authorization server/],
      [(back) => { back.searchParams.delete('code'); back.searchParams.set('error', 'access_denied') }, /did not allow it/],
    ]
    for (const [change, message] of cases) {
      const forged = async (url) => {
        const to = new URL(url)
        const back = new URL(to.searchParams.get('redirect_uri'))
        assert.match(back.href, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
        assert.equal(to.searchParams.get('code_challenge_method'), 'S256')
        back.searchParams.set('code', 'nw_ac_x')
        back.searchParams.set('iss', demo.url)
        back.searchParams.set('state', 'wrong') // as a page that guesses would
        assert.equal((await fetch(back)).status, 404, 'another state is not listened to')
        back.searchParams.set('state', to.searchParams.get('state'))
        change(back)
        await fetch(back)
      }
      const error = await failure(nw.signIn({ openBrowser: forged, store: memoryStore() }))
      assert.equal(error.code, 'sign_in_failed')
      assert.match(error.message, message)
    }
    assert.match((await failure(nw.signIn({ openBrowser: () => {}, store: memoryStore(), timeoutMs: 30 }))).message, /in time/)
    const stop = new AbortController()
    assert.equal((await failure(nw.signIn({ openBrowser: () => stop.abort(), store: memoryStore(), signal: stop.signal }))).name, 'AbortError')
    assert.equal((await failure(nw.signIn({ openBrowser, store: memoryStore(), scopes: ['everything'] }))).code, 'sign_in_failed')
  })

  it('refuses a service that sends people elsewhere', async () => {
    const unreachable = 'https://127.0.0.1:9'
    for (const change of [
      { resource: 'https://names.example/api' }, { authorization_servers: [unreachable] }, { authorization_servers: ['http://names.example'] }, { authorization_servers: [] },
      { issuer: 'https://evil.example' }, { token_endpoint: 'http://evil.example/token' }, { authorization_endpoint: 'javascript:alert(1)' }, { code_challenge_methods_supported: ['plain'] },
    ]) {
      const server = await front((_, response, pass) => pass((from) => {
        let text = ''
        from.on('data', (chunk) => (text += chunk)).on('end', () => json(response, 200, { ...JSON.parse(text), authorization_servers: [server.url], issuer: server.url, ...change }))
      }))
      const error = await failure(new Namewharf({ baseUrl: server.url, retries: 0 }).signIn({ openBrowser: noBrowser, store: memoryStore() }))
      assert.equal(error.code, change.authorization_servers?.[0] === unreachable ? 'connection_error' : 'sign_in_failed', `${JSON.stringify(change)}: ${error}`)
    }
  })

  it('the default store is a file that only its user can read', async () => {
    const home = mkdtempSync(join(tmpdir(), 'namewharf-sdk-'))
    const before = process.env.XDG_CONFIG_HOME
    process.env.XDG_CONFIG_HOME = home
    try {
      await new Namewharf({ baseUrl: demo.url }).signIn({ openBrowser })
      const folder = join(home, 'namewharf', 'sdk')
      const [file, ...others] = readdirSync(folder)
      assert.deepEqual(others, [])
      assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600)
      assert.equal(statSync(folder).mode & 0o777, 0o700)
      const later = new Namewharf({ baseUrl: demo.url })
      await later.signIn({ openBrowser: noBrowser })
      assert.equal(await masked(later), false)
    } finally {
      if (before === undefined) delete process.env.XDG_CONFIG_HOME
      else process.env.XDG_CONFIG_HOME = before
      rmSync(home, { recursive: true })
    }
  })

  it('killed between the refresh and the store: the next start says to sign in again', async () => {
    const home = mkdtempSync(join(tmpdir(), 'namewharf-sdk-'))
    const file = join(home, 'mine.json')
    writeFileSync(join(home, 'other.json'), 'of another service')
    const store = sdk.fileStore(file)
    await new Namewharf({ baseUrl: demo.url }).signIn({ openBrowser, store })
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file)), access_token: 'nw_at_ended' }))
    assert.deepEqual(await run('killed.mjs', demo.url, file), { signal: 'SIGKILL', out: '' })
    const next = new Namewharf({ baseUrl: demo.url })
    await next.signIn({ openBrowser: noBrowser, store })
    assert.equal((await failure(masked(next))).code, 'signed_out')
    await next.signIn({ openBrowser, store })
    assert.equal(await masked(next), false)
    assert.equal(readFileSync(join(home, 'other.json'), 'utf8'), 'of another service')
    rmSync(home, { recursive: true })
  })

  it('processes that share a sign-in renew it once', async () => {
    const home = mkdtempSync(join(tmpdir(), 'namewharf-sdk-'))
    const file = join(home, 'mine.json')
    counted()
    await new Namewharf({ baseUrl: counting.url }).signIn({ openBrowser: allowed, store: sdk.fileStore(file) })
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file)), expires_at: 1 }))
    const results = await Promise.all(Array.from({ length: 4 }, () => run('refreshes.mjs', counting.url, file)))
    assert.deepEqual(results.map((r) => r.out), ['false\n', 'false\n', 'false\n', 'false\n'])
    assert.equal(tokens().length, 2, 'the code, and one refresh')
    rmSync(home, { recursive: true })
  })
})

function run(program, ...args) {
  const child = spawn(process.execPath, [new URL(program, import.meta.url).pathname, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  return new Promise((resolve) => child.on('close', (_, signal) => resolve({ signal, out })))
}
