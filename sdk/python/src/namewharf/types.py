# Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.
"""The types of answers, which are plain dictionaries, and of the objects inside inputs. Fields are as on the wire."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union


class AddDomainAnswer(TypedDict):
    domain: str
    #: pending: its proof is awaited; suspended: it seems to have changed hands, another proof is awaited
    status: Literal["pending", "verified", "suspended"]
    proof: Proof


class _AttemptRequired(TypedDict):
    at: str
    latency_ms: int


class Attempt(_AttemptRequired, total=False):
    status_code: int
    error: str


class BatchCatalogueAnswer(TypedDict):
    max_operations: int
    operations: List[BatchCatalogueOperation]


class BatchCatalogueOperation(TypedDict):
    op: str
    title: str
    description: str
    #: JSON Schema of params
    params: Dict[str, Any]
    #: JSON Schema of result
    result: Dict[str, Any]
    #: params that work
    example: Dict[str, Any]


class BatchLookupAnswer(TypedDict):
    results: List[BatchLookupResult]


class _BatchLookupResultRequired(TypedDict):
    id: str
    op: str
    ok: bool
    #: the HTTP status that the operation has alone
    status: int


class BatchLookupResult(_BatchLookupResultRequired, total=False):
    result: Dict[str, Any]
    error: ResultError


class BulkDomainsAnswer(TypedDict):
    op: Literal["list", "set_price", "unlist", "verify", "refresh", "remove"]
    dry_run: bool
    results: List[BulkDomainsResult]
    succeeded: int
    failed: int


class _BulkDomainsResultRequired(TypedDict):
    domain: str
    ok: bool


class BulkDomainsResult(_BulkDomainsResultRequired, total=False):
    error: ResultError


class Buyer(TypedDict, total=False):
    email: str
    name: str
    #: ISO 3166-1 alpha-2 code
    country: str


class ByDay(TypedDict):
    #: in UTC
    date: str
    clicks: int
    unique: int


class _CaseRequired(TypedDict):
    case_id: str
    domain: str
    tier: Literal["managed", "self_serve"]
    status: Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]
    #: what the buyer is ready to pay, in minor units
    budget: int
    currency: str
    created_at: str
    updated_at: str


class Case(_CaseRequired, total=False):
    #: what was agreed with the owner
    price_cents: int
    #: the partner's share of a completed case
    partner_share_cents: int
    #: the buyer's page; whoever has the link sees it
    progress_url: str
    timeline: List[CaseTimeline]


class _CaseTimelineRequired(TypedDict):
    at: str
    status: Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]


class CaseTimeline(_CaseTimelineRequired, total=False):
    note: str


class CheckDomainsAnswer(TypedDict):
    results: List[Result]
    prices_masked: bool
    #: when the oldest verdict was made
    checked_at: str


class CompareTldPricesAnswer(TypedDict):
    years: int
    results: List[CompareTldPricesResult]
    #: TLDs without the prices that the total needs
    unknown: List[str]


class _CompareTldPricesResultRequired(TypedDict):
    tld: str
    register: Registration
    #: to register, and to renew until the years are covered
    total: Total
    #: the day of the prices
    as_of: str


class CompareTldPricesResult(_CompareTldPricesResultRequired, total=False):
    renew: Registration
    transfer: Registration
    restore: Registration


class _DeliveryRequired(TypedDict):
    delivery_id: str
    event_id: str
    event_type: str
    status: str
    attempts: List[Attempt]


class Delivery(_DeliveryRequired, total=False):
    next_try_at: str


class Detail(TypedDict):
    #: the field at fault, with a dotted path and indexes in brackets
    field: str
    #: what is wrong with it, or the value expected
    reason: str


class Dnssec(TypedDict, total=False):
    signed: bool


class _DomainRequired(TypedDict):
    domain: str
    #: pending: its proof is awaited; suspended: it seems to have changed hands, another proof is awaited
    status: Literal["pending", "verified", "suspended"]


class Domain(_DomainRequired, total=False):
    #: the caller's offer; for sale while the status is verified
    listing: Listing
    #: as the registry said last
    expires_at: str


class _EntryRequired(TypedDict):
    entry_id: str
    source: Literal["service_collected", "brokerage", "referral"]
    #: accrued: sold; pending: the transfer is completed; paid_out: in a payout that is paid; reversed: refunded,
    #: cancelled or charged back before that
    state: Literal["accrued", "pending", "paid_out", "reversed"]
    #: negative in an entry that takes back one that is in a payout
    amount_cents: int
    #: sum of the entries in the currency up to this one that are not reversed
    balance_cents: int
    currency: str
    at: str


class Entry(_EntryRequired, total=False):
    order_id: str
    case_id: str


class PartnerEvent(TypedDict):
    id: str
    type: str
    created_at: str
    partner_id: str
    #: of an order's event: the order
    data: Dict[str, Any]


class _EvidenceRequired(TypedDict):
    source: str
    #: how long the answer took
    ms: int


class Evidence(_EvidenceRequired, total=False):
    host: str
    code: str
    #: of the zone file that the answer is from
    zone_date: str


class Label(TypedDict, total=False):
    min: int
    max: int
    idn: bool


class Lifecycle(TypedDict, total=False):
    add_grace_days: int
    renew_grace_days: int
    redemption_days: int
    pending_delete_days: int


class Line(TypedDict):
    order_id: str
    domain: str
    #: sale: the partner collected the price; commission: the service did, and nothing is owed; reversal: an order of
    #: an earlier statement was charged back
    type: Literal["sale", "commission", "reversal"]
    #: the price; negative in a reversal
    gross_cents: int
    #: the service's if the partner collected the price, else the partner's
    commission_cents: int
    #: what the partner owes the service
    owed_cents: int
    #: when the transfer was completed, or the order reversed
    at: str


class _LinkRequired(TypedDict):
    link_id: str
    type: Literal["generic", "domain", "product"]
    url: str
    created_at: str
    #: once a visitor and day
    clicks: int
    #: sum of the visitors of each day
    unique_visitors: int
    #: sales by the link, whatever became of them
    conversions: int
    #: sum of the sales in the currency
    sales_cents: int
    #: that of most of its sales; USD before the first one
    currency: str


class Link(_LinkRequired, total=False):
    domain: str
    product: Literal["search", "market", "brokerage", "api"]
    label: str


class ListDomainsAnswer(TypedDict):
    domains: List[Domain]
    page: PageInfo


class ListTldsAnswer(TypedDict):
    tlds: List[Tld]
    page: PageInfo


class Listing(TypedDict):
    price: Price


class _MarketListingsAnswerRequired(TypedDict):
    listings: List[MarketListingsListing]
    prices_masked: bool
    page: PageInfo


class MarketListingsAnswer(_MarketListingsAnswerRequired, total=False):
    #: how to see real prices; only when they are masked
    unlock: Unlock


class _MarketListingsListingRequired(TypedDict):
    domain: str
    tld: str
    price: Price
    listed_at: str


class MarketListingsListing(_MarketListingsListingRequired, total=False):
    unicode: str
    description: str


class _MetadataRequired(TypedDict):
    #: characters before the suffix
    length: int
    #: the words that it is made of
    words: List[str]
    #: whether it has characters beyond ASCII
    idn: bool
    keywords: List[str]


class Metadata(_MetadataRequired, total=False):
    description: str


class _NameserverRequired(TypedDict):
    host: str


class Nameserver(_NameserverRequired, total=False):
    addresses: List[str]


class Nameservers(TypedDict, total=False):
    min: int
    max: int
    required: bool
    #: whether they must answer for the name beforehand
    must_resolve: bool


class _OperationRequired(TypedDict):
    #: your own name for this operation, unique in the batch
    id: str
    #: name of an operation; GET /api/batch lists them
    op: str


class Operation(_OperationRequired, total=False):
    #: input of the operation
    params: Dict[str, Any]


class _OrderRequired(TypedDict):
    domain: str
    status: Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]
    sale_price_cents: int
    currency: str
    payment_model: Literal["partner_collected", "service_collected"]
    created_at: str
    updated_at: str


class Order(_OrderRequired, total=False):
    #: the order's id; a dry run has none
    public_id: str
    review: Literal["held", "cleared"]
    #: the partner's payment reference
    external_payment_ref: str
    buyer: Buyer
    return_url: str
    cancel_url: str
    timeline: List[Timeline]


class Organization(TypedDict, total=False):
    #: whether the registrant must be an organization
    required: bool
    eligibility: str
    #: ISO 3166 codes, EU or EEA
    allowed_countries: List[str]
    local_presence: bool


class PageInfo(TypedDict):
    #: cursor of the next page; null at the end
    next_cursor: Union[str, None]
    limit: int


class Params(TypedDict, total=False):
    priceCents: int
    #: USD when left out
    currency: str


class PartnerAdvanceClockAnswer(TypedDict):
    now: str
    #: how far it is ahead of the real one
    ahead_seconds: int


class PartnerAnalyticsAnswer(TypedDict):
    clicks: int
    #: sum of the visitors of each day
    unique_visitors: int
    #: in which a referred browser began to pay
    checkouts: int
    sales: int
    #: sales for each click, rounded to four digits; 0 without clicks
    conversion_rate: float
    totals: List[PartnerAnalyticsTotal]
    #: every day of the window
    by_day: List[PartnerAnalyticsByDay]


class PartnerAnalyticsByDay(TypedDict):
    #: in UTC
    date: str
    clicks: int
    checkouts: int
    sales: int


class PartnerAnalyticsTotal(TypedDict):
    currency: str
    #: what buyers paid
    gmv_cents: int
    #: the partner's shares
    commission_cents: int


class _PartnerAvailabilityAnswerRequired(TypedDict):
    domain: str
    available: bool


class PartnerAvailabilityAnswer(_PartnerAvailabilityAnswerRequired, total=False):
    #: where it is available
    price_cents: int
    currency: str


class PartnerBrokerageEligibilityAnswer(TypedDict):
    domain: str
    eligible: bool
    #: why not; empty where it is eligible
    reasons: List[Literal["active_site", "open_case", "listed", "unregistered", "undetermined"]]


class _PartnerCreateCaseAnswerRequired(TypedDict):
    case_id: str
    domain: str
    tier: Literal["managed", "self_serve"]
    status: Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]
    #: what the buyer is ready to pay, in minor units
    budget: int
    currency: str
    created_at: str
    updated_at: str


class PartnerCreateCaseAnswer(_PartnerCreateCaseAnswerRequired, total=False):
    #: what was agreed with the owner
    price_cents: int
    #: the partner's share of a completed case
    partner_share_cents: int
    #: the buyer's page; whoever has the link sees it
    progress_url: str
    timeline: List[CaseTimeline]


class PartnerCreateCheckoutAnswer(TypedDict):
    session_id: str
    #: redirect the buyer there
    checkout_url: str
    domain: str
    #: the price of now; what was paid once it is paid
    price_cents: int
    currency: str
    expires_at: str


class _PartnerCreateLinkAnswerRequired(TypedDict):
    link_id: str
    type: Literal["generic", "domain", "product"]
    url: str
    created_at: str


class PartnerCreateLinkAnswer(_PartnerCreateLinkAnswerRequired, total=False):
    domain: str
    product: Literal["search", "market", "brokerage", "api"]
    label: str


class _PartnerCreateOrderAnswerRequired(TypedDict):
    domain: str
    status: Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]
    sale_price_cents: int
    currency: str
    payment_model: Literal["partner_collected", "service_collected"]
    created_at: str
    updated_at: str


class PartnerCreateOrderAnswer(_PartnerCreateOrderAnswerRequired, total=False):
    #: the order's id; a dry run has none
    public_id: str
    review: Literal["held", "cleared"]
    #: the partner's payment reference
    external_payment_ref: str
    buyer: Buyer
    return_url: str
    cancel_url: str
    timeline: List[Timeline]


class PartnerCreateOrderBuyer(TypedDict, total=False):
    email: str
    name: str
    #: ISO 3166-1 alpha-2 code
    country: str


class PartnerCreateQuoteAnswer(TypedDict):
    #: send it with POST /orders; it is good for one order
    quote_id: str
    domain: str
    price_cents: int
    currency: str
    expires_at: str


class PartnerCreateRefundAnswer(TypedDict):
    refund_id: str
    order: Order
    amount_cents: int
    currency: str
    created_at: str


class PartnerDeleteWebhookAnswer(TypedDict):
    url: str
    active: bool
    created_at: str


class _PartnerGetCaseAnswerRequired(TypedDict):
    case_id: str
    domain: str
    tier: Literal["managed", "self_serve"]
    status: Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]
    #: what the buyer is ready to pay, in minor units
    budget: int
    currency: str
    created_at: str
    updated_at: str


class PartnerGetCaseAnswer(_PartnerGetCaseAnswerRequired, total=False):
    #: what was agreed with the owner
    price_cents: int
    #: the partner's share of a completed case
    partner_share_cents: int
    #: the buyer's page; whoever has the link sees it
    progress_url: str
    timeline: List[CaseTimeline]


class _PartnerGetCheckoutAnswerRequired(TypedDict):
    session_id: str
    #: redirect the buyer there
    checkout_url: str
    domain: str
    #: the price of now; what was paid once it is paid
    price_cents: int
    currency: str
    expires_at: str
    status: Literal["open", "paid", "refunded", "expired"]


class PartnerGetCheckoutAnswer(_PartnerGetCheckoutAnswerRequired, total=False):
    #: public_id of the order, once it is paid
    order_id: str


class PartnerGetDomainAnswer(TypedDict):
    domain: str
    unicode: str
    tld: str
    available: bool
    price_cents: int
    currency: str
    listed_at: str
    metadata: Metadata


class _PartnerGetOrderAnswerRequired(TypedDict):
    domain: str
    status: Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]
    sale_price_cents: int
    currency: str
    payment_model: Literal["partner_collected", "service_collected"]
    created_at: str
    updated_at: str


class PartnerGetOrderAnswer(_PartnerGetOrderAnswerRequired, total=False):
    #: the order's id; a dry run has none
    public_id: str
    review: Literal["held", "cleared"]
    #: the partner's payment reference
    external_payment_ref: str
    buyer: Buyer
    return_url: str
    cancel_url: str
    timeline: List[Timeline]


class PartnerGetSettlementAnswer(TypedDict):
    settlement_id: str
    period_start: str
    #: the first moment after the period
    period_end: str
    currency: str
    #: prices that the partner collected
    gross_sold_cents: int
    #: prices of the orders that are reversed
    refunded_cents: int
    commission_retained_cents: int
    amount_owed_cents: int
    #: orders that the partner collected
    order_count: int
    #: orders that the service collected; nothing is owed for them
    service_collected_count: int
    status: Literal["open", "paid"]
    closed_at: str
    lines: List[Line]
    page: PartnerListOrdersPage


class PartnerGetWebhookAnswer(TypedDict):
    url: str
    active: bool
    created_at: str


class PartnerListCasesAnswer(TypedDict):
    cases: List[Case]
    page: PartnerListOrdersPage


class PartnerListDeliveriesAnswer(TypedDict):
    deliveries: List[Delivery]
    page: PartnerListOrdersPage


class PartnerListEventsAnswer(TypedDict):
    events: List[PartnerEvent]
    #: after_id of the next page; null when there is nothing more
    next_cursor: Union[str, None]


class PartnerListLinksAnswer(TypedDict):
    links: List[Link]
    page: PartnerListOrdersPage


class PartnerListOrdersAnswer(TypedDict):
    orders: List[Order]
    page: PartnerListOrdersPage


class PartnerListOrdersPage(TypedDict):
    #: cursor of the next page; null at the end
    next_cursor: Union[str, None]


class PartnerListPayoutsAnswer(TypedDict):
    payouts: List[Payout]
    page: PartnerListOrdersPage


class PartnerListSettlementsAnswer(TypedDict):
    settlements: List[Settlement]
    page: PartnerListOrdersPage


class PartnerListTransactionsAnswer(TypedDict):
    transactions: List[Transaction]
    #: sums by currency of all that the filters select, whatever the status
    totals: List[PartnerListTransactionsTotal]
    page: PartnerListOrdersPage


class PartnerListTransactionsTotal(TypedDict):
    currency: str
    gmv_cents: int
    commission_cents: int
    count: int


class PartnerMyCommissionsAnswer(TypedDict):
    entries: List[Entry]
    page: PartnerListOrdersPage


class PartnerMyPayoutsAnswer(TypedDict):
    payouts: List[Payout]
    #: sums by currency of the payouts in the window that are paid
    totals: List[PartnerMyPayoutsTotal]
    page: PartnerListOrdersPage


class PartnerMyPayoutsTotal(TypedDict):
    currency: str
    amount_cents: int


class _PartnerPlayCaseAnswerRequired(TypedDict):
    case_id: str
    domain: str
    tier: Literal["managed", "self_serve"]
    status: Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]
    #: what the buyer is ready to pay, in minor units
    budget: int
    currency: str
    created_at: str
    updated_at: str


class PartnerPlayCaseAnswer(_PartnerPlayCaseAnswerRequired, total=False):
    #: what was agreed with the owner
    price_cents: int
    #: the partner's share of a completed case
    partner_share_cents: int
    #: the buyer's page; whoever has the link sees it
    progress_url: str
    timeline: List[CaseTimeline]


class _PartnerPlayOrderAnswerRequired(TypedDict):
    domain: str
    status: Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]
    sale_price_cents: int
    currency: str
    payment_model: Literal["partner_collected", "service_collected"]
    created_at: str
    updated_at: str


class PartnerPlayOrderAnswer(_PartnerPlayOrderAnswerRequired, total=False):
    #: the order's id; a dry run has none
    public_id: str
    review: Literal["held", "cleared"]
    #: the partner's payment reference
    external_payment_ref: str
    buyer: Buyer
    return_url: str
    cancel_url: str
    timeline: List[Timeline]


class PartnerPricingAnswer(TypedDict):
    domain: str
    buy_now_cents: int
    #: the least that the seller takes
    floor_price_cents: int
    currency: str


class PartnerPutWebhookAnswer(TypedDict):
    url: str
    active: bool
    created_at: str


class _PartnerRedeliverAnswerRequired(TypedDict):
    delivery_id: str
    event_id: str
    event_type: str
    status: str
    attempts: List[Attempt]


class PartnerRedeliverAnswer(_PartnerRedeliverAnswerRequired, total=False):
    next_try_at: str


class PartnerReferralClicksAnswer(TypedDict):
    #: once a visitor, link and day
    total: int
    #: sum of the visitors of each day
    unique: int
    by_day: List[ByDay]


class PartnerReferredSalesAnswer(TypedDict):
    sales: List[Sale]
    page: PartnerListOrdersPage


class PartnerSearchDomainsAnswer(TypedDict):
    query: str
    count: int
    results: List[PartnerSearchDomainsResult]


class PartnerSearchDomainsResult(TypedDict):
    domain: str
    tld: str
    available: bool
    price_cents: int
    currency: str
    match: Literal["exact", "keyword", "semantic"]


class PartnerTestWebhookAnswer(TypedDict):
    event_id: str
    event_type: str


class _PayoutRequired(TypedDict):
    payout_id: str
    source: Literal["service_collected", "brokerage", "referral"]
    amount_cents: int
    currency: str
    status: Literal["created", "paid", "failed"]
    created_at: str


class Payout(_PayoutRequired, total=False):
    paid_at: str
    #: of the payment
    reference: str


class _PriceRequired(TypedDict):
    masked: bool
    currency: str


class Price(_PriceRequired, total=False):
    #: what to show instead of a masked price
    display: str
    #: in minor units; only when not masked
    priceCents: int


class Proof(TypedDict):
    type: Literal["TXT"]
    name: str
    value: str


class Rdap(TypedDict, total=False):
    url: str
    source: Literal["iana", "supplement", "operator"]


class Registrant(TypedDict, total=False):
    name: str
    organization: str
    country: str


class Registrar(TypedDict, total=False):
    name: str
    iana_id: str
    url: str
    abuse_email: str
    abuse_phone: str


class Registration(TypedDict):
    priceCents: int
    currency: str
    term_years: int


class Registry(TypedDict, total=False):
    name: str
    url: str


class _ResultRequired(TypedDict):
    #: A-label form
    domain: str
    tld: str
    kind: Literal["exact", "sibling", "listing"]
    status: Literal["available", "likely_available", "registered", "expiring", "reserved", "invalid", "unknown"]
    confidence: Literal["registry", "zone", "dns", "whois", "none"]
    evidence: List[Evidence]


class Result(_ResultRequired, total=False):
    unicode: str
    #: absent when not certain
    available: bool
    reason: str
    #: what registering the name costs
    registration: Registration
    #: what renewing it costs
    renewal: Registration
    #: present when the name is for sale here
    listing: Listing
    retry_after_s: int


class _ResultErrorRequired(TypedDict):
    code: str
    message: str


class ResultError(_ResultErrorRequired, total=False):
    details: List[Detail]
    retry_after_s: int


class Sale(TypedDict):
    #: of the order
    public_id: str
    #: masked
    buyer: str
    domain: str
    amount_cents: int
    #: the partner's share as it accrued
    commission_cents: int
    currency: str
    at: str


class _SearchDomainAnswerRequired(TypedDict):
    query: str
    label: str
    results: List[Result]
    prices_masked: bool
    #: when the oldest verdict was made
    checked_at: str


class SearchDomainAnswer(_SearchDomainAnswerRequired, total=False):
    #: how to see real marketplace prices; only when they are masked
    unlock: Unlock


class Settlement(TypedDict):
    settlement_id: str
    period_start: str
    #: the first moment after the period
    period_end: str
    currency: str
    #: prices that the partner collected
    gross_sold_cents: int
    #: prices of the orders that are reversed
    refunded_cents: int
    commission_retained_cents: int
    amount_owed_cents: int
    #: orders that the partner collected
    order_count: int
    #: orders that the service collected; nothing is owed for them
    service_collected_count: int
    status: Literal["open", "paid"]
    closed_at: str


class _StatusRequired(TypedDict):
    code: str


class Status(_StatusRequired, total=False):
    meaning: str


class SuggestDomainsAnswer(TypedDict):
    query: str
    #: of the query, that names were made of
    words: List[str]
    suggestions: List[Suggestion]
    #: how many names were looked up
    checked: int
    #: when the oldest verdict was made
    checked_at: str


class _SuggestionRequired(TypedDict):
    domain: str
    tld: str
    label: str
    style: Literal["short", "compound", "prefix", "suffix", "blend", "synonym", "hack"]
    words: List[str]
    why: str
    status: Literal["available", "likely_available", "registered", "expiring", "reserved", "invalid", "unknown"]
    confidence: Literal["registry", "zone", "dns", "whois", "none"]


class Suggestion(_SuggestionRequired, total=False):
    #: absent when not certain
    available: bool
    #: what registering the name costs
    registration: Registration
    #: what renewing it costs
    renewal: Registration
    #: present when the name is for sale here
    listing: Listing


class Term(TypedDict, total=False):
    min_years: int
    max_years: int


class Timeline(TypedDict):
    at: str
    #: what happened: the type of the event, where there is one
    type: str
    #: the order's status from then on
    status: Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]


class _TldRequired(TypedDict):
    tld: str
    unicode: str
    type: Literal["generic", "country-code", "brand", "sponsored", "infrastructure"]


class Tld(_TldRequired, total=False):
    register: Registration
    renew: Registration
    transfer: Registration
    restore: Registration
    #: the day of the prices
    as_of: str


class _TldMetadataAnswerRequired(TypedDict):
    tld: str
    unicode: str
    type: Literal["generic", "country-code", "brand", "sponsored", "infrastructure"]
    registry: Registry
    term: Term
    organization: Organization
    nameservers: Nameservers
    transfer: Transfer
    lifecycle: Lifecycle
    label: Label
    rdap: Rdap
    whois: Whois
    #: the facts that are not known, as dotted paths
    unknown: List[str]
    #: the documents that the facts were read from
    sources: List[str]
    #: no fact is older
    as_of: str


class TldMetadataAnswer(_TldMetadataAnswerRequired, total=False):
    #: whether delegations can be signed
    dnssec: bool


class TldRegistrationPriceAnswer(TypedDict):
    tld: str
    op: Literal["register", "renew", "transfer", "restore"]
    priceCents: int
    currency: str
    #: the years that the price pays for; 0: none
    term_years: int
    #: the day of the price
    as_of: str


class Total(TypedDict):
    priceCents: int
    currency: str


class Transaction(TypedDict):
    public_id: str
    domain: str
    sale_price_cents: int
    #: the service's on a sale that the partner collected, else the partner's
    commission_cents: int
    currency: str
    status: Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]
    payment_model: Literal["partner_collected", "service_collected"]
    created_at: str


class Transfer(TypedDict, total=False):
    auth_code: bool
    adds_years: int


class _UnlockRequired(TypedDict):
    message: str


class Unlock(_UnlockRequired, total=False):
    #: OAuth protected-resource metadata (RFC 9728)
    resource_metadata: str


class Whois(TypedDict, total=False):
    server: str


class _WhoisLookupAnswerRequired(TypedDict):
    domain: str
    status: List[Status]
    nameservers: List[Nameserver]
    #: those that were asked
    servers: List[str]
    #: fields that the publisher withholds
    redacted: List[str]
    warnings: List[str]
    fetched_at: str


class WhoisLookupAnswer(_WhoisLookupAnswerRequired, total=False):
    unicode: str
    #: absent when it could not be found out; warnings say why
    registered: bool
    registrar: Registrar
    registrant: Registrant
    created_at: str
    updated_at: str
    expires_at: str
    age_days: int
    #: negative when it has passed
    days_to_expiry: int
    dnssec: Dnssec
    source: Literal["rdap", "whois", "merged"]
    retry_after_s: int
    raw: str


__all__ = [
    "AddDomainAnswer",
    "Attempt",
    "BatchCatalogueAnswer",
    "BatchCatalogueOperation",
    "BatchLookupAnswer",
    "BatchLookupResult",
    "BulkDomainsAnswer",
    "BulkDomainsResult",
    "Buyer",
    "ByDay",
    "Case",
    "CaseTimeline",
    "CheckDomainsAnswer",
    "CompareTldPricesAnswer",
    "CompareTldPricesResult",
    "Delivery",
    "Detail",
    "Dnssec",
    "Domain",
    "Entry",
    "Evidence",
    "Label",
    "Lifecycle",
    "Line",
    "Link",
    "ListDomainsAnswer",
    "ListTldsAnswer",
    "Listing",
    "MarketListingsAnswer",
    "MarketListingsListing",
    "Metadata",
    "Nameserver",
    "Nameservers",
    "Operation",
    "Order",
    "Organization",
    "PageInfo",
    "Params",
    "PartnerAdvanceClockAnswer",
    "PartnerAnalyticsAnswer",
    "PartnerAnalyticsByDay",
    "PartnerAnalyticsTotal",
    "PartnerAvailabilityAnswer",
    "PartnerBrokerageEligibilityAnswer",
    "PartnerCreateCaseAnswer",
    "PartnerCreateCheckoutAnswer",
    "PartnerCreateLinkAnswer",
    "PartnerCreateOrderAnswer",
    "PartnerCreateOrderBuyer",
    "PartnerCreateQuoteAnswer",
    "PartnerCreateRefundAnswer",
    "PartnerDeleteWebhookAnswer",
    "PartnerEvent",
    "PartnerGetCaseAnswer",
    "PartnerGetCheckoutAnswer",
    "PartnerGetDomainAnswer",
    "PartnerGetOrderAnswer",
    "PartnerGetSettlementAnswer",
    "PartnerGetWebhookAnswer",
    "PartnerListCasesAnswer",
    "PartnerListDeliveriesAnswer",
    "PartnerListEventsAnswer",
    "PartnerListLinksAnswer",
    "PartnerListOrdersAnswer",
    "PartnerListOrdersPage",
    "PartnerListPayoutsAnswer",
    "PartnerListSettlementsAnswer",
    "PartnerListTransactionsAnswer",
    "PartnerListTransactionsTotal",
    "PartnerMyCommissionsAnswer",
    "PartnerMyPayoutsAnswer",
    "PartnerMyPayoutsTotal",
    "PartnerPlayCaseAnswer",
    "PartnerPlayOrderAnswer",
    "PartnerPricingAnswer",
    "PartnerPutWebhookAnswer",
    "PartnerRedeliverAnswer",
    "PartnerReferralClicksAnswer",
    "PartnerReferredSalesAnswer",
    "PartnerSearchDomainsAnswer",
    "PartnerSearchDomainsResult",
    "PartnerTestWebhookAnswer",
    "Payout",
    "Price",
    "Proof",
    "Rdap",
    "Registrant",
    "Registrar",
    "Registration",
    "Registry",
    "Result",
    "ResultError",
    "Sale",
    "SearchDomainAnswer",
    "Settlement",
    "Status",
    "SuggestDomainsAnswer",
    "Suggestion",
    "Term",
    "Timeline",
    "Tld",
    "TldMetadataAnswer",
    "TldRegistrationPriceAnswer",
    "Total",
    "Transaction",
    "Transfer",
    "Unlock",
    "Whois",
    "WhoisLookupAnswer",
]
