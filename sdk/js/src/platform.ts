/**
 * What differs between Node and the web. package.json decides whether #platform is platform.node.ts or platform.web.ts. They
 * import nothing of the SDK: they are files of their own beside its one file.
 */
export interface Platform {
  sha256(data: string): Promise<Uint8Array>
  hmac(key: string | Uint8Array, data: string | Uint8Array): Promise<Uint8Array>
  uuid(): Promise<string>
  random(bytes: number): Promise<Uint8Array>
  /** Whether a person can sign in, by what follows. */
  interactive: boolean
  /** Listens on loopback for the answer of the authorization server. */
  listen(answer: (query: URLSearchParams) => string | undefined): Promise<{ redirectUri: string; close(): void }>
  openBrowser(url: string): Promise<void>
  tell(text: string): void
  programName(): string
  fileStore(path: string): TokenStore
  /** Where the sign-in at a service is kept. */
  storePath(origin: string): string
}

/** Keeps a sign-in between runs of a program. The value is a text, to be kept as it is and kept from others. */
export interface TokenStore {
  /** The value saved last; nothing after `clear`. */
  load(): string | null | undefined | Promise<string | null | undefined>
  save(value: string): void | Promise<void>
  clear(): void | Promise<void>
  /** Keeps other processes from renewing the sign-in; the function that it returns ends that. May be left out. */
  lock?(): Promise<() => void | Promise<void>>
}
