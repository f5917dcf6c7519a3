// A program that is killed after the service has renewed its sign-in and before the new tokens are stored: killed.mjs URL FILE
import { writeFileSync } from 'node:fs'

const { Namewharf, fileStore } = await import(process.env.SDK_ENTRY)
const [url, file] = process.argv.slice(2)
const store = fileStore(file)
store.save = () => process.kill(process.pid, 'SIGKILL')
const nw = new Namewharf({ baseUrl: url })
await nw.signIn({ store, openBrowser: () => { throw new Error('a browser was opened') } })
await nw.search('brewhaven.com')
writeFileSync(1, 'not killed\n')
