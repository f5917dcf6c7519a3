// One of several processes that share a sign-in whose token has ended: refreshes.mjs URL FILE
const { Namewharf, fileStore } = await import(process.env.SDK_ENTRY)
const [url, file] = process.argv.slice(2)
const nw = new Namewharf({ baseUrl: url })
await nw.signIn({ store: fileStore(file), openBrowser: () => { throw new Error('a browser was opened') } })
console.log((await nw.search('brewhaven.com', { tlds: ['com'] })).prices_masked)
