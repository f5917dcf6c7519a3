// Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.
import type { Operation } from '../operation.js'

/** List batch operations. */
export const batchCatalogue: Operation = {
  id: 'batch_catalogue',
  method: 'GET',
  path: '/api/batch',
  read: true,
}

/** Run several operations. */
export const batchLookup: Operation = {
  id: 'batch_lookup',
  method: 'POST',
  path: '/api/batch',
  read: true,
  body: true,
  required: ['operations'],
}

/** Check many domains. */
export const checkDomains: Operation = {
  id: 'check_domains',
  method: 'POST',
  path: '/api/domain/check',
  read: true,
  batch: true,
  body: true,
  required: ['domains'],
}

/** Search a domain. */
export const searchDomain: Operation = {
  id: 'search_domain',
  method: 'POST',
  path: '/api/domain/search',
  read: true,
  batch: true,
  body: true,
  required: ['q'],
}

/** Suggest domains. */
export const suggestDomains: Operation = {
  id: 'suggest_domains',
  method: 'POST',
  path: '/api/domain/suggest',
  read: true,
  batch: true,
  body: true,
  required: ['q'],
}

/** List your domains. */
export const listDomains: Operation = {
  id: 'list_domains',
  method: 'GET',
  path: '/api/domains',
  read: true,
  list: { items: 'domains', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Add a domain of yours. */
export const addDomain: Operation = {
  id: 'add_domain',
  method: 'POST',
  path: '/api/domains',
  body: true,
  required: ['domain'],
}

/** Change many of your domains. */
export const bulkDomains: Operation = {
  id: 'bulk_domains',
  method: 'POST',
  path: '/api/domains/bulk/{op}',
  body: true,
  required: ['domains'],
}

/** Browse names for sale. */
export const marketListings: Operation = {
  id: 'market_listings',
  method: 'GET',
  path: '/api/market/listings',
  read: true,
  batch: true,
  list: { items: 'listings', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Referral analytics. */
export const partnerAnalytics: Operation = {
  id: 'partner_analytics',
  method: 'GET',
  path: '/api/partner/v1/analytics',
  read: true,
}

/** Ask whether a name can be bought. */
export const partnerAvailability: Operation = {
  id: 'partner_availability',
  method: 'GET',
  path: '/api/partner/v1/availability',
  read: true,
  required: ['domain'],
}

/** List brokerage cases. */
export const partnerListCases: Operation = {
  id: 'partner_list_cases',
  method: 'GET',
  path: '/api/partner/v1/brokerage',
  read: true,
  list: { items: 'cases', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Open a brokerage case. */
export const partnerCreateCase: Operation = {
  id: 'partner_create_case',
  method: 'POST',
  path: '/api/partner/v1/brokerage',
  keyed: true,
  body: true,
  required: ['domain', 'tier', 'buyer_email', 'budget'],
}

/** Ask whether a name can be brokered. */
export const partnerBrokerageEligibility: Operation = {
  id: 'partner_brokerage_eligibility',
  method: 'GET',
  path: '/api/partner/v1/brokerage/eligibility',
  read: true,
  required: ['domain'],
}

/** Look at a brokerage case. */
export const partnerGetCase: Operation = {
  id: 'partner_get_case',
  method: 'GET',
  path: '/api/partner/v1/brokerage/{case_id}',
  read: true,
}

/** Send a buyer to the checkout. */
export const partnerCreateCheckout: Operation = {
  id: 'partner_create_checkout',
  method: 'POST',
  path: '/api/partner/v1/checkout-session',
  keyed: true,
  body: true,
  required: ['return_url', 'cancel_url'],
}

/** Look at a checkout session. */
export const partnerGetCheckout: Operation = {
  id: 'partner_get_checkout',
  method: 'GET',
  path: '/api/partner/v1/checkout-session/{session_id}',
  read: true,
}

/** Search names for sale. */
export const partnerSearchDomains: Operation = {
  id: 'partner_search_domains',
  method: 'GET',
  path: '/api/partner/v1/domains/search',
  read: true,
  required: ['q'],
}

/** Look at a name for sale. */
export const partnerGetDomain: Operation = {
  id: 'partner_get_domain',
  method: 'GET',
  path: '/api/partner/v1/domains/{name}',
  read: true,
}

/** Replay events. */
export const partnerListEvents: Operation = {
  id: 'partner_list_events',
  method: 'GET',
  path: '/api/partner/v1/events',
  read: true,
  list: { items: 'events', cursor: 'after_id', next: 'next_cursor' },
}

/** List tracked links. */
export const partnerListLinks: Operation = {
  id: 'partner_list_links',
  method: 'GET',
  path: '/api/partner/v1/links',
  read: true,
  list: { items: 'links', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Create a tracked link. */
export const partnerCreateLink: Operation = {
  id: 'partner_create_link',
  method: 'POST',
  path: '/api/partner/v1/links',
  keyed: true,
  body: true,
  required: ['type'],
}

/** Count referral clicks. */
export const partnerReferralClicks: Operation = {
  id: 'partner_referral_clicks',
  method: 'GET',
  path: '/api/partner/v1/me/clicks',
  read: true,
}

/** List commissions. */
export const partnerMyCommissions: Operation = {
  id: 'partner_my_commissions',
  method: 'GET',
  path: '/api/partner/v1/me/commissions',
  read: true,
  list: { items: 'entries', cursor: 'cursor', next: 'page.next_cursor' },
}

/** List payouts with totals. */
export const partnerMyPayouts: Operation = {
  id: 'partner_my_payouts',
  method: 'GET',
  path: '/api/partner/v1/me/payouts',
  read: true,
  list: { items: 'payouts', cursor: 'cursor', next: 'page.next_cursor' },
}

/** List referred sales. */
export const partnerReferredSales: Operation = {
  id: 'partner_referred_sales',
  method: 'GET',
  path: '/api/partner/v1/me/sales',
  read: true,
  list: { items: 'sales', cursor: 'cursor', next: 'page.next_cursor' },
}

/** List orders. */
export const partnerListOrders: Operation = {
  id: 'partner_list_orders',
  method: 'GET',
  path: '/api/partner/v1/orders',
  read: true,
  list: { items: 'orders', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Record a sale. */
export const partnerCreateOrder: Operation = {
  id: 'partner_create_order',
  method: 'POST',
  path: '/api/partner/v1/orders',
  keyed: true,
  body: true,
}

/** Look at an order. */
export const partnerGetOrder: Operation = {
  id: 'partner_get_order',
  method: 'GET',
  path: '/api/partner/v1/orders/{public_id}',
  read: true,
}

/** List payouts. */
export const partnerListPayouts: Operation = {
  id: 'partner_list_payouts',
  method: 'GET',
  path: '/api/partner/v1/payouts',
  read: true,
  list: { items: 'payouts', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Ask for the price of a name. */
export const partnerPricing: Operation = {
  id: 'partner_pricing',
  method: 'GET',
  path: '/api/partner/v1/pricing',
  read: true,
  required: ['domain'],
}

/** Lock a price. */
export const partnerCreateQuote: Operation = {
  id: 'partner_create_quote',
  method: 'POST',
  path: '/api/partner/v1/quotes',
  keyed: true,
  body: true,
  required: ['domain'],
}

/** Refund an order. */
export const partnerCreateRefund: Operation = {
  id: 'partner_create_refund',
  method: 'POST',
  path: '/api/partner/v1/refunds',
  keyed: true,
  body: true,
  required: ['order_id'],
}

/** Play the operator of a case. */
export const partnerPlayCase: Operation = {
  id: 'partner_play_case',
  method: 'POST',
  path: '/api/partner/v1/sandbox/brokerage/{case_id}/{play}',
  keyed: true,
}

/** Move the test clock. */
export const partnerAdvanceClock: Operation = {
  id: 'partner_advance_clock',
  method: 'POST',
  path: '/api/partner/v1/sandbox/clock',
  keyed: true,
  body: true,
  required: ['advance_seconds'],
}

/** Play the operator. */
export const partnerPlayOrder: Operation = {
  id: 'partner_play_order',
  method: 'POST',
  path: '/api/partner/v1/sandbox/orders/{public_id}/{play}',
  keyed: true,
}

/** List statements. */
export const partnerListSettlements: Operation = {
  id: 'partner_list_settlements',
  method: 'GET',
  path: '/api/partner/v1/settlements',
  read: true,
  list: { items: 'settlements', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Look at a statement. */
export const partnerGetSettlement: Operation = {
  id: 'partner_get_settlement',
  method: 'GET',
  path: '/api/partner/v1/settlements/{settlement_id}',
  read: true,
  list: { items: 'lines', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Report sales. */
export const partnerListTransactions: Operation = {
  id: 'partner_list_transactions',
  method: 'GET',
  path: '/api/partner/v1/transactions',
  read: true,
  list: { items: 'transactions', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Look at the webhook. */
export const partnerGetWebhook: Operation = {
  id: 'partner_get_webhook',
  method: 'GET',
  path: '/api/partner/webhooks',
  read: true,
}

/** Register the webhook. */
export const partnerPutWebhook: Operation = {
  id: 'partner_put_webhook',
  method: 'PUT',
  path: '/api/partner/webhooks',
  body: true,
  required: ['url', 'secret'],
}

/** Remove the webhook. */
export const partnerDeleteWebhook: Operation = {
  id: 'partner_delete_webhook',
  method: 'DELETE',
  path: '/api/partner/webhooks',
}

/** List deliveries. */
export const partnerListDeliveries: Operation = {
  id: 'partner_list_deliveries',
  method: 'GET',
  path: '/api/partner/webhooks/deliveries',
  read: true,
  list: { items: 'deliveries', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Deliver again. */
export const partnerRedeliver: Operation = {
  id: 'partner_redeliver',
  method: 'POST',
  path: '/api/partner/webhooks/deliveries/{id}/redeliver',
  keyed: true,
}

/** Test the webhook. */
export const partnerTestWebhook: Operation = {
  id: 'partner_test_webhook',
  method: 'POST',
  path: '/api/partner/webhooks/test',
  keyed: true,
}

/** Compare TLD prices. */
export const compareTldPrices: Operation = {
  id: 'compare_tld_prices',
  method: 'GET',
  path: '/api/pricing/compare',
  read: true,
  batch: true,
  required: ['tlds'],
}

/** Price of a TLD. */
export const tldRegistrationPrice: Operation = {
  id: 'tld_registration_price',
  method: 'GET',
  path: '/api/pricing/tld',
  read: true,
  batch: true,
  required: ['tld'],
}

/** List TLDs. */
export const listTlds: Operation = {
  id: 'list_tlds',
  method: 'GET',
  path: '/api/tlds',
  read: true,
  batch: true,
  list: { items: 'tlds', cursor: 'cursor', next: 'page.next_cursor' },
}

/** Rules of a TLD. */
export const tldMetadata: Operation = {
  id: 'tld_metadata',
  method: 'GET',
  path: '/api/tlds/{tld}/metadata',
  read: true,
  batch: true,
}

/** Look up a registration. */
export const whoisLookup: Operation = {
  id: 'whois_lookup',
  method: 'POST',
  path: '/api/tools/whois',
  read: true,
  batch: true,
  body: true,
  required: ['domain'],
}

/** An operation of the public API. */
export type PublicOperation =
  | 'batch_catalogue'
  | 'batch_lookup'
  | 'check_domains'
  | 'search_domain'
  | 'suggest_domains'
  | 'list_domains'
  | 'add_domain'
  | 'bulk_domains'
  | 'market_listings'
  | 'compare_tld_prices'
  | 'tld_registration_price'
  | 'list_tlds'
  | 'tld_metadata'
  | 'whois_lookup'

/** An operation that a batch may contain. */
export type BatchOperation =
  | 'check_domains'
  | 'search_domain'
  | 'suggest_domains'
  | 'market_listings'
  | 'compare_tld_prices'
  | 'tld_registration_price'
  | 'list_tlds'
  | 'tld_metadata'
  | 'whois_lookup'
