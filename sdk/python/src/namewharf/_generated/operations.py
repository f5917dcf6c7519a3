# Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.
from .._operation import Listed, Operation

# List batch operations.
batch_catalogue = Operation(
    "batch_catalogue", "GET", "/api/batch",
    read=True,
)

# Run several operations.
batch_lookup = Operation(
    "batch_lookup", "POST", "/api/batch",
    read=True,
    body=True,
    required=("operations",),
)

# Check many domains.
check_domains = Operation(
    "check_domains", "POST", "/api/domain/check",
    read=True,
    batch=True,
    body=True,
    required=("domains",),
)

# Search a domain.
search_domain = Operation(
    "search_domain", "POST", "/api/domain/search",
    read=True,
    batch=True,
    body=True,
    required=("q",),
)

# Suggest domains.
suggest_domains = Operation(
    "suggest_domains", "POST", "/api/domain/suggest",
    read=True,
    batch=True,
    body=True,
    required=("q",),
)

# List your domains.
list_domains = Operation(
    "list_domains", "GET", "/api/domains",
    read=True,
    listed=Listed("domains", "cursor", "page.next_cursor"),
)

# Add a domain of yours.
add_domain = Operation(
    "add_domain", "POST", "/api/domains",
    body=True,
    required=("domain",),
)

# Change many of your domains.
bulk_domains = Operation(
    "bulk_domains", "POST", "/api/domains/bulk/{op}",
    body=True,
    required=("domains",),
)

# Browse names for sale.
market_listings = Operation(
    "market_listings", "GET", "/api/market/listings",
    read=True,
    batch=True,
    listed=Listed("listings", "cursor", "page.next_cursor"),
)

# Referral analytics.
partner_analytics = Operation(
    "partner_analytics", "GET", "/api/partner/v1/analytics",
    read=True,
)

# Ask whether a name can be bought.
partner_availability = Operation(
    "partner_availability", "GET", "/api/partner/v1/availability",
    read=True,
    required=("domain",),
)

# List brokerage cases.
partner_list_cases = Operation(
    "partner_list_cases", "GET", "/api/partner/v1/brokerage",
    read=True,
    listed=Listed("cases", "cursor", "page.next_cursor"),
)

# Open a brokerage case.
partner_create_case = Operation(
    "partner_create_case", "POST", "/api/partner/v1/brokerage",
    keyed=True,
    body=True,
    required=("domain", "tier", "buyer_email", "budget",),
)

# Ask whether a name can be brokered.
partner_brokerage_eligibility = Operation(
    "partner_brokerage_eligibility", "GET", "/api/partner/v1/brokerage/eligibility",
    read=True,
    required=("domain",),
)

# Look at a brokerage case.
partner_get_case = Operation(
    "partner_get_case", "GET", "/api/partner/v1/brokerage/{case_id}",
    read=True,
)

# Send a buyer to the checkout.
partner_create_checkout = Operation(
    "partner_create_checkout", "POST", "/api/partner/v1/checkout-session",
    keyed=True,
    body=True,
    required=("return_url", "cancel_url",),
)

# Look at a checkout session.
partner_get_checkout = Operation(
    "partner_get_checkout", "GET", "/api/partner/v1/checkout-session/{session_id}",
    read=True,
)

# Search names for sale.
partner_search_domains = Operation(
    "partner_search_domains", "GET", "/api/partner/v1/domains/search",
    read=True,
    required=("q",),
)

# Look at a name for sale.
partner_get_domain = Operation(
    "partner_get_domain", "GET", "/api/partner/v1/domains/{name}",
    read=True,
)

# Replay events.
partner_list_events = Operation(
    "partner_list_events", "GET", "/api/partner/v1/events",
    read=True,
    listed=Listed("events", "after_id", "next_cursor"),
)

# List tracked links.
partner_list_links = Operation(
    "partner_list_links", "GET", "/api/partner/v1/links",
    read=True,
    listed=Listed("links", "cursor", "page.next_cursor"),
)

# Create a tracked link.
partner_create_link = Operation(
    "partner_create_link", "POST", "/api/partner/v1/links",
    keyed=True,
    body=True,
    required=("type",),
)

# Count referral clicks.
partner_referral_clicks = Operation(
    "partner_referral_clicks", "GET", "/api/partner/v1/me/clicks",
    read=True,
)

# List commissions.
partner_my_commissions = Operation(
    "partner_my_commissions", "GET", "/api/partner/v1/me/commissions",
    read=True,
    listed=Listed("entries", "cursor", "page.next_cursor"),
)

# List payouts with totals.
partner_my_payouts = Operation(
    "partner_my_payouts", "GET", "/api/partner/v1/me/payouts",
    read=True,
    listed=Listed("payouts", "cursor", "page.next_cursor"),
)

