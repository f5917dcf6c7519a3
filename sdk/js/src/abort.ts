const watched = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls run when the signal stops; the function that is returned ends that. A signal has one listener however many calls
 * it has: Node warns of more than ten.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (!signal) return () => {}
  let all = watched.get(signal)
  if (!all) {
    const every = (all = new Set<() => void>())
    watched.set(signal, every)
    signal.addEventListener('abort', () => every.forEach((one) => one()), { once: true })
  }
  const own = () => run() // a set holds the same function once only
  all.add(own)
  return () => void all.delete(own)
}

/** Waits for what cannot be stopped itself, until the signal stops. */
export function abortable<T>(value: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> | T {
  if (!signal || !(value instanceof Promise)) return value
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    const forget = onAbort(signal, () => reject(signal.reason))
    value.then(resolve, reject).finally(forget)
  })
}

/** Waits, and stops when the signal does. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(() => {
      forget()
      resolve()
    }, ms)
    const forget = onAbort(signal, () => {
      clearTimeout(timer)
      reject(signal?.reason)
    })
  })
}
