// Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.

// Answers: fields are as on the wire.

export interface AddDomainAnswer {
  domain: string
  /** pending: its proof is awaited; suspended: it seems to have changed hands, another proof is awaited */
  status: 'pending' | 'verified' | 'suspended'
  proof: Proof
}

export interface Attempt {
  at: string
  status_code?: number
  error?: string
  latency_ms: number
}

export interface BatchCatalogueAnswer {
  max_operations: number
  operations: BatchCatalogueOperation[]
}

export interface BatchCatalogueOperation {
  op: string
  title: string
  description: string
  /** JSON Schema of params */
  params: Record<string, unknown>
  /** JSON Schema of result */
  result: Record<string, unknown>
  /** params that work */
  example: Record<string, unknown>
}

export interface BatchLookupAnswer {
  results: BatchLookupResult[]
}

export interface BatchLookupResult {
  id: string
  op: string
  ok: boolean
  /** the HTTP status that the operation has alone */
  status: number
  result?: Record<string, unknown>
  error?: ResultError
}

export interface BulkDomainsAnswer {
  op: 'list' | 'set_price' | 'unlist' | 'verify' | 'refresh' | 'remove'
  dry_run: boolean
  results: BulkDomainsResult[]
  succeeded: number
  failed: number
}

export interface BulkDomainsResult {
  domain: string
  ok: boolean
  error?: ResultError
}

export interface Buyer {
  email?: string
  name?: string
  /** ISO 3166-1 alpha-2 code */
  country?: string
}

export interface ByDay {
  /** in UTC */
  date: string
  clicks: number
  unique: number
}

export interface Case {
  case_id: string
  domain: string
  tier: 'managed' | 'self_serve'
  status: 'OPEN' | 'CONTACTED' | 'NEGOTIATING' | 'AGREED' | 'COMPLETED' | 'CLOSED'
  /** what the buyer is ready to pay, in minor units */
  budget: number
  currency: string
  /** what was agreed with the owner */
  price_cents?: number
  /** the partner's share of a completed case */
  partner_share_cents?: number
  /** the buyer's page; whoever has the link sees it */
  progress_url?: string
  created_at: string
  updated_at: string
  timeline?: CaseTimeline[]
}

export interface CaseTimeline {
  at: string
  status: 'OPEN' | 'CONTACTED' | 'NEGOTIATING' | 'AGREED' | 'COMPLETED' | 'CLOSED'
  note?: string
}

export interface CheckDomainsAnswer {
  results: Result[]
  prices_masked: boolean
  /** when the oldest verdict was made */
  checked_at: string
}

export interface CompareTldPricesAnswer {
  years: number
  results: CompareTldPricesResult[]
  /** TLDs without the prices that the total needs */
  unknown: string[]
}

export interface CompareTldPricesResult {
  tld: string
  register: Registration
  renew?: Registration
  transfer?: Registration
  restore?: Registration
  /** to register, and to renew until the years are covered */
  total: Total
  /** the day of the prices */
  as_of: string
}

export interface Delivery {
  delivery_id: string
  event_id: string
  event_type: string
  status: string
  attempts: Attempt[]
  next_try_at?: string
}

export interface Detail {
  /** the field at fault, with a dotted path and indexes in brackets */
  field: string
  /** what is wrong with it, or the value expected */
  reason: string
}

export interface Dnssec {
  signed?: boolean
}

export interface Domain {
  domain: string
  /** pending: its proof is awaited; suspended: it seems to have changed hands, another proof is awaited */
  status: 'pending' | 'verified' | 'suspended'
  /** the caller's offer; for sale while the status is verified */
  listing?: Listing
  /** as the registry said last */
  expires_at?: string
}

export interface Entry {
  entry_id: string
  source: 'service_collected' | 'brokerage' | 'referral'
  /**
   * accrued: sold; pending: the transfer is completed; paid_out: in a payout that is paid; reversed: refunded,
   * cancelled or charged back before that
   */
  state: 'accrued' | 'pending' | 'paid_out' | 'reversed'
  /** negative in an entry that takes back one that is in a payout */
  amount_cents: number
  /** sum of the entries in the currency up to this one that are not reversed */
  balance_cents: number
  currency: string
  order_id?: string
  case_id?: string
  at: string
}

