import type { Platform } from './platform.js'

const bytes = (data: string | Uint8Array) => (typeof data === 'string' ? new TextEncoder().encode(data) : data) as Uint8Array<ArrayBuffer>

export const sha256: Platform['sha256'] = async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes(data)))

export const hmac: Platform['hmac'] = async (key, data) => {
  const imported = await crypto.subtle.importKey('raw', bytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytes(data)))
}

export const uuid: Platform['uuid'] = async () => crypto.randomUUID()
export const random: Platform['random'] = async (count) => crypto.getRandomValues(new Uint8Array(count))

export const interactive = false

const missing = (): never => {
  throw new Error('not in a browser')
}

export const listen: Platform['listen'] = async () => missing()
export const openBrowser: Platform['openBrowser'] = async () => missing()
export const print: Platform['print'] = missing
export const programName: Platform['programName'] = missing
export const fileStore: Platform['fileStore'] = missing
export const storePath: Platform['storePath'] = missing
