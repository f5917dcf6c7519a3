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
  /** Writes a line for a person, on standard error. */
  print(text: string): void
  programName(): string
  fileStore(path: string): TokenStore
  /** The file that stores the sign-in at a service. */
  storePath(origin: string): string
}

/** Stores a sign-in between runs of a program. The value is an opaque string with secrets: let no other user read it. */
export interface TokenStore {
  /** The value saved last; nothing after `clear`. */
  load(): string | null | undefined | Promise<string | null | undefined>
  save(value: string): void | Promise<void>
  clear(): void | Promise<void>
  /** Locks the sign-in while it is refreshed, so that no other process refreshes it; returns the function that unlocks it. Optional. */
  lock?(): Promise<() => void | Promise<void>>
}