export interface PartnerEvent {
  id: string
  type: string
  created_at: string
  partner_id: string
  /** of an order's event: the order */
  data: Record<string, unknown>
}

export interface Evidence {
  source: string
  host?: string
  code?: string
  /** how long the answer took */
  ms: number
  /** of the zone file that the answer is from */
  zone_date?: string
}

export interface Label {
  min?: number
  max?: number
  idn?: boolean
}

export interface Lifecycle {
  add_grace_days?: number
  renew_grace_days?: number
  redemption_days?: number
  pending_delete_days?: number
}

export interface Line {
  order_id: string
  domain: string
  /**
   * sale: the partner collected the price; commission: the service did, and nothing is owed; reversal: an order of
   * an earlier statement was charged back
   */
  type: 'sale' | 'commission' | 'reversal'
  /** the price; negative in a reversal */
  gross_cents: number
  /** the service's if the partner collected the price, else the partner's */
  commission_cents: number
  /** what the partner owes the service */
  owed_cents: number
  /** when the transfer was completed, or the order reversed */
  at: string
}

export interface Link {
  link_id: string
  type: 'generic' | 'domain' | 'product'
  domain?: string
  product?: 'search' | 'market' | 'brokerage' | 'api'
  label?: string
  url: string
  created_at: string
  /** once a visitor and day */
  clicks: number
  /** sum of the visitors of each day */
  unique_visitors: number
  /** sales by the link, whatever became of them */
  conversions: number
  /** sum of the sales in the currency */
  sales_cents: number
  /** that of most of its sales; USD before the first one */
  currency: string
}

export interface ListDomainsAnswer {
  domains: Domain[]
  page: PageInfo
}

export interface ListTldsAnswer {
  tlds: Tld[]
  page: PageInfo
}

export interface Listing {
  price: Price
}

export interface MarketListingsAnswer {
  listings: MarketListingsListing[]
  prices_masked: boolean
  /** how to see real prices; only when they are masked */
  unlock?: Unlock
  page: PageInfo
}

export interface MarketListingsListing {
  domain: string
  unicode?: string
  tld: string
  price: Price
  listed_at: string
  description?: string
}

export interface Metadata {
  /** characters before the suffix */
  length: number
  /** the words that it is made of */
  words: string[]
  /** whether it has characters beyond ASCII */
  idn: boolean
  description?: string
  keywords: string[]
}

export interface Nameserver {
  host: string
  addresses?: string[]
}

export interface Nameservers {
  min?: number
  max?: number
  required?: boolean
  /** whether they must answer for the name beforehand */
  must_resolve?: boolean
}

export interface Order {
  /** the order's id; a dry run has none */
  public_id?: string
  domain: string
  status: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  sale_price_cents: number
  currency: string
  payment_model: 'partner_collected' | 'service_collected'
  review?: 'held' | 'cleared'
  /** the partner's payment reference */
  external_payment_ref?: string
  buyer?: Buyer
  return_url?: string
  cancel_url?: string
  created_at: string
  updated_at: string
  timeline?: Timeline[]
}

export interface Organization {
  /** whether the registrant must be an organization */
  required?: boolean
  eligibility?: string
  /** ISO 3166 codes, EU or EEA */
  allowed_countries?: string[]
  local_presence?: boolean
}

export interface PageInfo {
  /** cursor of the next page; null at the end */
  next_cursor: string | null
  limit: number
}

export interface PartnerAdvanceClockAnswer {
  now: string
  /** how far it is ahead of the real one */
  ahead_seconds: number
}

export interface PartnerAnalyticsAnswer {
  clicks: number
  /** sum of the visitors of each day */
  unique_visitors: number
  /** in which a referred browser began to pay */
  checkouts: number
  sales: number
  /** sales for each click, rounded to four digits; 0 without clicks */
  conversion_rate: number
  totals: PartnerAnalyticsTotal[]
  /** every day of the window */
  by_day: PartnerAnalyticsByDay[]
}

export interface PartnerAnalyticsByDay {
  /** in UTC */
  date: string
  clicks: number
  checkouts: number
  sales: number
}

export interface PartnerAnalyticsTotal {
  currency: string
  /** what buyers paid */
  gmv_cents: number
  /** the partner's shares */
  commission_cents: number
}

