// Every example of README.md runs, each as a program of its own in a directory where the package is installed.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { Namewharf, Partner, startDemo } from './support.mjs'

const demo = await startDemo('-rate-limits', 'off') // the examples sell names

// Referral needs a partner that is linked to an account, which is the operator's to do.
const operator = (...args) => execFileSync(join(dirname(demo.program), 'operator'), [...args, '-data', demo.data], { encoding: 'utf8' })
const id = JSON.parse(operator('partner', 'list', '-json'))[0].partner_id
operator('partner', 'affiliate', '-partner', id, '-email', demo.email)

// There is a statement once a month with a transferred name is settled.
const seller = new Partner({ baseUrl: demo.url, keyId: demo.keyId, secret: demo.secret })
const sold = await seller.createOrder({ quoteId: (await seller.createQuote('amberbay.example')).quote_id })
for (const _ of ['started', 'completed']) await seller.playOrder(sold.public_id, 'advance')
operator('settlement', 'run', '-period', new Date().toISOString().slice(0, 7), '-env', 'sandbox', '-partner', id, '-force')

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const blocks = [...readme.matchAll(/<!-- run -->\n```js\n(.*?)```/gs)].map((match) => match[1])
const hook = 'a secret of sixteen or more'

// The directory is below the one with the installed package, so that its programs find it.
const folder = mkdtempSync(join(dirname(process.env.SDK_ENTRY), 'readme-'))
const bin = join(folder, 'bin')
mkdirSync(bin)
// The person's browser: it signs in and allows what is asked.
writeFileSync(join(bin, 'browser.mjs'), `
  import { Person } from ${JSON.stringify(new URL('../../../internal/conformance/demo.mjs', import.meta.url).href)}
  await new Person(${JSON.stringify(demo.email)}, ${JSON.stringify(demo.password)}).allow(process.argv[2])
`)
writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nexec '${process.execPath}' '${join(bin, 'browser.mjs')}' "$1"\n`)
chmodSync(join(bin, 'xdg-open'), 0o755)
writeFileSync(join(folder, 'names.csv'), 'brewhaven.com,1\ncobaltpine.com,2\n')

const environment = {
  ...process.env, PATH: `${bin}:${process.env.PATH}`, XDG_CONFIG_HOME: folder, PORT: '0',
  NAMEWHARF_BASE_URL: demo.url, NAMEWHARF_KEY_ID: demo.keyId, NAMEWHARF_PARTNER_SECRET: demo.secret, NAMEWHARF_WEBHOOK_SECRET: hook,
}

function program(text, ...args) {
  const file = join(folder, `${Math.random()}.mjs`)
  writeFileSync(file, text)
  const child = spawn(process.execPath, [file, ...args], { cwd: folder, env: environment, timeout: 60_000 })
  child.output = ''
  child.errors = ''
  child.stdout.on('data', (chunk) => (child.output += chunk))
  child.stderr.on('data', (chunk) => (child.errors += chunk))
  child.ended = new Promise((resolve) => child.on('close', (code) => resolve({ code, out: child.output, errors: child.errors })))
  return child
}

const example = (name, ...args) => program(readFileSync(new URL(`../../../examples/sdk/${name}`, import.meta.url), 'utf8'), ...args)

describe('README.md', () => {
  for (const [at, block] of blocks.entries()) {
    const name = `example ${at + 1}`
    if (block.includes('createServer')) {
      it(`${name}: takes webhooks`, async () => {
        const child = program(block.replace("'127.0.0.1')", "'127.0.0.1', () => console.log(server.address().port))"))
        while (!/^\d+\n/.test(child.output)) await new Promise((resolve) => child.stdout.once('data', resolve))
        const body = '{"id":"evt_1","type":"order.recorded"}'
        const time = String(Math.floor(Date.now() / 1000))
        const headers = {
          'x-service-signature': createHmac('sha256', hook).update(body).digest('hex'), 'webhook-id': 'evt_1', 'webhook-timestamp': time,
          'webhook-signature': `v1,${createHmac('sha256', hook).update(`evt_1.${time}.${body}`).digest('base64')}`,
        }
        const url = `http://127.0.0.1:${child.output.trim()}/`
        assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 200)
        assert.equal((await fetch(url, { method: 'POST', headers, body: `${body} ` })).status, 401)
        while (!child.output.includes('evt_1 order.recorded')) await new Promise((resolve) => child.stdout.once('data', resolve))
        child.kill()
      })
      continue
    }
    it(name, async () => {
      const { code, out, errors } = await program(block).ended
      assert.equal(code, 0, errors)
      assert.equal(errors, '')
      if (block.includes('console.log') && !block.includes('before[tld]')) assert.notEqual(out, '')
      if (block.includes('partner.settlements(')) assert.match(out, /^12665 1$/m, 'the statement of 149.00 USD less 15 %')
      if (block.includes('checked.csv')) assert.equal(readFileSync(join(folder, 'checked.csv'), 'utf8'), 'brewhaven.com,registered\ncobaltpine.com,registered\n')
    })
  }

  it('a list of names from a file becomes CSV', async () => {
    writeFileSync(join(folder, 'names.txt'), `brewhaven.com\n\ncobaltpine.com\r\n"x y"\n${Array.from({ length: 250 }, (_, at) => `n${at}.com`).join('\n')}\n`)
    const { code, errors } = await example('check.mjs', 'names.txt', 'out.csv').ended
    assert.equal(code, 0, errors)
    assert.match(errors, /\] 253\/253\n$/)
    const rows = readFileSync(join(folder, 'out.csv'), 'utf8').split('\n')
    assert.deepEqual(rows.slice(0, 3), ['domain,status,price_cents,currency,for_sale', 'brewhaven.com,registered,,,yes', 'cobaltpine.com,registered,,,no'])
    assert.equal(rows.length, 255)
  })

  it('a partner sells a name, once', async () => {
    const sale = await example('sell.mjs', 'brew mill', 'payment-1').ended
    assert.equal(sale.code, 0, sale.errors)
    assert.match(sale.out, /^\S+ costs \d+\.\d\d USD until \S+\nord_\S+  \S+  EXTERNALLY_PAID\n\S+  order\.recorded\n$/)
    const again = await example('sell.mjs', 'brew mill', 'payment-1').ended
    assert.equal(again.out, sale.out.slice(sale.out.indexOf('ord_')))
  })

  it('has an example of every method', () => {
    const all = blocks.join('')
    for (const [of, object] of [[Namewharf, 'nw'], [Partner, 'partner']]) {
      for (let at = of.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
        for (const method of Object.getOwnPropertyNames(at)) {
          if (['constructor', 'send', 'pages'].includes(method)) continue
          assert(all.includes(`${object}.${method}(`), `no example calls ${object}.${method}()`)
        }
      }
    }
    assert(all.includes('Partner.verifyWebhook(') && all.includes('session.signOut(') && all.includes('page.next('))
    assert(blocks.length >= 8)
  })
})

process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
