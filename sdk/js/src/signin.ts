import * as platform from '#platform'
import { onAbort } from './abort.js'
import { NamewharfError, unsupported } from './errors.js'
import { encode, json } from './operation.js'
import type { TokenStore } from './platform.js'
import type { Outgoing, Transport } from './transport.js'

/** How to sign in. */
export interface SignInOptions {
  /** What to ask for; `['pricing:read']` when left out. `domains:write` is for the account's own names. */
  scopes?: string[]
  /**
   * Takes the person to an address: a function that is given it, `true` for the system's browser, `false` to print the
   * address on standard error. `true` when left out.
   */
  openBrowser?: boolean | ((url: string) => unknown)
  /** Where the sign-in is stored; a file of mode 0600 in the user's configuration directory when left out. */
  store?: TokenStore
  /** What the consent page calls this program; the file name of the program when left out. */
  clientName?: string
  /** How long to wait for the person, in milliseconds; five minutes when left out. */
  timeoutMs?: number
  /** Gives the sign-in up. */
  signal?: AbortSignal
}

interface Grant {
  base: string // of the service, as the client knows it
  resource: string // as the service calls its API
  client_id: string
  token_endpoint: string
  revocation_endpoint?: string
  access_token: string
  refresh_token: string
  expires_at: number // milliseconds since 1970
  scope: string
}

interface Server {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  registration_endpoint: string
  revocation_endpoint?: string
  code_challenge_methods_supported?: string[]
}

interface Tokens {
  access_token: string
  refresh_token?: string
  expires_in?: number
  scope?: string
}

const leeway = 5000 // milliseconds before its end that an access token counts as ended
const signInTime = 5 * 60_000
const registrationLife = 6 * 24 * 3600_000 // the service deletes one without a live grant after seven days

/** A sign-in, which {@link Namewharf} uses for its calls. Tokens are renewed by themselves. */
export class Session {
  readonly #transport: Transport
  readonly #store: TokenStore
  readonly #left: () => void
  #grant: Grant | undefined
  #renewing: Promise<boolean> | undefined
  #unsaved: Grant | undefined

  /** @internal */
  constructor(transport: Transport, store: TokenStore, grant: Grant, left: () => void) {
    this.#left = left
    this.#transport = transport
    this.#store = store
    this.#grant = grant
  }

  /** What the person allowed. */
  get scopes(): string[] {
    return (this.#grant?.scope ?? '').split(' ').filter(Boolean)
  }

  /** The access token, for requests of your own. It is renewed first if it has ended. */
  async token(): Promise<string> {
    if (this.#grant && Date.now() > this.#grant.expires_at - leeway) await this.renew(this.#grant.access_token)
    if (!this.#grant) throw signedOut()
    return this.#grant.access_token
  }

  /** Revokes the sign-in and clears its store. The client goes on without one. */
  async signOut(): Promise<void> {
    await this.#renewing?.catch(() => {}) // it would store its tokens again
    const grant = this.#grant
    this.#grant = undefined
    this.#left()
    await this.#store.clear()
    if (grant?.revocation_endpoint) {
      await post(this.#transport, grant.revocation_endpoint, { token: grant.refresh_token, client_id: grant.client_id }, true).catch((error) => {
        if (error.code !== 'invalid_response') throw error // an empty answer says that it is done
      })
    }
  }

  /**
   * Replaces an access token that was refused. However many calls ask, one request goes out. False: there is no other.
   * @internal
   */
  renew(refused: string): Promise<boolean> {
    if (this.#grant && this.#grant.access_token !== refused) return Promise.resolve(true)
    return (this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined)))
  }

  async #lock(): Promise<undefined | (() => void | Promise<void>)> {
    try {
      return await this.#store.lock?.()
    } catch (error) {
      throw failed((error as Error).message)
    }
  }

