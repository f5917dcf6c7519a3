// Generated from docs/openapi.json by internal/sdkgen. Do not edit: run make golden.
import type { CallOptions, Input, Operation } from '../operation.js'
import type { Paged } from '../paging.js'
import * as operations from './operations.js'
import type {
  Case,
  Delivery,
  Entry,
  Line,
  Link,
  Order,
  PartnerAdvanceClockAnswer,
  PartnerAdvanceClockInput,
  PartnerAnalyticsAnswer,
  PartnerAnalyticsInput,
  PartnerAvailabilityAnswer,
  PartnerAvailabilityInput,
  PartnerBrokerageEligibilityAnswer,
  PartnerBrokerageEligibilityInput,
  PartnerCreateCaseAnswer,
  PartnerCreateCaseInput,
  PartnerCreateCheckoutAnswer,
  PartnerCreateCheckoutInput,
  PartnerCreateLinkAnswer,
  PartnerCreateLinkInput,
  PartnerCreateOrderAnswer,
  PartnerCreateOrderInput,
  PartnerCreateQuoteAnswer,
  PartnerCreateQuoteInput,
  PartnerCreateRefundAnswer,
  PartnerCreateRefundInput,
  PartnerDeleteWebhookAnswer,
  PartnerEvent,
  PartnerGetCaseAnswer,
  PartnerGetCheckoutAnswer,
  PartnerGetDomainAnswer,
  PartnerGetOrderAnswer,
  PartnerGetSettlementAnswer,
  PartnerGetSettlementInput,
  PartnerGetWebhookAnswer,
  PartnerListCasesAnswer,
  PartnerListCasesInput,
  PartnerListDeliveriesAnswer,
  PartnerListDeliveriesInput,
  PartnerListEventsAnswer,
  PartnerListEventsInput,
  PartnerListLinksAnswer,
  PartnerListLinksInput,
  PartnerListOrdersAnswer,
  PartnerListOrdersInput,
  PartnerListPayoutsAnswer,
  PartnerListPayoutsInput,
  PartnerListSettlementsAnswer,
  PartnerListSettlementsInput,
  PartnerListTransactionsAnswer,
  PartnerListTransactionsInput,
  PartnerMyCommissionsAnswer,
  PartnerMyCommissionsInput,
  PartnerMyPayoutsAnswer,
  PartnerMyPayoutsInput,
  PartnerPlayCaseAnswer,
  PartnerPlayOrderAnswer,
  PartnerPricingAnswer,
  PartnerPricingInput,
  PartnerPutWebhookAnswer,
  PartnerPutWebhookInput,
  PartnerRedeliverAnswer,
  PartnerReferralClicksAnswer,
  PartnerReferralClicksInput,
  PartnerReferredSalesAnswer,
  PartnerReferredSalesInput,
  PartnerSearchDomainsAnswer,
  PartnerSearchDomainsInput,
  PartnerTestWebhookAnswer,
  Payout,
  Sale,
  Settlement,
  Transaction,
} from './types.js'

/** The partner operations; {@link Partner} sends and signs them. */
export abstract class PartnerOperations {
  /** Sends an operation. */
  protected abstract send<T>(operation: Operation, path: string[], input?: Input, options?: CallOptions): Promise<T>

  /** Pages through the answers of an operation. */
  protected abstract pages<T, Answer>(operation: Operation, path: string[], input?: Input, options?: CallOptions): Paged<T, Answer>

  /**
   * Referral analytics. From clicks by checkouts to sales, in all and by day, over at most 400 days; the last 30
   * when no window is given. Clicks count by whole days. Needs the scope `report`.
   */
  analytics(input?: PartnerAnalyticsInput, options?: CallOptions): Promise<PartnerAnalyticsAnswer> {
    return this.send(operations.partnerAnalytics, [], input, options)
  }

  /**
   * Ask whether a name can be bought. Whether a name is for sale here, and its price. A name that is not listed is
   * not available, which is no error. Needs the scope `search`. A string in place of the input is its `domain`.
   */
  availability(input: PartnerAvailabilityInput | string, options?: CallOptions): Promise<PartnerAvailabilityAnswer> {
    return this.send(operations.partnerAvailability, [], input, options)
  }

