import type { Platform, TokenStore } from './platform.js'

// Modules of Node are loaded when they are needed: node:crypto alone takes half the time that an import may take.
let loaded: typeof import('node:crypto') | undefined
const crypto = async () => (loaded ??= await import('node:crypto'))

export const sha256: Platform['sha256'] = async (data) => (await crypto()).createHash('sha256').update(data).digest()
export const hmac: Platform['hmac'] = async (key, data) => (await crypto()).createHmac('sha256', key).update(data).digest()
export const uuid: Platform['uuid'] = async () => (await crypto()).randomUUID()
export const random: Platform['random'] = async (bytes) => (await crypto()).randomBytes(bytes)

export const interactive = true

export const listen: Platform['listen'] = async (answer) => {
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const text = request.method === 'GET' && url.pathname === '/callback' ? answer(url.searchParams) : undefined
    response.writeHead(text === undefined ? 404 : 200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(`<!doctype html><title>Sign-in</title><p>${text ?? 'There is nothing here.'}</p>`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { port: number }
  return { redirectUri: `http://127.0.0.1:${port}/callback`, close: () => void server.close() }
}

export const openBrowser: Platform['openBrowser'] = async (url) => {
  const { spawn } = await import('node:child_process')
  const [command, ...args] =
    process.platform === 'darwin' ? ['open', url] : process.platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler', url] : ['xdg-open', url]
  await new Promise<void>((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true })
    child.once('error', reject)
    child.once('spawn', () => {
      child.unref()
      resolve()
    })
  })
}

export const print: Platform['print'] = (text) => console.error(text)

export const programName: Platform['programName'] = () => {
  const file = process.argv[1]?.split(/[\\/]/).pop()
  return file?.replace(/\.[cm]?[jt]sx?$/, '') || 'node'
}

export const storePath: Platform['storePath'] = (origin) => {
  const { env, platform } = process
  const home = env.HOME ?? env.USERPROFILE ?? '.'
  const base =
    env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME
    : platform === 'win32' ? (env.APPDATA ?? `${home}/AppData/Roaming`)
    : platform === 'darwin' ? `${home}/Library/Application Support`
    : `${home}/.config`
  return `${base}/namewharf/sdk/${origin.replace(/^https?:\/\//, '').replace(/[^\w.-]/g, '_')}.json`
}

export const fileStore: Platform['fileStore'] = (path): TokenStore => {
  const fs = () => import('node:fs/promises')
  const missing = (error: unknown) => (error as { code?: string }).code === 'ENOENT'
  const directory = path.replace(/[\\/][^\\/]*$/, '')
  const makeDirectory = async () => {
    if (directory !== path && directory !== '') await (await fs()).mkdir(directory, { recursive: true, mode: 0o700 })
  }
  return {
    async load() {
      try {
        return await (await fs()).readFile(path, 'utf8')
      } catch (error) {
        if (missing(error)) return undefined
        throw error
      }
    },
    async save(value) {
      const { open, rename } = await fs()
      await makeDirectory()
      const next = `${path}.${process.pid}.new` // a reader sees the whole of one or the other
      const file = await open(next, 'w', 0o600)
      try {
        await file.chmod(0o600)
        await file.writeFile(value)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(next, path)
    },
    async clear() {
      await (await fs()).rm(path, { force: true })
    },
    async lock() {
      await makeDirectory()
      return lockFile(`${path}.lock`)
    },
  }
}

const lockTime = 40_000 // milliseconds to wait for other processes
const lockPoll = 50

/** Takes a lock file, which names its process: that of a process that ended is taken over. */
async function lockFile(path: string): Promise<() => Promise<void>> {
  const { readFile, rm, writeFile } = await import('node:fs/promises')
  const until = Date.now() + lockTime
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 })
      return () => rm(path, { force: true })
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error
    }
    const owner = Number(await readFile(path, 'utf8').catch(() => ''))
    if (owner > 0 && !runs(owner)) await rm(path, { force: true })
    else if (Date.now() > until) throw new Error(`another program has locked the sign-in: remove ${path} if none runs`)
    else await new Promise((resolve) => setTimeout(resolve, lockPoll))
  }
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
