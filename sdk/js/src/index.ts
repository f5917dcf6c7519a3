/**
 * The SDK of Namewharf, a marketplace for domain names: {@link Namewharf} looks up domains, prices and offers,
 * {@link Partner} sells names as a partner.
 * @packageDocumentation
 */
export { Namewharf } from './namewharf.js'
export type { BatchRequest, BatchResult, BulkOperation, NamewharfOptions } from './namewharf.js'
export { Partner } from './partner.js'
export type { PartnerOptions, PartnerRequest } from './partner.js'
export type { ErrorFields } from './errors.js'
export { ConnectionError, NamewharfError, TimeoutError } from './errors.js'
export { fileStore } from './store.js'
export type { TokenStore } from './store.js'
export type { Session, SignInOptions } from './signin.js'
export type { CallOptions } from './operation.js'
export type { ClientOptions } from './transport.js'
export type { Page, Paged } from './paging.js'
export type { WebhookHeaders } from './webhook.js'
export { canonicalQuery, canonicalString, sign } from './signature.js'
export type { Signable } from './signature.js'
export type { BatchOperation, PublicOperation } from './generated/operations.js'
export type * from './generated/types.js'
export { version } from './version.js'