# List referred sales.
partner_referred_sales = Operation(
    "partner_referred_sales", "GET", "/api/partner/v1/me/sales",
    read=True,
    listed=Listed("sales", "cursor", "page.next_cursor"),
)

# List orders.
partner_list_orders = Operation(
    "partner_list_orders", "GET", "/api/partner/v1/orders",
    read=True,
    listed=Listed("orders", "cursor", "page.next_cursor"),
)

# Record a sale.
partner_create_order = Operation(
    "partner_create_order", "POST", "/api/partner/v1/orders",
    keyed=True,
    body=True,
)

# Look at an order.
partner_get_order = Operation(
    "partner_get_order", "GET", "/api/partner/v1/orders/{public_id}",
    read=True,
)

# List payouts.
partner_list_payouts = Operation(
    "partner_list_payouts", "GET", "/api/partner/v1/payouts",
    read=True,
    listed=Listed("payouts", "cursor", "page.next_cursor"),
)

# Ask for the price of a name.
partner_pricing = Operation(
    "partner_pricing", "GET", "/api/partner/v1/pricing",
    read=True,
    required=("domain",),
)

# Lock a price.
partner_create_quote = Operation(
    "partner_create_quote", "POST", "/api/partner/v1/quotes",
    keyed=True,
    body=True,
    required=("domain",),
)

# Refund an order.
partner_create_refund = Operation(
    "partner_create_refund", "POST", "/api/partner/v1/refunds",
    keyed=True,
    body=True,
    required=("order_id",),
)

# Play the operator of a case.
partner_play_case = Operation(
    "partner_play_case", "POST", "/api/partner/v1/sandbox/brokerage/{case_id}/{play}",
    keyed=True,
)

# Move the test clock.
partner_advance_clock = Operation(
    "partner_advance_clock", "POST", "/api/partner/v1/sandbox/clock",
    keyed=True,
    body=True,
    required=("advance_seconds",),
)

# Play the operator.
partner_play_order = Operation(
    "partner_play_order", "POST", "/api/partner/v1/sandbox/orders/{public_id}/{play}",
    keyed=True,
)

# List statements.
partner_list_settlements = Operation(
    "partner_list_settlements", "GET", "/api/partner/v1/settlements",
    read=True,
    listed=Listed("settlements", "cursor", "page.next_cursor"),
)

# Look at a statement.
partner_get_settlement = Operation(
    "partner_get_settlement", "GET", "/api/partner/v1/settlements/{settlement_id}",
    read=True,
    listed=Listed("lines", "cursor", "page.next_cursor"),
)

# Report sales.
partner_list_transactions = Operation(
    "partner_list_transactions", "GET", "/api/partner/v1/transactions",
    read=True,
    listed=Listed("transactions", "cursor", "page.next_cursor"),
)

# Look at the webhook.
partner_get_webhook = Operation(
    "partner_get_webhook", "GET", "/api/partner/webhooks",
    read=True,
)

# Register the webhook.
partner_put_webhook = Operation(
    "partner_put_webhook", "PUT", "/api/partner/webhooks",
    body=True,
    required=("url", "secret",),
)

# Remove the webhook.
partner_delete_webhook = Operation(
    "partner_delete_webhook", "DELETE", "/api/partner/webhooks",
)

# List deliveries.
partner_list_deliveries = Operation(
    "partner_list_deliveries", "GET", "/api/partner/webhooks/deliveries",
    read=True,
    listed=Listed("deliveries", "cursor", "page.next_cursor"),
)

# Deliver again.
partner_redeliver = Operation(
    "partner_redeliver", "POST", "/api/partner/webhooks/deliveries/{id}/redeliver",
    keyed=True,
)

# Test the webhook.
partner_test_webhook = Operation(
    "partner_test_webhook", "POST", "/api/partner/webhooks/test",
    keyed=True,
)

# Compare TLD prices.
compare_tld_prices = Operation(
    "compare_tld_prices", "GET", "/api/pricing/compare",
    read=True,
    batch=True,
    required=("tlds",),
)

# Price of a TLD.
tld_registration_price = Operation(
    "tld_registration_price", "GET", "/api/pricing/tld",
    read=True,
    batch=True,
    required=("tld",),
)

# List TLDs.
list_tlds = Operation(
    "list_tlds", "GET", "/api/tlds",
    read=True,
    batch=True,
    listed=Listed("tlds", "cursor", "page.next_cursor"),
)

# Rules of a TLD.
tld_metadata = Operation(
    "tld_metadata", "GET", "/api/tlds/{tld}/metadata",
    read=True,
    batch=True,
)

# Look up a registration.
whois_lookup = Operation(
    "whois_lookup", "POST", "/api/tools/whois",
    read=True,
    batch=True,
    body=True,
    required=("domain",),
)
