// The SDK in a page of Chromium, at another origin than the service. The page says how it went with a POST.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Namewharf, demo, front, memoryStore } from './support.mjs'

const session = await new Namewharf({ baseUrl: demo.url }).signIn({ store: memoryStore(), openBrowser: (url) => demo.person.allow(url) })
const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*', 'access-control-expose-headers': 'Retry-After' }
const other = await front((request, response) => response.writeHead(200, { ...cors, 'content-type': 'application/json' }).end('{}'))
const redirects = await front((request, response) => response.writeHead(request.method === 'OPTIONS' ? 204 : 307, { ...cors, location: `${other.url}/` }).end())
const busy = await front((request, response, pass, number) => (number === 1 ? response.writeHead(429, { ...cors, 'retry-after': '1' }).end() : pass()))

const page = `<!doctype html><script type="module">
import { Namewharf, NamewharfError, Partner } from './sdk.js'
const at = ${JSON.stringify({ demo: demo.url, token: await session.token(), redirects: redirects.url, busy: busy.url })}
const failure = (run) => Promise.resolve().then(run).then(() => { throw new Error('it succeeded') }, (error) => error)
const equal = (got, want) => { if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(JSON.stringify(got) + ' is not ' + JSON.stringify(want)) }
const tests = {
  async 'a call'() { equal((await new Namewharf({ baseUrl: at.demo }).price('com')).tld, 'com') },
  async 'calls together are one request'() {
    performance.clearResourceTimings()
    const nw = new Namewharf({ baseUrl: at.demo })
    await Promise.all([nw.price('com'), nw.price('net'), nw.whois('cobaltpine.com')])
    equal(performance.getEntriesByType('resource').filter((e) => e.name.startsWith(at.demo)).map((e) => new URL(e.name).pathname), ['/api/batch'])
  },
  async 'a stream'() {
    const tlds = []
    for await (const r of new Namewharf({ baseUrl: at.demo }).searchStream('brewhaven', { tlds: ['com', 'net'] })) tlds.push(r.tld)
    equal(tlds.sort(), ['com', 'net'])
  },
  async 'paging'() {
    let seen = 0
    for await (const l of new Namewharf({ baseUrl: at.demo }).listings({ limit: 2 })) if (++seen === 5) break
    equal(seen, 5)
  },
  async 'a token shows real prices'() {
    const nw = new Namewharf({ baseUrl: at.demo, token: at.token })
    equal((await nw.search('brewhaven.com', { tlds: ['com'] })).prices_masked, false)
  },
  async 'a token follows no redirect'() {
    const error = await failure(() => new Namewharf({ baseUrl: at.redirects, token: at.token, retries: 0 }).price('com'))
    equal(error.code, 'connection_error')
  },
  async 'a redirect to another origin is refused'() {
    equal((await failure(() => new Namewharf({ baseUrl: at.redirects, retries: 0 }).price('com'))).code, 'redirect_refused')
  },
  async 'Retry-After'() {
    const began = performance.now()
    equal((await new Namewharf({ baseUrl: at.busy }).price('com')).tld, 'com')
    if (performance.now() - began < 990) throw new Error('it did not wait')
  },
  async 'a signal'() {
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 1)
    equal((await failure(() => new Namewharf({ baseUrl: at.demo }).search('coffee shop berlin', { signal: stop.signal, timeoutMs: 9000 }))).name, 'AbortError')
  },
  async 'an error of the server'() {
    const error = await failure(() => new Namewharf({ baseUrl: at.demo }).whois('a b'))
    equal([error instanceof NamewharfError, error.code, error.status, !!error.requestId], [true, 'validation_error', 400, true])
  },
  async 'secrets are refused'() { equal((await failure(() => new Partner({ baseUrl: at.demo, keyId: 'a', secret: 'b' }))).code, 'unsupported') },
  async 'signing in needs a program'() { equal((await failure(() => new Namewharf({ baseUrl: at.demo }).signIn({ store: { load() {}, save() {}, clear() {} } }))).code, 'unsupported') },
}
const failed = []
for (const [name, test] of Object.entries(tests)) await test().catch((error) => failed.push(name + ': ' + error))
await fetch('/done', { method: 'POST', body: JSON.stringify({ failed, ran: Object.keys(tests).length }) })
</script>`

const done = new Promise((resolve) => {
  const server = createServer((request, response) => {
    if (request.url === '/done') {
      let body = ''
      request.on('data', (chunk) => (body += chunk)).on('end', () => resolve(JSON.parse(body)))
      return response.end()
    }
    const script = request.url === '/sdk.js'
    response.writeHead(200, { 'content-type': script ? 'text/javascript' : 'text/html' })
    response.end(script ? readFileSync(process.env.BUNDLE) : page)
  })
  server.listen(0, '127.0.0.1', () => browse(`http://127.0.0.1:${server.address().port}/`))
})

function browse(url) {
  const profile = mkdtempSync(join(tmpdir(), 'namewharf-chromium-'))
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', `--user-data-dir=${profile}`, '--remote-debugging-port=0']
  const chromium = spawn('chromium', [...flags, url], { stdio: 'ignore', detached: true })
  process.on('exit', () => {
    try {
      process.kill(-chromium.pid, 'SIGKILL')
    } catch {
      // it has ended
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  })
}

const { failed, ran } = await done
for (const line of failed) console.error(line)
if (other.seen.some((request) => request.headers.authorization)) failed.push('a token went to another origin')
console.log(`${ran - failed.length} of ${ran} in the page`)
process.exit(failed.length > 0 ? 1 : 0)