  /**
   * List brokerage cases. The partner's cases and what came of them, the newest first, by status and time of
   * opening. The timeline and the progress link are in the single case. Needs the scope `report`. Await it for one
   * page, or loop over all with `for await`.
   */
  listCases(input?: PartnerListCasesInput, options?: CallOptions): Paged<Case, PartnerListCasesAnswer> {
    return this.pages(operations.partnerListCases, [], input, options)
  }

  /** The same as {@link PartnerOperations.listCases}: every one of them with `for await`. */
  cases(input?: PartnerListCasesInput, options?: CallOptions): Paged<Case, PartnerListCasesAnswer> {
    return this.listCases(input, options)
  }

  /**
   * Open a brokerage case. Asks the service to acquire a domain that is not for sale here. The answer has a link
   * to a page that shows the buyer the progress without a sign-in. A domain that is not eligible, or has an open
   * case, is a conflict with the reasons in its details. Needs the scope `broker`.
   */
  createCase(input: PartnerCreateCaseInput, options?: CallOptions): Promise<PartnerCreateCaseAnswer> {
    return this.send(operations.partnerCreateCase, [], input, options)
  }

  /**
   * Ask whether a name can be brokered. Whether a case can be opened for a domain, and why not: active_site,
   * open_case, listed, unregistered, or undetermined where registry or site do not answer clearly. In the sandbox
   * names like active-acme.example, parked-acme.example and unregistered-acme.example are answered by rule. Needs
   * the scope `broker`. A string in place of the input is its `domain`.
   */
  brokerageEligibility(input: PartnerBrokerageEligibilityInput | string, options?: CallOptions): Promise<PartnerBrokerageEligibilityAnswer> {
    return this.send(operations.partnerBrokerageEligibility, [], input, options)
  }

  /**
   * Look at a brokerage case. One of the partner's cases, with its timeline and the link to the buyer's page.
   * Needs the scope `broker`.
   */
  getCase(caseId: string, options?: CallOptions): Promise<PartnerGetCaseAnswer> {
    return this.send(operations.partnerGetCase, [caseId], {}, options)
  }

  /**
   * Send a buyer to the checkout. A link to the service's own checkout, good for 7 days, where the buyer pays the
   * service for a name. The sale is attributed to the partner, who earns a commission. The name is not reserved:
   * another may buy it meanwhile. Needs the scope `embed`.
   */
  createCheckout(input: PartnerCreateCheckoutInput, options?: CallOptions): Promise<PartnerCreateCheckoutAnswer> {
    return this.send(operations.partnerCreateCheckout, [], input, options)
  }

  /**
   * Look at a checkout session. One of the partner's checkout sessions: whether its buyer has paid, and the order.
   * Needs the scope `embed`.
   */
  getCheckout(sessionId: string, options?: CallOptions): Promise<PartnerGetCheckoutAnswer> {
    return this.send(operations.partnerGetCheckout, [sessionId], {}, options)
  }

  /**
   * Search names for sale. The names for sale that fit words best, at most 5, by name, by word and by meaning. Use
   * it to offer a buyer something; fewer are found where fewer fit. Needs the scope `search`. A string in place of
   * the input is its `q`.
   */
  searchDomains(input: PartnerSearchDomainsInput | string, options?: CallOptions): Promise<PartnerSearchDomainsAnswer> {
    return this.send(operations.partnerSearchDomains, [], input, options)
  }

  /**
   * Look at a name for sale. Price and description of a name that is for sale. A name that is not listed is not
   * found. Needs the scope `search`.
   */
  getDomain(name: string, options?: CallOptions): Promise<PartnerGetDomainAnswer> {
    return this.send(operations.partnerGetDomain, [name], {}, options)
  }

  /**
   * Replay events. What happened to the partner's orders, in the order in which it happened. Follow after_id to
   * miss nothing, such as after a webhook receiver was down. Needs the scope `webhook`. Await it for one page, or
   * loop over all with `for await`.
   */
  listEvents(input?: PartnerListEventsInput, options?: CallOptions): Paged<PartnerEvent, PartnerListEventsAnswer> {
    return this.pages(operations.partnerListEvents, [], input, options)
  }

