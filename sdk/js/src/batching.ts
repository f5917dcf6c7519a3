import { onAbort, sleep } from './abort.js'
import { NamewharfError } from './errors.js'
import type { BatchLookupAnswer, BatchLookupResult } from './generated/types.js'
import type { CallOptions } from './operation.js'
import { described } from './transport.js'

/** What a batch runs. */
export interface BatchItem {
  id: string
  op: string
  params: Record<string, unknown>
}

/** The maximum number of operations in a batch. */
export const batchSize = 20
const inFlight = 8 // batches at a time

interface Entry {
  op: string
  params: Record<string, unknown>
  alone: () => Promise<unknown>
  signal: AbortSignal | undefined
  attempt: number
  resolve: (value: unknown) => void
  reject: (reason: unknown) => void
  settled: boolean
}

interface Sender {
  send(items: BatchItem[], options: CallOptions): Promise<BatchLookupAnswer>
  wait(failure: NamewharfError, attempt: number): number | undefined
}

/** Collects calls that are made in one turn of the event loop and sends them as batches. A lone call goes out alone. */
export class Batcher {
  readonly #sender: Sender
  readonly #windowMs: number
  readonly #limit = limiter(inFlight)
  #queue: Entry[] = []

  constructor(sender: Sender, windowMs: number) {
    this.#sender = sender
    this.#windowMs = windowMs
  }

  /** Runs an operation: in a batch with others of the same window, or else by alone. */
  run<T>(op: string, params: Record<string, unknown>, signal: AbortSignal | undefined, alone: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const entry: Entry = {
        op, params, alone, signal, attempt: 0, settled: false,
        resolve: (value) => settle(() => resolve(value as T)),
        reject: (reason) => settle(() => reject(reason)),
      }
      const settle = (then: () => void) => {
        forget()
        entry.settled = true
        then()
      }
      const forget = onAbort(signal, () => settle(() => reject(signal?.reason)))
      this.#add(entry)
    })
  }

  #add(entry: Entry): void {
    this.#queue.push(entry)
    if (this.#queue.length > 1) return
    const flush = () => this.#flush()
    const { setImmediate } = globalThis as { setImmediate?: (run: () => void) => unknown }
    if (this.#windowMs > 0 || !setImmediate) setTimeout(flush, this.#windowMs)
    else setImmediate(flush)
  }

  #flush(): void {
    const waiting = this.#queue.filter((entry) => !entry.settled)
    this.#queue = []
    if (waiting.length === 1) {
      waiting[0].alone().then(waiting[0].resolve, waiting[0].reject)
      return
    }
    for (let at = 0; at < waiting.length; at += batchSize) {
      const part = waiting.slice(at, at + batchSize)
      void this.#limit(() => this.#send(part))
    }
  }

  async #send(entries: Entry[]): Promise<void> {
    const items = entries.map(({ op, params }, at) => ({ id: String(at), op, params }))
    const controller = new AbortController()
    const abort = () => {
      if (entries.every((entry) => entry.settled || entry.signal?.aborted)) controller.abort()
    }
    const forget = entries.map(({ signal }) => onAbort(signal, abort))
    try {
      abort()
      const { results } = await this.#sender.send(items, { signal: controller.signal })
      const byId = new Map(results.map((result) => [result.id, result]))
      entries.forEach((entry, at) => this.#settle(entry, byId.get(String(at))))
    } catch (error) {
      // A batch that is refused as a whole must not fail calls that are right: one of them is too large, or wrong.
      const split = error instanceof NamewharfError && (error.status === 400 || error.status === 413)
      for (const entry of entries) {
        if (entry.settled) continue
        if (split) entry.alone().then(entry.resolve, entry.reject)
        else entry.reject(error)
      }
    } finally {
      for (const one of forget) one()
    }
  }

  #settle(entry: Entry, result: BatchLookupResult | undefined): void {
    if (entry.settled) return
    if (!result) return entry.reject(new NamewharfError('invalid_response', 'the answer of the batch lacks a result'))
    if (result.ok) return entry.resolve(result.result)
    const failure = described(result.error ? { ...result.error } : {}, { status: result.status })
    const wait = this.#sender.wait(failure, entry.attempt++)
    if (wait === undefined) return entry.reject(failure)
    sleep(wait, entry.signal).then(() => entry.settled || this.#add(entry), entry.reject)
  }
}

/** Runs at most so many at a time; the others wait their turn. */
export function limiter(most: number): <T>(run: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (run) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