  async #renew(): Promise<boolean> {
    const before = this.#grant
    if (!before) throw signedOut()
    const unlock = await this.#lock()
    try {
      if (this.#unsaved) return await this.#save(this.#unsaved)
      const stored = parse(await this.#store.load(), before.base)
      if (stored && stored.refresh_token !== before.refresh_token) { // another process was first
        this.#grant = stored
        if (Date.now() < stored.expires_at - leeway) return true
      }
      const grant = this.#grant ?? before
      const form = { grant_type: 'refresh_token', refresh_token: grant.refresh_token, client_id: grant.client_id, resource: grant.resource }
      let tokens
      try {
        tokens = await post<Tokens>(this.#transport, grant.token_endpoint, form, true)
      } catch (error) {
        if (!['invalid_grant', 'invalid_client'].includes((error as NamewharfError).code)) throw error
        this.#grant = undefined
        await this.#store.clear()
        throw signedOut(error)
      }
      return await this.#save(granted(grant, tokens))
    } finally {
      await unlock?.()
    }
  }

  /** Stores a grant before it is used: a refresh token works once. If that fails, the next call tries it again. */
  async #save(grant: Grant): Promise<true> {
    this.#unsaved = grant
    await this.#store.save(json(grant))
    this.#unsaved = undefined
    this.#grant = grant
    return true
  }
}

/** Signs in, or goes on with what the store has. */
export async function signIn(transport: Transport, options: SignInOptions, left: () => void): Promise<Session> {
  if (!platform.interactive) throw unsupported('signing in by a loopback redirect')
  const scopes = options.scopes ?? ['pricing:read']
  const store = options.store ?? platform.fileStore(platform.storePath(transport.origin))
  const stored = parse(await store.load(), transport.base)
  if (stored && scopes.every((scope) => stored.scope.split(' ').includes(scope))) {
    const session = new Session(transport, store, stored, left)
    await session.token() // says so when the sign-in has ended
    return session
  }
  const server = await discover(transport)
  let finish: (query: URLSearchParams) => void
  const answered = new Promise<URLSearchParams>((resolve) => (finish = resolve))
  const state = base64url(await platform.random(32))
  const loopback = await platform.listen((query) => {
    if (query.get('state') !== state) return undefined
    finish(query)
    return query.has('code') ? 'You are signed in. You can close this page.' : 'You are not signed in. You can close this page.'
  })
  try {
    const known = stored?.token_endpoint === server.token_endpoint && Date.now() - stored.expires_at < registrationLife
    const { client_id } = known ? stored : await register(transport, server, (options.clientName ?? platform.programName()).slice(0, 100))
    const verifier = base64url(await platform.random(32))
    const to = new URL(server.authorization_endpoint)
    const query = {
      response_type: 'code', client_id, redirect_uri: loopback.redirectUri, scope: scopes.join(' '), state, resource: server.resource,
      code_challenge: base64url(await platform.sha256(verifier)), code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(query)) to.searchParams.set(name, value)
    await show(to.href, options.openBrowser ?? true)
    const answer = await within(answered, options.timeoutMs ?? signInTime, options.signal)
    if (answer.get('iss') !== server.issuer) throw failed('the answer is of another authorization server')
    const code = answer.get('code')
    if (!code) throw failed(answer.get('error') === 'access_denied' ? 'the person did not allow it' : 'the authorization server refused', answer.get('error') ?? undefined)
    const form = { grant_type: 'authorization_code', code, redirect_uri: loopback.redirectUri, client_id, code_verifier: verifier, resource: server.resource }
    const tokens = await post<Tokens>(transport, server.token_endpoint, form, false)
    const { resource, token_endpoint, revocation_endpoint } = server
    const empty: Grant = { base: transport.base, resource, client_id, token_endpoint, revocation_endpoint, access_token: '', refresh_token: '', expires_at: 0, scope: scopes.join(' ') }
    const grant = granted(empty, tokens)
    await store.save(json(grant))
    return new Session(transport, store, grant, left)
  } finally {
    loopback.close()
  }
}

/** Finds the authorization server of the API (RFC 9728, RFC 8414). */
async function discover(transport: Transport): Promise<Server & { resource: string }> {
  const resource = `${transport.base}/api`
  const about = await get<{ resource?: string; authorization_servers?: string[] }>(transport, wellKnown(resource, 'oauth-protected-resource'))
  const named = about.resource ?? ''
  // A proxy on loopback, as developers use them, may have another port than the service names.
  if (named !== resource && !(loopbackHost(named) && loopbackHost(resource))) {
    throw failed(`the service calls itself ${named.slice(0, 200)}: give the base URL that belongs to it`)
  }
  const issuer = about.authorization_servers?.[0] ?? ''
  const server = await get<Server>(transport, wellKnown(issuer, 'oauth-authorization-server'))
  if (server.issuer !== issuer) throw failed('the authorization server calls itself otherwise')
  for (const endpoint of [server.authorization_endpoint, server.token_endpoint, server.registration_endpoint]) wellKnown(endpoint, '')
  if (!server.code_challenge_methods_supported?.includes('S256')) throw failed('the authorization server does not know PKCE with S256')
  return { ...server, resource: named }
}

/** The metadata address of an https URL, or an http one on loopback. */
function wellKnown(of: string, document: string): string {
  let url
  try {
    url = new URL(of)
  } catch {
    throw failed('the service names no address of its authorization server')
  }
  if (url.protocol !== 'https:' && !loopbackHost(of)) throw failed(`${url.origin} is not safe to sign in at: it needs https`)
  return `${url.origin}/.well-known/${document}${url.pathname.replace(/\/$/, '')}`
}

function loopbackHost(address: string): boolean {
  return /^https?:\/\/(127(\.\d+){3}|localhost|\[::1\])(:\d+)?(\/|$)/.test(address)
}

/** Registers this program (RFC 7591). A loopback redirect is good for any port (RFC 8252, section 7.3). */
function register(transport: Transport, server: Server, name: string): Promise<{ client_id: string }> {
  const body = {
    client_name: name, redirect_uris: ['http://127.0.0.1/callback'], token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
  }
  return transport.json({ ...request(server.registration_endpoint, true), method: 'POST', body: json(body) })
}

const request = (target: string, repeatable: boolean): Outgoing => ({ method: 'GET', target, repeatable, options: {} })

const get = <T>(transport: Transport, target: string) => transport.json<T>(request(target, true))

function post<T>(transport: Transport, target: string, form: Record<string, string>, repeatable: boolean): Promise<T> {
  const body = Object.entries(form).map(([name, value]) => `${name}=${encode(value)}`).join('&')
  return transport.json<T>({ ...request(target, repeatable), method: 'POST', body, contentType: 'application/x-www-form-urlencoded' })
}

function granted(grant: Grant, tokens: Tokens): Grant {
  if (typeof tokens.access_token !== 'string' || !tokens.access_token) throw failed('the authorization server gave no token')
  return {
    ...grant,
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token ?? grant.refresh_token,
    expires_at: Date.now() + (tokens.expires_in ?? 1800) * 1000,
    scope: tokens.scope ?? grant.scope,
  }
}

/** Reads the value of a store; undefined if it is of another service. */
function parse(value: unknown, base: string): Grant | undefined {
  let grant: Partial<Grant> | undefined
  try {
    grant = typeof value === 'string' ? JSON.parse(value) : (value as Partial<Grant> | undefined)
  } catch {
    return undefined
  }
  const texts = [grant?.resource, grant?.access_token, grant?.refresh_token, grant?.client_id, grant?.token_endpoint, grant?.scope]
  return grant?.base === base && texts.every((text) => typeof text === 'string') ? { ...(grant as Grant), expires_at: Number(grant.expires_at) || 0 } : undefined
}

async function show(url: string, open: boolean | ((url: string) => unknown)): Promise<void> {
  if (typeof open === 'function') return void (await open(url))
  if (open) {
    try {
      return await platform.openBrowser(url)
    } catch {
      // there is none: print it
    }
  }
  platform.print(`To sign in, open ${url}`)
}

async function within<T>(answer: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted()
  let end = () => {}
  const given = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(failed('no answer came in time')), ms)
    const forget = onAbort(signal, () => reject(signal?.reason))
    end = () => {
      clearTimeout(timer)
      forget()
    }
  })
  try {
    return await Promise.race([answer, given])
  } finally {
    end()
  }
}

const base64url = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (c) => (({ '+': '-', '/': '_' }) as Record<string, string>)[c] ?? '')

const failed = (why: string, hint?: string) => new NamewharfError('sign_in_failed', why, { hint })

const signedOut = (cause?: unknown) =>
  new NamewharfError('signed_out', 'the sign-in has ended', { hint: 'Call signIn() again: it opens the browser.', ...(cause ? { cause } : {}) })