  /** The same as {@link PartnerOperations.listEvents}: every one of them with `for await`. */
  events(input?: PartnerListEventsInput, options?: CallOptions): Paged<PartnerEvent, PartnerListEventsAnswer> {
    return this.listEvents(input, options)
  }

  /**
   * List tracked links. The partner's links, the newest first, with their clicks and sales. Needs the scope
   * `refer`. Await it for one page, or loop over all with `for await`.
   */
  listLinks(input?: PartnerListLinksInput, options?: CallOptions): Paged<Link, PartnerListLinksAnswer> {
    return this.pages(operations.partnerListLinks, [], input, options)
  }

  /** The same as {@link PartnerOperations.listLinks}: every one of them with `for await`. */
  links(input?: PartnerListLinksInput, options?: CallOptions): Paged<Link, PartnerListLinksAnswer> {
    return this.listLinks(input, options)
  }

  /**
   * Create a tracked link. A link that leads to the home page, to a domain for sale or to a product, and counts
   * who follows it. A checkout by the same browser within 30 days earns the partner its referral share. The
   * partner must be linked to an affiliate account. Needs the scope `refer`. A string in place of the input is its
   * `type`.
   */
  createLink(input: PartnerCreateLinkInput | string, options?: CallOptions): Promise<PartnerCreateLinkAnswer> {
    return this.send(operations.partnerCreateLink, [], input, options)
  }

  /**
   * Count referral clicks. The clicks on the partner's links, by day: once a visitor, link and day, without
   * crawlers and prefetches. They appear within seconds. Needs the scope `report`.
   */
  referralClicks(input?: PartnerReferralClicksInput, options?: CallOptions): Promise<PartnerReferralClicksAnswer> {
    return this.send(operations.partnerReferralClicks, [], input, options)
  }

  /**
   * List commissions. The partner's commission ledger with its running balance, the newest entry first. Needs the
   * link to an affiliate account. Needs the scope `report`. Await it for one page, or loop over all with `for
   * await`.
   */
  myCommissions(input?: PartnerMyCommissionsInput, options?: CallOptions): Paged<Entry, PartnerMyCommissionsAnswer> {
    return this.pages(operations.partnerMyCommissions, [], input, options)
  }

  /**
   * List payouts with totals. What the partner is paid, of every source, the newest first, with the sums of what
   * was paid. Needs the link to an affiliate account. Needs the scope `report`. Await it for one page, or loop
   * over all with `for await`.
   */
  myPayouts(input?: PartnerMyPayoutsInput, options?: CallOptions): Paged<Payout, PartnerMyPayoutsAnswer> {
    return this.pages(operations.partnerMyPayouts, [], input, options)
  }

  /**
   * List referred sales. The sales by the partner's links, the newest first, with the share as it accrued and the
   * buyer masked. What became of a share is in the commissions. Needs the scope `report`. Await it for one page,
   * or loop over all with `for await`.
   */
  referredSales(input?: PartnerReferredSalesInput, options?: CallOptions): Paged<Sale, PartnerReferredSalesAnswer> {
    return this.pages(operations.partnerReferredSales, [], input, options)
  }

  /**
   * List orders. The partner's orders, the newest first, by status, domain and time of creation. Needs the scope
   * `buy`. Await it for one page, or loop over all with `for await`.
   */
  listOrders(input?: PartnerListOrdersInput, options?: CallOptions): Paged<Order, PartnerListOrdersAnswer> {
    return this.pages(operations.partnerListOrders, [], input, options)
  }

  /** The same as {@link PartnerOperations.listOrders}: every one of them with `for await`. */
  orders(input?: PartnerListOrdersInput, options?: CallOptions): Paged<Order, PartnerListOrdersAnswer> {
    return this.listOrders(input, options)
  }