export interface PartnerAvailabilityAnswer {
  domain: string
  available: boolean
  /** where it is available */
  price_cents?: number
  currency?: string
}

export interface PartnerBrokerageEligibilityAnswer {
  domain: string
  eligible: boolean
  /** why not; empty where it is eligible */
  reasons: ('active_site' | 'open_case' | 'listed' | 'unregistered' | 'undetermined')[]
}

export interface PartnerCreateCaseAnswer {
  case_id: string
  domain: string
  tier: 'managed' | 'self_serve'
  status: 'OPEN' | 'CONTACTED' | 'NEGOTIATING' | 'AGREED' | 'COMPLETED' | 'CLOSED'
  /** what the buyer is ready to pay, in minor units */
  budget: number
  currency: string
  /** what was agreed with the owner */
  price_cents?: number
  /** the partner's share of a completed case */
  partner_share_cents?: number
  /** the buyer's page; whoever has the link sees it */
  progress_url?: string
  created_at: string
  updated_at: string
  timeline?: CaseTimeline[]
}

export interface PartnerCreateCheckoutAnswer {
  session_id: string
  /** redirect the buyer there */
  checkout_url: string
  domain: string
  /** the price of now; what was paid once it is paid */
  price_cents: number
  currency: string
  expires_at: string
}

export interface PartnerCreateLinkAnswer {
  link_id: string
  type: 'generic' | 'domain' | 'product'
  domain?: string
  product?: 'search' | 'market' | 'brokerage' | 'api'
  label?: string
  url: string
  created_at: string
}

export interface PartnerCreateOrderAnswer {
  /** the order's id; a dry run has none */
  public_id?: string
  domain: string
  status: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  sale_price_cents: number
  currency: string
  payment_model: 'partner_collected' | 'service_collected'
  review?: 'held' | 'cleared'
  /** the partner's payment reference */
  external_payment_ref?: string
  buyer?: Buyer
  return_url?: string
  cancel_url?: string
  created_at: string
  updated_at: string
  timeline?: Timeline[]
}

export interface PartnerCreateQuoteAnswer {
  /** send it with POST /orders; it is good for one order */
  quote_id: string
  domain: string
  price_cents: number
  currency: string
  expires_at: string
}

export interface PartnerCreateRefundAnswer {
  refund_id: string
  order: Order
  amount_cents: number
  currency: string
  created_at: string
}

export interface PartnerDeleteWebhookAnswer {
  url: string
  active: boolean
  created_at: string
}

export interface PartnerGetCaseAnswer {
  case_id: string
  domain: string
  tier: 'managed' | 'self_serve'
  status: 'OPEN' | 'CONTACTED' | 'NEGOTIATING' | 'AGREED' | 'COMPLETED' | 'CLOSED'
  /** what the buyer is ready to pay, in minor units */
  budget: number
  currency: string
  /** what was agreed with the owner */
  price_cents?: number
  /** the partner's share of a completed case */
  partner_share_cents?: number
  /** the buyer's page; whoever has the link sees it */
  progress_url?: string
  created_at: string
  updated_at: string
  timeline?: CaseTimeline[]
}

export interface PartnerGetCheckoutAnswer {
  session_id: string
  /** redirect the buyer there */
  checkout_url: string
  domain: string
  /** the price of now; what was paid once it is paid */
  price_cents: number
  currency: string
  expires_at: string
  status: 'open' | 'paid' | 'refunded' | 'expired'
  /** public_id of the order, once it is paid */
  order_id?: string
}

export interface PartnerGetDomainAnswer {
  domain: string
  unicode: string
  tld: string
  available: boolean
  price_cents: number
  currency: string
  listed_at: string
  metadata: Metadata
}

export interface PartnerGetOrderAnswer {
  /** the order's id; a dry run has none */
  public_id?: string
  domain: string
  status: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  sale_price_cents: number
  currency: string
  payment_model: 'partner_collected' | 'service_collected'
  review?: 'held' | 'cleared'
  /** the partner's payment reference */
  external_payment_ref?: string
  buyer?: Buyer
  return_url?: string
  cancel_url?: string
  created_at: string
  updated_at: string
  timeline?: Timeline[]
}

