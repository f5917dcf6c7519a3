# Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple

from . import operations

if TYPE_CHECKING:
    from typing import List, Literal, Union

    from .. import types
    from .._operation import CallOptions, Operation
    from .._paging import AsyncPages


class AsyncPartnerOperations:
    """The partner operations; AsyncPartner sends and signs them."""

    async def _send(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        raise NotImplementedError

    def _pages(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        raise NotImplementedError

    async def analytics(self, *, from_: Optional[str] = None, to: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerAnalyticsAnswer:
        """Referral analytics. From clicks by checkouts to sales, in all and by day, over at most 400 days; the last 30
        when no window is given. Clicks count by whole days. Needs the scope `report`.
        """
        answer: types.PartnerAnalyticsAnswer = await self._send(operations.partner_analytics, (), {"from": from_, "to": to}, (timeout, None, idempotency_key, headers))
        return answer

    async def availability(self, domain: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerAvailabilityAnswer:
        """Ask whether a name can be bought. Whether a name is for sale here, and its price. A name that is not listed is
        not available, which is no error. Needs the scope `search`.
        """
        answer: types.PartnerAvailabilityAnswer = await self._send(operations.partner_availability, (), {"domain": domain}, (timeout, None, idempotency_key, headers))
        return answer

    def list_cases(self, *, status: Optional[Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Case, types.PartnerListCasesAnswer]:
        """List brokerage cases. The partner's cases and what came of them, the newest first, by status and time of
        opening. The timeline and the progress link are in the single case. Needs the scope `report`. Loop over all
        with `async for`, or take one page.
        """
        answer: AsyncPages[types.Case, types.PartnerListCasesAnswer] = self._pages(operations.partner_list_cases, (), {"status": status, "from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def cases(self, *, status: Optional[Literal["OPEN", "CONTACTED", "NEGOTIATING", "AGREED", "COMPLETED", "CLOSED"]] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Case, types.PartnerListCasesAnswer]:
        """The same as list_cases: every one of them with `async for`."""
        return self.list_cases(status=status, from_=from_, to=to, limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    async def create_case(self, domain: str, tier: Literal["managed", "self_serve"], buyer_email: str, budget: int, *, currency: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerCreateCaseAnswer:
        """Open a brokerage case. Asks the service to acquire a domain that is not for sale here. The answer has a link
        to a page that shows the buyer the progress without a sign-in. A domain that is not eligible, or has an open
        case, is a conflict with the reasons in its details. Needs the scope `broker`.
        """
        answer: types.PartnerCreateCaseAnswer = await self._send(operations.partner_create_case, (), {"domain": domain, "tier": tier, "buyer_email": buyer_email, "budget": budget, "currency": currency}, (timeout, None, idempotency_key, headers))
        return answer

    async def brokerage_eligibility(self, domain: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerBrokerageEligibilityAnswer:
        """Ask whether a name can be brokered. Whether a case can be opened for a domain, and why not: active_site,
        open_case, listed, unregistered, or undetermined where registry or site do not answer clearly. In the sandbox
        names like active-acme.example, parked-acme.example and unregistered-acme.example are answered by rule. Needs
        the scope `broker`.
        """
        answer: types.PartnerBrokerageEligibilityAnswer = await self._send(operations.partner_brokerage_eligibility, (), {"domain": domain}, (timeout, None, idempotency_key, headers))
        return answer

    async def get_case(self, case_id: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerGetCaseAnswer:
        """Look at a brokerage case. One of the partner's cases, with its timeline and the link to the buyer's page.
        Needs the scope `broker`.
        """
        answer: types.PartnerGetCaseAnswer = await self._send(operations.partner_get_case, (case_id,), {}, (timeout, None, idempotency_key, headers))
        return answer

    async def create_checkout(self, return_url: str, cancel_url: str, *, domain: Optional[str] = None, quote_id: Optional[str] = None, buyer_email: Optional[str] = None, external_ref: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerCreateCheckoutAnswer:
        """Send a buyer to the checkout. A link to the service's own checkout, good for 7 days, where the buyer pays the
        service for a name. The sale is attributed to the partner, who earns a commission. The name is not reserved:
        another may buy it meanwhile. Needs the scope `embed`.
        """
        answer: types.PartnerCreateCheckoutAnswer = await self._send(operations.partner_create_checkout, (), {"domain": domain, "quote_id": quote_id, "buyer_email": buyer_email, "return_url": return_url, "cancel_url": cancel_url, "external_ref": external_ref}, (timeout, None, idempotency_key, headers))
        return answer

    async def get_checkout(self, session_id: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerGetCheckoutAnswer:
        """Look at a checkout session. One of the partner's checkout sessions: whether its buyer has paid, and the order.
        Needs the scope `embed`.
        """
        answer: types.PartnerGetCheckoutAnswer = await self._send(operations.partner_get_checkout, (session_id,), {}, (timeout, None, idempotency_key, headers))
        return answer

    async def search_domains(self, q: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerSearchDomainsAnswer:
        """Search names for sale. The names for sale that fit words best, at most 5, by name, by word and by meaning. Use
        it to offer a buyer something; fewer are found where fewer fit. Needs the scope `search`.
        """
        answer: types.PartnerSearchDomainsAnswer = await self._send(operations.partner_search_domains, (), {"q": q}, (timeout, None, idempotency_key, headers))
        return answer

    async def get_domain(self, name: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerGetDomainAnswer:
        """Look at a name for sale. Price and description of a name that is for sale. A name that is not listed is not
        found. Needs the scope `search`.
        """
        answer: types.PartnerGetDomainAnswer = await self._send(operations.partner_get_domain, (name,), {}, (timeout, None, idempotency_key, headers))
        return answer

    def list_events(self, *, after_id: Optional[str] = None, limit: Optional[int] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.PartnerEvent, types.PartnerListEventsAnswer]:
        """Replay events. What happened to the partner's orders, in the order in which it happened. Follow after_id to
        miss nothing, such as after a webhook receiver was down. Needs the scope `webhook`. Loop over all with `async
        for`, or take one page.
        """
        answer: AsyncPages[types.PartnerEvent, types.PartnerListEventsAnswer] = self._pages(operations.partner_list_events, (), {"after_id": after_id, "limit": limit}, (timeout, None, idempotency_key, headers))
        return answer

    def events(self, *, after_id: Optional[str] = None, limit: Optional[int] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.PartnerEvent, types.PartnerListEventsAnswer]:
        """The same as list_events: every one of them with `async for`."""
        return self.list_events(after_id=after_id, limit=limit, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    def list_links(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Link, types.PartnerListLinksAnswer]:
        """List tracked links. The partner's links, the newest first, with their clicks and sales. Needs the scope
        `refer`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Link, types.PartnerListLinksAnswer] = self._pages(operations.partner_list_links, (), {"limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def links(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Link, types.PartnerListLinksAnswer]:
        """The same as list_links: every one of them with `async for`."""
        return self.list_links(limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    async def create_link(self, type: Literal["generic", "domain", "product"], *, domain: Optional[str] = None, product: Optional[Literal["search", "market", "brokerage", "api"]] = None, label: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerCreateLinkAnswer:
        """Create a tracked link. A link that leads to the home page, to a domain for sale or to a product, and counts
        who follows it. A checkout by the same browser within 30 days earns the partner its referral share. The
        partner must be linked to an affiliate account. Needs the scope `refer`.
        """
        answer: types.PartnerCreateLinkAnswer = await self._send(operations.partner_create_link, (), {"type": type, "domain": domain, "product": product, "label": label}, (timeout, None, idempotency_key, headers))
        return answer

    async def referral_clicks(self, *, from_: Optional[str] = None, to: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerReferralClicksAnswer:
        """Count referral clicks. The clicks on the partner's links, by day: once a visitor, link and day, without
        crawlers and prefetches. They appear within seconds. Needs the scope `report`.
        """
        answer: types.PartnerReferralClicksAnswer = await self._send(operations.partner_referral_clicks, (), {"from": from_, "to": to}, (timeout, None, idempotency_key, headers))
        return answer

    def my_commissions(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Entry, types.PartnerMyCommissionsAnswer]:
        """List commissions. The partner's commission ledger with its running balance, the newest entry first. Needs the
        link to an affiliate account. Needs the scope `report`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Entry, types.PartnerMyCommissionsAnswer] = self._pages(operations.partner_my_commissions, (), {"from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def my_payouts(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Payout, types.PartnerMyPayoutsAnswer]:
        """List payouts with totals. What the partner is paid, of every source, the newest first, with the sums of what
        was paid. Needs the link to an affiliate account. Needs the scope `report`. Loop over all with `async for`, or
        take one page.
        """
        answer: AsyncPages[types.Payout, types.PartnerMyPayoutsAnswer] = self._pages(operations.partner_my_payouts, (), {"from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def referred_sales(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Sale, types.PartnerReferredSalesAnswer]:
        """List referred sales. The sales by the partner's links, the newest first, with the share as it accrued and the
        buyer masked. What became of a share is in the commissions. Needs the scope `report`. Loop over all with
        `async for`, or take one page.
        """
        answer: AsyncPages[types.Sale, types.PartnerReferredSalesAnswer] = self._pages(operations.partner_referred_sales, (), {"from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def list_orders(self, *, status: Optional[Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]] = None, domain: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Order, types.PartnerListOrdersAnswer]:
        """List orders. The partner's orders, the newest first, by status, domain and time of creation. Needs the scope
        `buy`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Order, types.PartnerListOrdersAnswer] = self._pages(operations.partner_list_orders, (), {"status": status, "domain": domain, "from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def orders(self, *, status: Optional[Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]] = None, domain: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Order, types.PartnerListOrdersAnswer]:
        """The same as list_orders: every one of them with `async for`."""
        return self.list_orders(status=status, domain=domain, from_=from_, to=to, limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    async def create_order(self, *, quote_id: Optional[str] = None, domain: Optional[str] = None, expected_price: Optional[int] = None, sale_price_cents: Optional[int] = None, currency: Optional[str] = None, buyer: Optional[types.PartnerCreateOrderBuyer] = None, return_url: Optional[str] = None, cancel_url: Optional[str] = None, external_payment_ref: Optional[str] = None, dry_run: Optional[bool] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerCreateOrderAnswer:
        """Record a sale. Records that the partner has sold a name and collected the money; the transfer of the name
        follows. Needs an Idempotency-Key: the same request with the same key never sells twice, and gets the same
        answer. Needs the scope `buy`.
        """
        answer: types.PartnerCreateOrderAnswer = await self._send(operations.partner_create_order, (), {"quote_id": quote_id, "domain": domain, "expected_price": expected_price, "sale_price_cents": sale_price_cents, "currency": currency, "buyer": buyer, "return_url": return_url, "cancel_url": cancel_url, "external_payment_ref": external_payment_ref, "dry_run": dry_run}, (timeout, None, idempotency_key, headers))
        return answer

    async def get_order(self, public_id: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerGetOrderAnswer:
        """Look at an order. One of the partner's orders, with the timeline of its transfer. Needs the scope `buy`."""
        answer: types.PartnerGetOrderAnswer = await self._send(operations.partner_get_order, (public_id,), {}, (timeout, None, idempotency_key, headers))
        return answer

    def list_payouts(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Payout, types.PartnerListPayoutsAnswer]:
        """List payouts. What the partner is paid: commissions of sales that the service collected, shares of brokerage
        deals and of referred sales, the newest first. Needs the scope `report`. Loop over all with `async for`, or
        take one page.
        """
        answer: AsyncPages[types.Payout, types.PartnerListPayoutsAnswer] = self._pages(operations.partner_list_payouts, (), {"from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def payouts(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Payout, types.PartnerListPayoutsAnswer]:
        """The same as list_payouts: every one of them with `async for`."""
        return self.list_payouts(from_=from_, to=to, limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    async def pricing(self, domain: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerPricingAnswer:
        """Ask for the price of a name. Buy-now price and floor price of a name that is for sale. A name that is not
        listed is not found. Needs the scope `search`.
        """
        answer: types.PartnerPricingAnswer = await self._send(operations.partner_pricing, (), {"domain": domain}, (timeout, None, idempotency_key, headers))
        return answer

    async def create_quote(self, domain: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerCreateQuoteAnswer:
        """Lock a price. The current buy-now price of a name, which holds for this partner for 10 minutes. The name is
        not reserved: another may buy it meanwhile. Needs the scope `buy`.
        """
        answer: types.PartnerCreateQuoteAnswer = await self._send(operations.partner_create_quote, (), {"domain": domain}, (timeout, None, idempotency_key, headers))
        return answer

    async def create_refund(self, order_id: str, *, reason: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerCreateRefundAnswer:
        """Refund an order. Refunds a sale in full, before its transfer is completed, and puts the name up for sale
        again. It is for sales that the partner collected. Needs the scope `buy`.
        """
        answer: types.PartnerCreateRefundAnswer = await self._send(operations.partner_create_refund, (), {"order_id": order_id, "reason": reason}, (timeout, None, idempotency_key, headers))
        return answer

    async def play_case(self, case_id: str, play: Literal["advance", "close"], *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerPlayCaseAnswer:
        """Play the operator of a case. Does to a brokerage case in the sandbox what the operator does to a real one:
        advance takes it one state on, up to COMPLETED, and agrees on the budget as the price; close ends it without a
        deal. Needs the scope `broker`.
        """
        answer: types.PartnerPlayCaseAnswer = await self._send(operations.partner_play_case, (case_id, play,), {}, (timeout, None, idempotency_key, headers))
        return answer

    async def advance_clock(self, advance_seconds: int, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerAdvanceClockAnswer:
        """Move the test clock. Moves the partner's clock in the sandbox on: quotes expire and webhooks are retried as if
        the time had passed. Signatures go by the real clock. Needs the scope `buy`.
        """
        answer: types.PartnerAdvanceClockAnswer = await self._send(operations.partner_advance_clock, (), {"advance_seconds": advance_seconds}, (timeout, None, idempotency_key, headers))
        return answer

    async def play_order(self, public_id: str, play: Literal["advance", "hold", "clear", "fail"], *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerPlayOrderAnswer:
        """Play the operator. Does to an order in the sandbox what the operator does to a real one: advance takes it one
        state on, up to SETTLED; hold and clear its review; fail cancels it. Needs the scope `buy`.
        """
        answer: types.PartnerPlayOrderAnswer = await self._send(operations.partner_play_order, (public_id, play,), {}, (timeout, None, idempotency_key, headers))
        return answer

    def list_settlements(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Settlement, types.PartnerListSettlementsAnswer]:
        """List statements. What the partner owes for the sales that it collected, a statement a month and currency, the
        latest month first. Needs the scope `buy`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Settlement, types.PartnerListSettlementsAnswer] = self._pages(operations.partner_list_settlements, (), {"from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def settlements(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Settlement, types.PartnerListSettlementsAnswer]:
        """The same as list_settlements: every one of them with `async for`."""
        return self.list_settlements(from_=from_, to=to, limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    def get_settlement(self, settlement_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Line, types.PartnerGetSettlementAnswer]:
        """Look at a statement. One of the partner's statements with its lines, the newest first: an order each. Needs
        the scope `buy`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Line, types.PartnerGetSettlementAnswer] = self._pages(operations.partner_get_settlement, (settlement_id,), {"limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def list_transactions(self, *, status: Optional[Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]] = None, payment_model: Optional[Literal["partner_collected", "service_collected"]] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Transaction, types.PartnerListTransactionsAnswer]:
        """Report sales. The partner's sales, the newest first, with totals by currency over all that the filters select.
        Amounts are those that were recorded, whatever became of the order: filter by status for sales that stand.
        Needs the scope `report`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Transaction, types.PartnerListTransactionsAnswer] = self._pages(operations.partner_list_transactions, (), {"status": status, "payment_model": payment_model, "from": from_, "to": to, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def transactions(self, *, status: Optional[Literal["EXTERNALLY_PAID", "PAID", "TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED", "REFUNDED", "CANCELLED"]] = None, payment_model: Optional[Literal["partner_collected", "service_collected"]] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Transaction, types.PartnerListTransactionsAnswer]:
        """The same as list_transactions: every one of them with `async for`."""
        return self.list_transactions(status=status, payment_model=payment_model, from_=from_, to=to, limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    async def get_webhook(self, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerGetWebhookAnswer:
        """Look at the webhook. Where events are sent, and whether they are: a webhook to which nothing could be
        delivered for 5 days is not active. Needs the scope `webhook`.
        """
        answer: types.PartnerGetWebhookAnswer = await self._send(operations.partner_get_webhook, (), {}, (timeout, None, idempotency_key, headers))
        return answer

    async def put_webhook(self, url: str, secret: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerPutWebhookAnswer:
        """Register the webhook. Says where events are sent, and what signs them. There is one webhook; a second PUT
        changes it. After a change of the secret, deliveries are signed with the one before as well, for 24 hours.
        Needs the scope `webhook`.
        """
        answer: types.PartnerPutWebhookAnswer = await self._send(operations.partner_put_webhook, (), {"url": url, "secret": secret}, (timeout, None, idempotency_key, headers))
        return answer

    async def delete_webhook(self, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerDeleteWebhookAnswer:
        """Remove the webhook. Ends the delivery of events; what waits to be delivered is given up, and stays in the
        history. The answer is what was removed. Needs the scope `webhook`.
        """
        answer: types.PartnerDeleteWebhookAnswer = await self._send(operations.partner_delete_webhook, (), {}, (timeout, None, idempotency_key, headers))
        return answer

    def list_deliveries(self, *, status: Optional[Literal["pending", "delivered", "failed"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Delivery, types.PartnerListDeliveriesAnswer]:
        """List deliveries. What became of the events that were sent, the latest first, with every attempt and when the
        next one comes. Needs the scope `webhook`. Loop over all with `async for`, or take one page.
        """
        answer: AsyncPages[types.Delivery, types.PartnerListDeliveriesAnswer] = self._pages(operations.partner_list_deliveries, (), {"status": status, "limit": limit, "cursor": cursor}, (timeout, None, idempotency_key, headers))
        return answer

    def deliveries(self, *, status: Optional[Literal["pending", "delivered", "failed"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> AsyncPages[types.Delivery, types.PartnerListDeliveriesAnswer]:
        """The same as list_deliveries: every one of them with `async for`."""
        return self.list_deliveries(status=status, limit=limit, cursor=cursor, timeout=timeout, idempotency_key=idempotency_key, headers=headers)

    async def redeliver(self, id: str, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerRedeliverAnswer:
        """Deliver again. Sends an event once more, at once, whatever became of it. Needs the scope `webhook`."""
        answer: types.PartnerRedeliverAnswer = await self._send(operations.partner_redeliver, (id,), {}, (timeout, None, idempotency_key, headers))
        return answer

    async def test_webhook(self, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> types.PartnerTestWebhookAnswer:
        """Test the webhook. Sends an event of type webhook.test. What came of it is among the deliveries. Needs the
        scope `webhook`.
        """
        answer: types.PartnerTestWebhookAnswer = await self._send(operations.partner_test_webhook, (), {}, (timeout, None, idempotency_key, headers))
        return answer