  /**
   * Record a sale. Records that the partner has sold a name and collected the money; the transfer of the name
   * follows. Needs an Idempotency-Key: the same request with the same key never sells twice, and gets the same
   * answer. Needs the scope `buy`.
   */
  createOrder(input?: PartnerCreateOrderInput, options?: CallOptions): Promise<PartnerCreateOrderAnswer> {
    return this.send(operations.partnerCreateOrder, [], input, options)
  }

  /** Look at an order. One of the partner's orders, with the timeline of its transfer. Needs the scope `buy`. */
  getOrder(publicId: string, options?: CallOptions): Promise<PartnerGetOrderAnswer> {
    return this.send(operations.partnerGetOrder, [publicId], {}, options)
  }

  /**
   * List payouts. What the partner is paid: commissions of sales that the service collected, shares of brokerage
   * deals and of referred sales, the newest first. Needs the scope `report`. Await it for one page, or loop over
   * all with `for await`.
   */
  listPayouts(input?: PartnerListPayoutsInput, options?: CallOptions): Paged<Payout, PartnerListPayoutsAnswer> {
    return this.pages(operations.partnerListPayouts, [], input, options)
  }

  /** The same as {@link PartnerOperations.listPayouts}: every one of them with `for await`. */
  payouts(input?: PartnerListPayoutsInput, options?: CallOptions): Paged<Payout, PartnerListPayoutsAnswer> {
    return this.listPayouts(input, options)
  }

  /**
   * Ask for the price of a name. Buy-now price and floor price of a name that is for sale. A name that is not
   * listed is not found. Needs the scope `search`. A string in place of the input is its `domain`.
   */
  pricing(input: PartnerPricingInput | string, options?: CallOptions): Promise<PartnerPricingAnswer> {
    return this.send(operations.partnerPricing, [], input, options)
  }

  /**
   * Lock a price. The current buy-now price of a name, which holds for this partner for 10 minutes. The name is
   * not reserved: another may buy it meanwhile. Needs the scope `buy`. A string in place of the input is its
   * `domain`.
   */
  createQuote(input: PartnerCreateQuoteInput | string, options?: CallOptions): Promise<PartnerCreateQuoteAnswer> {
    return this.send(operations.partnerCreateQuote, [], input, options)
  }

  /**
   * Refund an order. Refunds a sale in full, before its transfer is completed, and puts the name up for sale
   * again. It is for sales that the partner collected. Needs the scope `buy`. A string in place of the input is
   * its `orderId`.
   */
  createRefund(input: PartnerCreateRefundInput | string, options?: CallOptions): Promise<PartnerCreateRefundAnswer> {
    return this.send(operations.partnerCreateRefund, [], input, options)
  }

  /**
   * Play the operator of a case. Does to a brokerage case in the sandbox what the operator does to a real one:
   * advance takes it one state on, up to COMPLETED, and agrees on the budget as the price; close ends it without a
   * deal. Needs the scope `broker`.
   */
  playCase(caseId: string, play: 'advance' | 'close', options?: CallOptions): Promise<PartnerPlayCaseAnswer> {
    return this.send(operations.partnerPlayCase, [caseId, play], {}, options)
  }

  /**
   * Move the test clock. Moves the partner's clock in the sandbox on: quotes expire and webhooks are retried as if
   * the time had passed. Signatures go by the real clock. Needs the scope `buy`.
   */
  advanceClock(input: PartnerAdvanceClockInput, options?: CallOptions): Promise<PartnerAdvanceClockAnswer> {
    return this.send(operations.partnerAdvanceClock, [], input, options)
  }

  /**
   * Play the operator. Does to an order in the sandbox what the operator does to a real one: advance takes it one
   * state on, up to SETTLED; hold and clear its review; fail cancels it. Needs the scope `buy`.
   */
  playOrder(publicId: string, play: 'advance' | 'hold' | 'clear' | 'fail', options?: CallOptions): Promise<PartnerPlayOrderAnswer> {
    return this.send(operations.partnerPlayOrder, [publicId, play], {}, options)
  }

  /**
   * List statements. What the partner owes for the sales that it collected, a statement a month and currency, the
   * latest month first. Needs the scope `buy`. Await it for one page, or loop over all with `for await`.
   */
  listSettlements(input?: PartnerListSettlementsInput, options?: CallOptions): Paged<Settlement, PartnerListSettlementsAnswer> {
    return this.pages(operations.partnerListSettlements, [], input, options)
  }