export interface PartnerGetSettlementAnswer {
  settlement_id: string
  period_start: string
  /** the first moment after the period */
  period_end: string
  currency: string
  /** prices that the partner collected */
  gross_sold_cents: number
  /** prices of the orders that are reversed */
  refunded_cents: number
  commission_retained_cents: number
  amount_owed_cents: number
  /** orders that the partner collected */
  order_count: number
  /** orders that the service collected; nothing is owed for them */
  service_collected_count: number
  status: 'open' | 'paid'
  closed_at: string
  lines: Line[]
  page: PartnerListOrdersPage
}

export interface PartnerGetWebhookAnswer {
  url: string
  active: boolean
  created_at: string
}

export interface PartnerListCasesAnswer {
  cases: Case[]
  page: PartnerListOrdersPage
}

export interface PartnerListDeliveriesAnswer {
  deliveries: Delivery[]
  page: PartnerListOrdersPage
}

export interface PartnerListEventsAnswer {
  events: PartnerEvent[]
  /** after_id of the next page; null when there is nothing more */
  next_cursor: string | null
}

export interface PartnerListLinksAnswer {
  links: Link[]
  page: PartnerListOrdersPage
}

export interface PartnerListOrdersAnswer {
  orders: Order[]
  page: PartnerListOrdersPage
}

export interface PartnerListOrdersPage {
  /** cursor of the next page; null at the end */
  next_cursor: string | null
}

export interface PartnerListPayoutsAnswer {
  payouts: Payout[]
  page: PartnerListOrdersPage
}

export interface PartnerListSettlementsAnswer {
  settlements: Settlement[]
  page: PartnerListOrdersPage
}

export interface PartnerListTransactionsAnswer {
  transactions: Transaction[]
  /** sums by currency of all that the filters select, whatever the status */
  totals: PartnerListTransactionsTotal[]
  page: PartnerListOrdersPage
}

export interface PartnerListTransactionsTotal {
  currency: string
  gmv_cents: number
  commission_cents: number
  count: number
}

export interface PartnerMyCommissionsAnswer {
  entries: Entry[]
  page: PartnerListOrdersPage
}

export interface PartnerMyPayoutsAnswer {
  payouts: Payout[]
  /** sums by currency of the payouts in the window that are paid */
  totals: PartnerMyPayoutsTotal[]
  page: PartnerListOrdersPage
}

export interface PartnerMyPayoutsTotal {
  currency: string
  amount_cents: number
}

export interface PartnerPlayCaseAnswer {
  case_id: string
  domain: string
  tier: 'managed' | 'self_serve'
  status: 'OPEN' | 'CONTACTED' | 'NEGOTIATING' | 'AGREED' | 'COMPLETED' | 'CLOSED'
  /** what the buyer is ready to pay, in minor units */
  budget: number
  currency: string
  /** what was agreed with the owner */
  price_cents?: number
  /** the partner's share of a completed case */
  partner_share_cents?: number
  /** the buyer's page; whoever has the link sees it */
  progress_url?: string
  created_at: string
  updated_at: string
  timeline?: CaseTimeline[]
}

export interface PartnerPlayOrderAnswer {
  /** the order's id; a dry run has none */
  public_id?: string
  domain: string
  status: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  sale_price_cents: number
  currency: string
  payment_model: 'partner_collected' | 'service_collected'
  review?: 'held' | 'cleared'
  /** the partner's payment reference */
  external_payment_ref?: string
  buyer?: Buyer
  return_url?: string
  cancel_url?: string
  created_at: string
  updated_at: string
  timeline?: Timeline[]
}

export interface PartnerPricingAnswer {
  domain: string
  buy_now_cents: number
  /** the least that the seller takes */
  floor_price_cents: number
  currency: string
}

export interface PartnerPutWebhookAnswer {
  url: string
  active: boolean
  created_at: string
}

export interface PartnerRedeliverAnswer {
  delivery_id: string
  event_id: string
  event_type: string
  status: string
  attempts: Attempt[]
  next_try_at?: string
}

export interface PartnerReferralClicksAnswer {
  /** once a visitor, link and day */
  total: number
  /** sum of the visitors of each day */
  unique: number
  by_day: ByDay[]
}

