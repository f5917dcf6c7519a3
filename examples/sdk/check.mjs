#!/usr/bin/env node
// Checks a list of names and writes CSV, in the order of the list: node check.mjs NAMES.txt [OUT.csv]
// NAMES.txt has a name a line, or CSV with the name first. NAMEWHARF_BASE_URL says where the service is. Node 18 or later, after
// npm install namewharf.
import { readFileSync, writeFileSync } from 'node:fs'
import { Namewharf, NamewharfError } from 'namewharf'

const [input, output = '/dev/stdout'] = process.argv.slice(2)
if (!input) {
  console.error('usage: node check.mjs NAMES.txt [OUT.csv]')
  process.exit(2)
}
const lines = readFileSync(input, 'utf8').split(/\r?\n/)
const names = [...new Set(lines.map((line) => line.split(',')[0].trim()).filter(Boolean))]

const width = 40
function progress(done) {
  if (!process.stderr.isTTY && done < names.length) return
  const filled = Math.round((width * done) / (names.length || 1))
  process.stderr.write(`\r[${'#'.repeat(filled)}${' '.repeat(width - filled)}] ${done}/${names.length}${done === names.length ? '\n' : ''}`)
}

const field = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value)
const row = (...fields) => `${fields.map((value) => field(value ?? '')).join(',')}\n`

try {
  const nw = new Namewharf()
  const rows = ['domain,status,price_cents,currency,for_sale\n']
  const step = 200 // what one request takes
  for (let at = 0; at < names.length; at += step) {
    progress(at)
    for (const r of await nw.check(names.slice(at, at + step))) {
      rows.push(row(r.domain, r.status, r.registration?.priceCents, r.registration?.currency, r.listing ? 'yes' : 'no'))
    }
  }
  progress(names.length)
  writeFileSync(output, rows.join(''))
} catch (error) {
  if (!(error instanceof NamewharfError)) throw error
  console.error(`\n${error.message}${error.hint ? `\n${error.hint}` : ''}`)
  process.exitCode = 1
}
