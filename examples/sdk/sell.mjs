#!/usr/bin/env node
// Sells a name as a partner: node sell.mjs WORDS REFERENCE
// It finds a name for the words, locks its price, records the sale under your payment reference and shows its events. A second
// run with the same reference sells nothing again. NAMEWHARF_BASE_URL, NAMEWHARF_KEY_ID and NAMEWHARF_PARTNER_SECRET are read from
// the environment. Node 18 or later, after npm install namewharf.
import { NamewharfError, Partner } from 'namewharf'

const [words, reference] = process.argv.slice(2)
if (!reference) {
  console.error('usage: node sell.mjs WORDS REFERENCE')
  process.exit(2)
}

try {
  const partner = new Partner({ keyId: process.env.NAMEWHARF_KEY_ID, secret: process.env.NAMEWHARF_PARTNER_SECRET })
  const sold = await find(partner.orders(), (order) => order.external_payment_ref === reference)
  const order = sold ?? (await sell(partner))
  if (!order) {
    console.error('no name for sale fits')
    process.exit(1)
  }
  console.log(`${order.public_id}  ${order.domain}  ${order.status}`)
  for await (const event of partner.events()) {
    if (event.data.order?.public_id === order.public_id) console.log(`${event.created_at}  ${event.type}`)
  }
} catch (error) {
  if (!(error instanceof NamewharfError)) throw error
  console.error(`${error.message}${error.hint ? `\n${error.hint}` : ''}`)
  process.exitCode = 1
}

async function sell(partner) {
  const { results } = await partner.searchDomains(words)
  if (results.length === 0) return undefined
  const quote = await partner.createQuote(results[0].domain)
  console.log(`${quote.domain} costs ${(quote.price_cents / 100).toFixed(2)} ${quote.currency} until ${quote.expires_at}`)
  // Charge your buyer here, then record the sale.
  return partner.createOrder({ quoteId: quote.quote_id, externalPaymentRef: reference }, { idempotencyKey: reference })
}

async function find(list, wanted) {
  for await (const one of list) if (wanted(one)) return one
  return undefined
}