export interface PartnerReferredSalesAnswer {
  sales: Sale[]
  page: PartnerListOrdersPage
}

export interface PartnerSearchDomainsAnswer {
  query: string
  count: number
  results: PartnerSearchDomainsResult[]
}

export interface PartnerSearchDomainsResult {
  domain: string
  tld: string
  available: boolean
  price_cents: number
  currency: string
  match: 'exact' | 'keyword' | 'semantic'
}

export interface PartnerTestWebhookAnswer {
  event_id: string
  event_type: string
}

export interface Payout {
  payout_id: string
  source: 'service_collected' | 'brokerage' | 'referral'
  amount_cents: number
  currency: string
  status: 'created' | 'paid' | 'failed'
  created_at: string
  paid_at?: string
  /** of the payment */
  reference?: string
}

export interface Price {
  masked: boolean
  /** what to show instead of a masked price */
  display?: string
  /** in minor units; only when not masked */
  priceCents?: number
  currency: string
}

export interface Proof {
  type: 'TXT'
  name: string
  value: string
}

export interface Rdap {
  url?: string
  source?: 'iana' | 'supplement' | 'operator'
}

export interface Registrant {
  name?: string
  organization?: string
  country?: string
}

export interface Registrar {
  name?: string
  iana_id?: string
  url?: string
  abuse_email?: string
  abuse_phone?: string
}

export interface Registration {
  priceCents: number
  currency: string
  term_years: number
}

export interface Registry {
  name?: string
  url?: string
}

export interface Result {
  /** A-label form */
  domain: string
  unicode?: string
  tld: string
  kind: 'exact' | 'sibling' | 'listing'
  status: 'available' | 'likely_available' | 'registered' | 'expiring' | 'reserved' | 'invalid' | 'unknown'
  /** absent when not certain */
  available?: boolean
  confidence: 'registry' | 'zone' | 'dns' | 'whois' | 'none'
  reason?: string
  evidence: Evidence[]
  /** what registering the name costs */
  registration?: Registration
  /** what renewing it costs */
  renewal?: Registration
  /** present when the name is for sale here */
  listing?: Listing
  retry_after_s?: number
}

export interface ResultError {
  code: string
  message: string
  details?: Detail[]
  retry_after_s?: number
}

export interface Sale {
  /** of the order */
  public_id: string
  /** masked */
  buyer: string
  domain: string
  amount_cents: number
  /** the partner's share as it accrued */
  commission_cents: number
  currency: string
  at: string
}

export interface SearchDomainAnswer {
  query: string
  label: string
  results: Result[]
  prices_masked: boolean
  /** how to see real marketplace prices; only when they are masked */
  unlock?: Unlock
  /** when the oldest verdict was made */
  checked_at: string
}

export interface Settlement {
  settlement_id: string
  period_start: string
  /** the first moment after the period */
  period_end: string
  currency: string
  /** prices that the partner collected */
  gross_sold_cents: number
  /** prices of the orders that are reversed */
  refunded_cents: number
  commission_retained_cents: number
  amount_owed_cents: number
  /** orders that the partner collected */
  order_count: number
  /** orders that the service collected; nothing is owed for them */
  service_collected_count: number
  status: 'open' | 'paid'
  closed_at: string
}

export interface Status {
  code: string
  meaning?: string
}

export interface SuggestDomainsAnswer {
  query: string
  /** of the query, that names were made of */
  words: string[]
  suggestions: Suggestion[]
  /** how many names were looked up */
  checked: number
  /** when the oldest verdict was made */
  checked_at: string
}

export interface Suggestion {
  domain: string
  tld: string
  label: string
  style: 'short' | 'compound' | 'prefix' | 'suffix' | 'blend' | 'synonym' | 'hack'
  words: string[]
  why: string
  status: 'available' | 'likely_available' | 'registered' | 'expiring' | 'reserved' | 'invalid' | 'unknown'
  /** absent when not certain */
  available?: boolean
  confidence: 'registry' | 'zone' | 'dns' | 'whois' | 'none'
  /** what registering the name costs */
  registration?: Registration
  /** what renewing it costs */
  renewal?: Registration
  /** present when the name is for sale here */
  listing?: Listing
}

export interface Term {
  min_years?: number
  max_years?: number
}

