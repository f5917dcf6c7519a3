import { NamewharfError } from './errors.js'
import type { Platform } from './platform.js'

const bytes = (data: string | Uint8Array) => (typeof data === 'string' ? new TextEncoder().encode(data) : data) as Uint8Array<ArrayBuffer>

export const sha256: Platform['sha256'] = async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes(data)))

export const hmac: Platform['hmac'] = async (key, data) => {
  const imported = await crypto.subtle.importKey('raw', bytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytes(data)))
}

export const uuid: Platform['uuid'] = () => crypto.randomUUID()
export const random: Platform['random'] = (count) => crypto.getRandomValues(new Uint8Array(count))

const missing = (): never => {
  throw new NamewharfError('unsupported', 'signing in by a loopback redirect needs Node, Deno or Bun', { hint: 'Here, give the client a token.' })
}

export const listen: Platform['listen'] = async () => missing()
export const openBrowser: Platform['openBrowser'] = async () => missing()
export const tell: Platform['tell'] = (text) => console.error(text)
export const programName: Platform['programName'] = () => 'web'
export const fileStore: Platform['fileStore'] = () => missing()
export const storePath: Platform['storePath'] = () => missing()