  /** The same as {@link PartnerOperations.listSettlements}: every one of them with `for await`. */
  settlements(input?: PartnerListSettlementsInput, options?: CallOptions): Paged<Settlement, PartnerListSettlementsAnswer> {
    return this.listSettlements(input, options)
  }

  /**
   * Look at a statement. One of the partner's statements with its lines, the newest first: an order each. Needs
   * the scope `buy`. Await it for one page, or loop over all with `for await`.
   */
  getSettlement(settlementId: string, input?: PartnerGetSettlementInput, options?: CallOptions): Paged<Line, PartnerGetSettlementAnswer> {
    return this.pages(operations.partnerGetSettlement, [settlementId], input, options)
  }

  /**
   * Report sales. The partner's sales, the newest first, with totals by currency over all that the filters select.
   * Amounts are those that were recorded, whatever became of the order: filter by status for sales that stand.
   * Needs the scope `report`. Await it for one page, or loop over all with `for await`.
   */
  listTransactions(input?: PartnerListTransactionsInput, options?: CallOptions): Paged<Transaction, PartnerListTransactionsAnswer> {
    return this.pages(operations.partnerListTransactions, [], input, options)
  }

  /** The same as {@link PartnerOperations.listTransactions}: every one of them with `for await`. */
  transactions(input?: PartnerListTransactionsInput, options?: CallOptions): Paged<Transaction, PartnerListTransactionsAnswer> {
    return this.listTransactions(input, options)
  }

  /**
   * Look at the webhook. Where events are sent, and whether they are: a webhook to which nothing could be
   * delivered for 5 days is not active. Needs the scope `webhook`.
   */
  getWebhook(options?: CallOptions): Promise<PartnerGetWebhookAnswer> {
    return this.send(operations.partnerGetWebhook, [], {}, options)
  }

  /**
   * Register the webhook. Says where events are sent, and what signs them. There is one webhook; a second PUT
   * changes it. After a change of the secret, deliveries are signed with the one before as well, for 24 hours.
   * Needs the scope `webhook`.
   */
  putWebhook(input: PartnerPutWebhookInput, options?: CallOptions): Promise<PartnerPutWebhookAnswer> {
    return this.send(operations.partnerPutWebhook, [], input, options)
  }

  /**
   * Remove the webhook. Ends the delivery of events; what waits to be delivered is given up, and stays in the
   * history. The answer is what was removed. Needs the scope `webhook`.
   */
  deleteWebhook(options?: CallOptions): Promise<PartnerDeleteWebhookAnswer> {
    return this.send(operations.partnerDeleteWebhook, [], {}, options)
  }

  /**
   * List deliveries. What became of the events that were sent, the latest first, with every attempt and when the
   * next one comes. Needs the scope `webhook`. Await it for one page, or loop over all with `for await`.
   */
  listDeliveries(input?: PartnerListDeliveriesInput, options?: CallOptions): Paged<Delivery, PartnerListDeliveriesAnswer> {
    return this.pages(operations.partnerListDeliveries, [], input, options)
  }

  /** The same as {@link PartnerOperations.listDeliveries}: every one of them with `for await`. */
  deliveries(input?: PartnerListDeliveriesInput, options?: CallOptions): Paged<Delivery, PartnerListDeliveriesAnswer> {
    return this.listDeliveries(input, options)
  }

  /** Deliver again. Sends an event once more, at once, whatever became of it. Needs the scope `webhook`. */
  redeliver(id: string, options?: CallOptions): Promise<PartnerRedeliverAnswer> {
    return this.send(operations.partnerRedeliver, [id], {}, options)
  }

  /**
   * Test the webhook. Sends an event of type webhook.test. What came of it is among the deliveries. Needs the
   * scope `webhook`.
   */
  testWebhook(options?: CallOptions): Promise<PartnerTestWebhookAnswer> {
    return this.send(operations.partnerTestWebhook, [], {}, options)
  }
}