export interface Timeline {
  at: string
  /** what happened: the type of the event, where there is one */
  type: string
  /** the order's status from then on */
  status: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
}

export interface Tld {
  tld: string
  unicode: string
  type: 'generic' | 'country-code' | 'brand' | 'sponsored' | 'infrastructure'
  register?: Registration
  renew?: Registration
  transfer?: Registration
  restore?: Registration
  /** the day of the prices */
  as_of?: string
}

export interface TldMetadataAnswer {
  tld: string
  unicode: string
  type: 'generic' | 'country-code' | 'brand' | 'sponsored' | 'infrastructure'
  registry: Registry
  term: Term
  organization: Organization
  nameservers: Nameservers
  transfer: Transfer
  lifecycle: Lifecycle
  label: Label
  /** whether delegations can be signed */
  dnssec?: boolean
  rdap: Rdap
  whois: Whois
  /** the facts that are not known, as dotted paths */
  unknown: string[]
  /** the documents that the facts were read from */
  sources: string[]
  /** no fact is older */
  as_of: string
}

export interface TldRegistrationPriceAnswer {
  tld: string
  op: 'register' | 'renew' | 'transfer' | 'restore'
  priceCents: number
  currency: string
  /** the years that the price pays for; 0: none */
  term_years: number
  /** the day of the price */
  as_of: string
}

export interface Total {
  priceCents: number
  currency: string
}

export interface Transaction {
  public_id: string
  domain: string
  sale_price_cents: number
  /** the service's on a sale that the partner collected, else the partner's */
  commission_cents: number
  currency: string
  status: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  payment_model: 'partner_collected' | 'service_collected'
  created_at: string
}

export interface Transfer {
  auth_code?: boolean
  adds_years?: number
}

export interface Unlock {
  message: string
  /** OAuth protected-resource metadata (RFC 9728) */
  resource_metadata?: string
}

export interface Whois {
  server?: string
}

export interface WhoisLookupAnswer {
  domain: string
  unicode?: string
  /** absent when it could not be found out; warnings say why */
  registered?: boolean
  registrar?: Registrar
  registrant?: Registrant
  created_at?: string
  updated_at?: string
  expires_at?: string
  age_days?: number
  /** negative when it has passed */
  days_to_expiry?: number
  status: Status[]
  nameservers: Nameserver[]
  dnssec?: Dnssec
  source?: 'rdap' | 'whois' | 'merged'
  /** those that were asked */
  servers: string[]
  /** fields that the publisher withholds */
  redacted: string[]
  warnings: string[]
  retry_after_s?: number
  fetched_at: string
  raw?: string
}

// Inputs: names are camelCase.

export interface Operation {
  /** your own name for this operation, unique in the batch */
  id: string
  /** name of an operation; GET /api/batch lists them */
  op: string
  /** input of the operation */
  params?: Record<string, unknown>
}

export interface Params {
  priceCents?: number
  /** USD when left out */
  currency?: string
}

export interface PartnerCreateOrderBuyer {
  email?: string
  name?: string
  /** ISO 3166-1 alpha-2 code */
  country?: string
}

/** Input of `batch_lookup`. */
export interface BatchLookupInput {
  /** what to run: any of the read operations here, each with its own input as params */
  operations: Operation[]
  /** true: sign in rather than see masked marketplace prices */
  requireRealPrices?: boolean
}

/** Input of `check_domains`. */
export interface CheckDomainsInput {
  /** full domain names, e.g. acme.com */
  domains: string[]
}

/** Input of `search_domain`. */
export interface SearchDomainInput {
  /** a label or a domain, e.g. acme or acme.com; a phrase or a URL will do */
  q: string
  /** TLDs to search instead of the usual twelve, e.g. com, co.uk */
  tlds?: string[]
  /** true: sign in rather than see masked marketplace prices */
  requireRealPrices?: boolean
}

/** Input of `suggest_domains`. */
export interface SuggestDomainsInput {
  /** what the name is for: a phrase, a label or a domain */
  q: string
  /** TLDs to suggest names under; com and two that fit when left out */
  tlds?: string[]
  /** free names wanted; 20 when left out */
  limit?: number
  /** longest label; 18 when left out */
  maxLength?: number
  /** ways to make names; all when left out */
  styles?: ('short' | 'compound' | 'prefix' | 'suffix' | 'blend' | 'synonym' | 'hack')[]
}

