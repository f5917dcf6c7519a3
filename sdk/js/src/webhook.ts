import * as platform from '#platform'
import { NamewharfError, refuse } from './errors.js'
import type { PartnerEvent } from './generated/types.js'
import { hex } from './signature.js'

/** The headers of a delivery: of Node, of the web, or a plain object. */
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>

const tolerance = 300 // seconds

/** See {@link Partner.verifyWebhook}. */
export async function verifyWebhook(headers: WebhookHeaders, rawBody: string | Uint8Array | ArrayBuffer, secret: string | string[]): Promise<PartnerEvent> {
  const body = bytesOf(rawBody)
  const secrets = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0 || secrets.some((one) => typeof one !== 'string' || one === '')) throw refuse('secret', 'is required')
  const get = reader(headers)
  const id = get('webhook-id')
  const timestamp = get('webhook-timestamp')
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance) {
    throw invalid('webhook-timestamp is missing, or more than 5 minutes away')
  }
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  let good = false
  for (const one of secrets) { // all of them, so that the time taken does not say which
    const ofBody = equal(hex(await platform.hmac(one, body)), get('x-service-signature'))
    const want = `v1,${base64(await platform.hmac(standardKey(one), signed))}`
    const ofTime = get('webhook-signature').split(' ').filter((given) => equal(want, given)).length > 0
    good = (ofBody && ofTime) || good
  }
  if (!good) throw invalid('a signature does not match: verify the bytes of the body as they came, with the secret that was registered')
  let event
  try {
    event = JSON.parse(new TextDecoder().decode(body)) as PartnerEvent
  } catch {
    event = undefined
  }
  if (typeof event?.id !== 'string' || typeof event.type !== 'string') throw invalid('the body is no event')
  return event
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  throw refuse('rawBody', 'must be the body as it came: a text or bytes, not what was parsed from it')
}

function reader(headers: WebhookHeaders): (name: string) => string {
  if (typeof (headers as Headers)?.get === 'function') return (name) => (headers as Headers).get(name) ?? ''
  const all = new Map<string, string>()
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined) all.set(name.toLowerCase(), Array.isArray(value) ? value.join(', ') : String(value))
  }
  return (name) => all.get(name) ?? ''
}

/** What Standard Webhooks keys with: the base64 after whsec_, or else the secret itself. */
function standardKey(secret: string): string | Uint8Array {
  const coded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)
  return coded ? Uint8Array.from(atob(coded[1]), (c) => c.charCodeAt(0)) : secret
}

/** Compares in a time that depends on the lengths alone. */
function equal(want: string, given: string): boolean {
  let difference = want.length ^ given.length
  for (let at = 0; at < want.length; at++) difference |= want.charCodeAt(at) ^ given.charCodeAt(at % (given.length || 1))
  return difference === 0
}

const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))

const invalid = (why: string) => new NamewharfError('invalid_webhook', why)
