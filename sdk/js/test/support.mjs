// What the tests share: the SDK as it is installed from its tarball, the demo of the built server, and small servers in front
// of it that fail.
import { spawn } from 'node:child_process'
import { createServer, request as send } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Person } from '../../../internal/conformance/demo.mjs'

// The module under test: run.mjs installs the tarball and says where, as an ES module and as CommonJS. By hand, what is built.
process.env.SDK_ENTRY ??= fileURLToPath(new URL('../dist/esm/index.js', import.meta.url))
export const sdk = await import(process.env.SDK_ENTRY)
export const { Namewharf, Partner, NamewharfError, ConnectionError, TimeoutError } = sdk

/** startDemo runs the built server until this process ends. */
export async function startDemo(...flags) {
  const program = process.env.SERVER ?? fileURLToPath(new URL('../../../bin/publicapi', import.meta.url))
  const server = spawn(program, ['-demo', '-addr', '127.0.0.1:0', ...flags], { stdio: ['ignore', 'pipe', 'ignore'] })
  process.on('exit', () => server.kill())
  const demo = { program }
  for await (const line of createInterface({ input: server.stdout })) {
    demo.url ??= line.match(/^listening on (http:\S+)$/)?.[1]
    const account = line.match(/ e-mail (\S+) +password (\S+)$/)
    if (account) Object.assign(demo, { person: new Person(account[1], account[2]), email: account[1], password: account[2] })
    const credential = line.match(/ key (\S+) +secret (\S+)/)
    if (credential) Object.assign(demo, { keyId: credential[1], secret: credential[2] })
    demo.data ??= line.match(/^ +store +-data (\S+)/)?.[1]
    if (demo.data) break
  }
  if (!demo.data) throw new Error(`${program} ended`)
  server.stdout.resume()
  server.unref()
  server.stdout.unref?.()
  return demo
}

/** demo is the one that tests share; it has no rate limits. */
export const demo = await startDemo('-rate-limits', 'off')

/** front is a server between the SDK and the demo. answer gets each request with its body and a function that passes it on. */
export async function front(answer) {
  const seen = []
  const front = { seen } // with an origin: of another demo that knows itself by the address of this server
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const entry = { method: request.method, url: request.url, path: request.url.split('?')[0], headers: request.headers, body: body.toString() }
      seen.push(entry)
      const pass = (change) => {
        const headers = front.origin ? request.headers : { ...request.headers, host: new URL(demo.url).host }
        const onward = send((front.origin ?? demo.url) + request.url, { method: request.method, headers }, (from) => {
          if (change) return change(from)
          response.writeHead(from.statusCode, from.headers)
          from.pipe(response)
        })
        onward.on('error', () => response.destroy())
        response.on('close', () => onward.destroy())
        onward.end(body)
      }
      answer(entry, response, pass, seen.length)
    })
  })
  server.on('clientError', (_, socket) => socket.destroy())
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  server.unref()
  front.url = `http://127.0.0.1:${server.address().port}`
  return front
}

/** eventually waits for an event at a server, with a limit. The servers are unreferenced: they do not prolong this process. */
export function eventually(promise) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, 20_000, new Error('it did not happen'))
    promise.then((value) => {
      clearTimeout(timer)
      resolve(value)
    }, reject)
  })
}

/** json answers as the service does. */
export function json(response, status, value, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(value))
}

export const price = { tld: 'com', op: 'register', priceCents: 1088, currency: 'USD', term_years: 1, as_of: '2026-01-01' }

/** memoryStore keeps a sign-in in memory, and counts. */
export function memoryStore(value) {
  const store = { value, saves: 0, clears: 0 }
  store.load = () => store.value
  store.save = (next) => { store.value = next; store.saves++ }
  store.clear = () => { store.value = undefined; store.clears++ }
  return store
}

/** failure is what a promise is rejected with. */
export async function failure(promise) {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it succeeded')
}

export async function collect(iterable, most = Infinity) {
  const all = []
  for await (const one of iterable) {
    all.push(one)
    if (all.length >= most) break
  }
  return all
}
