import { NamewharfError } from './errors.js'

/** One page of a list: the answer as it is on the wire, and how to go on. */
export type Page<T, Answer> = Answer & {
  /** The elements of this page. */
  items: T[]
  /** The cursor of the next page, to be given as `cursor` (of events, `afterId`), also in a later process; null at the end. */
  nextCursor: string | null
  /** Fetches the next page; null at the end. */
  next(): Promise<Page<T, Answer> | null>
}

/**
 * A list. `for await` iterates over all elements and has one page in memory at a time; stopping early sends no further
 * request. `await` gives the first {@link Page}.
 */
export class Paged<T, Answer> implements PromiseLike<Page<T, Answer>>, AsyncIterable<T> {
  readonly #fetch: (cursor?: string) => Promise<Page<T, Answer>>
  #first: Promise<Page<T, Answer>> | undefined

  /** @internal */
  constructor(fetch: (cursor: string | undefined) => Promise<Answer>, list: { items: string; next: string }) {
    this.#fetch = async (cursor) => {
      const answer = await fetch(cursor)
      const items = (answer as Record<string, unknown>)[list.items]
      const next = list.next.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], answer)
      if (!Array.isArray(items)) throw new NamewharfError('invalid_response', `the answer has no ${list.items}`)
      const nextCursor = typeof next === 'string' && next !== '' ? next : null
      if (nextCursor !== null && nextCursor === cursor) throw new NamewharfError('invalid_response', 'the next page is the same page')
      return { ...answer, items: items as T[], nextCursor, next: async () => (nextCursor === null ? null : this.#fetch(nextCursor)) }
    }
  }

  /** Fetches the first page, once however often it is asked for. */
  #page(): Promise<Page<T, Answer>> {
    return (this.#first ??= this.#fetch())
  }

  then<A = Page<T, Answer>, B = never>(
    fulfilled?: ((page: Page<T, Answer>) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#page().then(fulfilled, rejected)
  }

  catch<B>(rejected: (reason: unknown) => B | PromiseLike<B>): Promise<Page<T, Answer> | B> {
    return this.#page().catch(rejected)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page: Page<T, Answer> | null = await this.#fetch(); page; page = await page.next()) yield* page.items
  }
}
