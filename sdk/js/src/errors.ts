import type { Detail } from './generated/types.js'

/** The fields of a {@link NamewharfError} beside its code and message. */
export interface ErrorFields {
  status?: number
  requestId?: string
  details?: Detail[]
  retryAfter?: number
  hint?: string
  cause?: unknown
}

/**
 * The one kind of error that the SDK throws, except for the reason of an `AbortSignal`, which is thrown as it is. Neither
 * the message nor any field contains a token or a secret.
 */
export class NamewharfError extends Error {
  /**
   * The code of the server, such as `rate_limited`, or one of the SDK: `connection_error`, `timeout`, `invalid_response`,
   * `response_too_large`, `redirect_refused`, `signed_out`, `sign_in_failed`, `invalid_webhook`, `unsupported`. Input that
   * is refused before a request goes out has `validation_error`, as the server says it too.
   */
  readonly code: string
  /** The HTTP status; absent when there was no answer. */
  declare readonly status?: number
  /** The id to quote when asking the operator of the service about a failure. */
  declare readonly requestId?: string
  /** The fields at fault. */
  declare readonly details?: Detail[]
  /** Seconds after which the server wants to be asked again. */
  declare readonly retryAfter?: number
  /** What to do about it, where there is more to say than the message does. */
  declare readonly hint?: string

  constructor(code: string, message: string, fields: ErrorFields = {}) {
    super(message, 'cause' in fields ? { cause: fields.cause } : undefined)
    this.name = 'NamewharfError'
    this.code = code
    const { status, requestId, details, retryAfter, hint } = fields
    for (const [name, value] of Object.entries({ status, requestId, details, retryAfter, hint })) {
      if (value !== undefined) (this as Record<string, unknown>)[name] = value
    }
  }
}

/** The server could not be reached, or the connection ended before the whole answer was there. */
export class ConnectionError extends NamewharfError {
  constructor(message: string, fields?: ErrorFields) {
    super('connection_error', message, fields)
    this.name = 'ConnectionError' // minifiers rename classes
  }
}

/** An attempt took longer than `timeoutMs`. */
export class TimeoutError extends NamewharfError {
  constructor(message: string) {
    super('timeout', message)
    this.name = 'TimeoutError'
  }
}

/** Input that is refused before a request goes out. */
export function refuse(field: string, reason: string): NamewharfError {
  return new NamewharfError('validation_error', `${field} ${reason}`, { details: [{ field, reason }] })
}

/** What only a program can do. */
export function unsupported(what: string): NamewharfError {
  return new NamewharfError('unsupported', `${what} needs Node, Deno or Bun`, { hint: 'Here, give the client a token.' })
}