/** Input of `list_domains`. */
export interface ListDomainsInput {
  /** domains a page, 1 to 100; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `add_domain`. */
export interface AddDomainInput {
  /** a registered domain name, e.g. example.com */
  domain: string
}

/** Input of `bulk_domains`. */
export interface BulkDomainsInput {
  /** domains of the caller's portfolio */
  domains: string[]
  /** for list and set_price */
  params?: Params
  /** true: say what would happen, change nothing */
  dryRun?: boolean
}

/** Input of `market_listings`. */
export interface MarketListingsInput {
  /** only names under this TLD */
  tld?: string
  /** only names that fit these words */
  q?: string
  /** true: sign in rather than see masked prices */
  requireRealPrices?: boolean
  /** newest when left out, with q relevance; price needs a signed-in caller */
  sort?: 'newest' | 'name' | 'length' | 'price' | 'relevance'
  /** needs a signed-in caller */
  minPriceCents?: number
  /** needs a signed-in caller */
  maxPriceCents?: number
  /** listings a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
  /** listings to skip, instead of a cursor */
  offset?: number
}

/** Input of `Partner.analytics`. */
export interface PartnerAnalyticsInput {
  /** from this date or time on */
  from?: string
  /** before this date or time */
  to?: string
}

/** Input of `Partner.availability`. */
export interface PartnerAvailabilityInput {
  /** the domain name */
  domain: string
}

/** Input of `Partner.listCases`. */
export interface PartnerListCasesInput {
  status?: 'OPEN' | 'CONTACTED' | 'NEGOTIATING' | 'AGREED' | 'COMPLETED' | 'CLOSED'
  /** opened at this date or time or later */
  from?: string
  /** opened before this date or time */
  to?: string
  /** cases a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.createCase`. */
export interface PartnerCreateCaseInput {
  /** the domain that the buyer wants */
  domain: string
  /** managed: the service negotiates; self_serve: the buyer may also make offers on the progress page */
  tier: 'managed' | 'self_serve'
  /** address of the buyer; neither the owner nor the progress page shows it */
  buyerEmail: string
  /** what the buyer is ready to pay, in cents */
  budget: number
  /** ISO 4217 code; USD when left out */
  currency?: string
}

/** Input of `Partner.brokerageEligibility`. */
export interface PartnerBrokerageEligibilityInput {
  /** the domain name */
  domain: string
}

/** Input of `Partner.createCheckout`. */
export interface PartnerCreateCheckoutInput {
  /** the name to be sold; this or quote_id */
  domain?: string
  /** from POST /quotes: its price holds on the page while the quote does */
  quoteId?: string
  /** filled in on the page, where the buyer may change it */
  buyerEmail?: string
  /** where the buyer goes after paying; order and session are added to its query */
  returnUrl: string
  /** where the buyer goes on cancel */
  cancelUrl: string
  /** becomes the order's external_payment_ref; one order has it */
  externalRef?: string
}

/** Input of `Partner.searchDomains`. */
export interface PartnerSearchDomainsInput {
  /** words, a phrase or a name */
  q: string
}

/** Input of `Partner.listEvents`. */
export interface PartnerListEventsInput {
  /** only events after this one; next_cursor of the page before */
  afterId?: string
  /** events a page; 50 when left out */
  limit?: number
}

/** Input of `Partner.listLinks`. */
export interface PartnerListLinksInput {
  /** links a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.createLink`. */
export interface PartnerCreateLinkInput {
  /** where it leads: to the home page, to a domain for sale, or to a product */
  type: 'generic' | 'domain' | 'product'
  /** of a link of type domain */
  domain?: string
  /** of a link of type product */
  product?: 'search' | 'market' | 'brokerage' | 'api'
  /** the partner's own name for it */
  label?: string
}

/** Input of `Partner.referralClicks`. */
export interface PartnerReferralClicksInput {
  /** from this date or time on */
  from?: string
  /** before this date or time */
  to?: string
}

/** Input of `Partner.myCommissions`. */
export interface PartnerMyCommissionsInput {
  /** accrued at this date or time or later */
  from?: string
  /** accrued before this date or time */
  to?: string
  /** entries a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.myPayouts`. */
export interface PartnerMyPayoutsInput {
  /** created at this date or time or later */
  from?: string
  /** created before this date or time */
  to?: string
  /** payouts a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.referredSales`. */
export interface PartnerReferredSalesInput {
  /** sold at this date or time or later */
  from?: string
  /** sold before this date or time */
  to?: string
  /** sales a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.listOrders`. */
export interface PartnerListOrdersInput {
  status?: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  domain?: string
  /** created at this date or time or later */
  from?: string
  /** created before this date or time */
  to?: string
  /** orders a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.createOrder`. */
export interface PartnerCreateOrderInput {
  /** from POST /quotes; this, or domain and expected_price */
  quoteId?: string
  /** the name being sold */
  domain?: string
  /** what it costs, in cents; it must be the current price */
  expectedPrice?: number
  /** another name of expected_price */
  salePriceCents?: number
  /** ISO 4217 code; it must be the listing's */
  currency?: string
  buyer?: PartnerCreateOrderBuyer
  /** where the buyer returns after completion */
  returnUrl?: string
  /** where the buyer goes on cancel */
  cancelUrl?: string
  /** the partner's payment reference; one order has it */
  externalPaymentRef?: string
  /** check everything, record nothing, and answer 200 */
  dryRun?: boolean
}

/** Input of `Partner.listPayouts`. */
export interface PartnerListPayoutsInput {
  /** created at this date or time or later */
  from?: string
  /** created before this date or time */
  to?: string
  /** payouts a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.pricing`. */
export interface PartnerPricingInput {
  /** the domain name */
  domain: string
}

/** Input of `Partner.createQuote`. */
export interface PartnerCreateQuoteInput {
  /** the name to be sold */
  domain: string
}

/** Input of `Partner.createRefund`. */
export interface PartnerCreateRefundInput {
  /** public_id of the order */
  orderId: string
  /** why, in the partner's words */
  reason?: string
}

/** Input of `Partner.advanceClock`. */
export interface PartnerAdvanceClockInput {
  /** how far to move the clock on; it never goes back */
  advanceSeconds: number
}

/** Input of `Partner.listSettlements`. */
export interface PartnerListSettlementsInput {
  /** of periods that begin at this date or time or later */
  from?: string
  /** of periods that begin before this date or time */
  to?: string
  /** statements a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.getSettlement`. */
export interface PartnerGetSettlementInput {
  /** lines a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.listTransactions`. */
export interface PartnerListTransactionsInput {
  status?: 'EXTERNALLY_PAID' | 'PAID' | 'TRANSFER_IN_PROGRESS' | 'TRANSFER_COMPLETED' | 'SETTLED' | 'REFUNDED' | 'CANCELLED'
  paymentModel?: 'partner_collected' | 'service_collected'
  /** created at this date or time or later */
  from?: string
  /** created before this date or time */
  to?: string
  /** transactions a page; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `Partner.putWebhook`. */
export interface PartnerPutWebhookInput {
  /** https address that takes the events */
  url: string
  /** signs every delivery; it is never shown again */
  secret: string
}

/** Input of `Partner.listDeliveries`. */
export interface PartnerListDeliveriesInput {
  status?: 'pending' | 'delivered' | 'failed'
  /** deliveries a page; 50 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `compare_tld_prices`. */
export interface CompareTldPricesInput {
  /** TLDs to compare, e.g. com, net, io */
  tlds: string[]
  /** how long to register for; 1 when left out */
  years?: number
}

/** Input of `tld_registration_price`. */
export interface TldRegistrationPriceInput {
  /** a TLD, e.g. com or co.uk */
  tld: string
  /** register when left out */
  op?: 'register' | 'renew' | 'transfer' | 'restore'
}

/** Input of `list_tlds`. */
export interface ListTldsInput {
  /** TLDs a page, 1 to 100; 25 when left out */
  limit?: number
  /** next_cursor of the page before */
  cursor?: string
}

/** Input of `whois_lookup`. */
export interface WhoisLookupInput {
  /** a full domain name, e.g. example.com */
  domain: string
  /** true: add the reply as received, up to 16 KiB */
  includeRaw?: boolean
}
