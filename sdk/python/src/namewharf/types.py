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


class Label(TypedDict, total=False):
    min: int
    max: int
    idn: bool


class Lifecycle(TypedDict, total=False):
    add_grace_days: int
    renew_grace_days: int
    redemption_days: int
    pending_delete_days: int


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
    totals: List[Total]
    #: every day of the window
    by_day: List[PartnerAnalyticsByDay]


class PartnerAnalyticsByDay(TypedDict):
    #: in UTC
    date: str
    clicks: int
    checkouts: int
    sales: int


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


class _StatusRequired(TypedDict):
    code: str


class Status(_StatusRequired, total=False):
    meaning: str


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
    currency: str
    #: what buyers paid
    gmv_cents: int
    #: the partner's shares
    commission_cents: int


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
    "Delivery",
    "Detail",
    "Dnssec",
    "Domain",
    "Evidence",
    "Label",
    "Lifecycle",
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
    "PartnerAvailabilityAnswer",
    "PartnerBrokerageEligibilityAnswer",
    "PartnerCreateCaseAnswer",
    "PartnerCreateLinkAnswer",
    "PartnerCreateOrderAnswer",
    "PartnerCreateOrderBuyer",
    "PartnerCreateQuoteAnswer",
    "PartnerCreateRefundAnswer",
    "PartnerDeleteWebhookAnswer",
    "PartnerEvent",
    "PartnerGetCaseAnswer",
    "PartnerGetDomainAnswer",
    "PartnerGetOrderAnswer",
    "PartnerGetWebhookAnswer",
    "PartnerListCasesAnswer",
    "PartnerListDeliveriesAnswer",
    "PartnerListEventsAnswer",
    "PartnerListLinksAnswer",
    "PartnerListOrdersAnswer",
    "PartnerListOrdersPage",
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
    "Status",
    "Term",
    "Timeline",
    "Tld",
    "TldMetadataAnswer",
    "TldRegistrationPriceAnswer",
    "Total",
    "Transfer",
    "Unlock",
    "Whois",
    "WhoisLookupAnswer",
]
