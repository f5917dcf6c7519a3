// What the SDK costs beside raw fetch, side by side in one run: SERVER=…/publicapi SDK_ENTRY=…/entry.mjs node speed.mjs
// CPU is of this process alone. Every figure is the median of several interleaved runs.
import { execFileSync } from 'node:child_process'
import { Namewharf, demo } from './support.mjs'

const runs = 7
const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1]

async function measure(run) {
  const cpu = process.cpuUsage()
  const began = performance.now()
  await run()
  const used = process.cpuUsage(cpu)
  return { ms: performance.now() - began, cpu: (used.user + used.system) / 1000 }
}

async function compare(all) {
  const seen = Object.fromEntries(Object.keys(all).map((name) => [name, []]))
  for (const run of Object.values(all)) await run() // once unmeasured
  for (let turn = 0; turn < runs; turn++) for (const [name, run] of Object.entries(all)) seen[name].push(await measure(run))
  return Object.fromEntries(Object.entries(seen).map(([name, list]) => [name, { ms: median(list.map((m) => m.ms)), cpu: median(list.map((m) => m.cpu)) }]))
}

const calls = 1000
const url = `${demo.url}/api/pricing/tld?tld=com`
const nw = new Namewharf({ baseUrl: demo.url })
const one = await compare({
  'raw fetch': async () => { for (let i = 0; i < calls; i++) await (await fetch(url)).json() },
  'nw.price()': async () => { for (let i = 0; i < calls; i++) await nw.price('com') },
})
console.log(`${calls} calls, one after the other`)
for (const [name, m] of Object.entries(one)) console.log(`  ${name.padEnd(14)} ${m.ms.toFixed(0)} ms, ${m.cpu.toFixed(0)} ms CPU`)
console.log(`  overhead ${((one['nw.price()'].cpu / one['raw fetch'].cpu - 1) * 100).toFixed(1)} % CPU, ${((one['nw.price()'].ms / one['raw fetch'].ms - 1) * 100).toFixed(1)} % time`)

const names = Array.from({ length: calls }, (_, at) => `name-${at % 500}.com`)
const whois = (domain) => fetch(`${demo.url}/api/tools/whois`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ domain }) })
async function byHand(at) {
  const operations = names.slice(at, at + 20).map((domain, id) => ({ id: String(id), op: 'whois_lookup', params: { domain } }))
  return (await (await fetch(`${demo.url}/api/batch`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ operations }) })).json()).results
}
const many = await compare({
  'single calls': async () => { for (const name of names) await (await whois(name)).json() },
  'by hand': async () => {
    const starts = Array.from({ length: calls / 20 }, (_, at) => at * 20)
    await Promise.all(Array.from({ length: 8 }, async () => { while (starts.length > 0) await byHand(starts.shift()) }))
  },
  'nw.whois()': () => Promise.all(names.map((name) => nw.whois(name))),
})
console.log(`${calls} look-ups`)
for (const [name, m] of Object.entries(many)) console.log(`  ${name.padEnd(14)} ${m.ms.toFixed(0)} ms, ${m.cpu.toFixed(0)} ms CPU`)
console.log(`  ${(many['single calls'].ms / many['nw.whois()'].ms).toFixed(1)} times as fast as single calls, ${((many['nw.whois()'].ms / many['by hand'].ms - 1) * 100).toFixed(1)} % slower than by hand`)

for (const entry of [process.env.SDK_ENTRY, process.env.SDK_ENTRY.replace(/mjs$/, 'cjs')]) {
  const load = entry.endsWith('cjs') ? `require(${JSON.stringify(entry)})` : `await import(${JSON.stringify(entry)})`
  const script = `const c = process.cpuUsage(), t = performance.now(); ${load}; const u = process.cpuUsage(c); console.log(performance.now() - t, (u.user + u.system) / 1000)`
  const all = Array.from({ length: 15 }, () => execFileSync(process.execPath, ['--input-type', entry.endsWith('cjs') ? 'commonjs' : 'module', '-e', script], { encoding: 'utf8' }).split(' ').map(Number))
  console.log(`import, ${entry.slice(-3)}: ${median(all.map(([ms]) => ms)).toFixed(1)} ms, ${median(all.map(([, cpu]) => cpu)).toFixed(1)} ms CPU, best ${Math.min(...all.map(([ms]) => ms)).toFixed(1)} ms`)
}
process.exit()
