-- +goose Up
-- What partners earn. A row lives for ever: it is a part of the books. The amount never changes; the state does.
CREATE TABLE commissions (
    id           TEXT   NOT NULL PRIMARY KEY,
    partner      TEXT   NOT NULL,           -- who earns it
    environment  TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    source       TEXT   NOT NULL CHECK (source IN ('service_collected', 'brokerage', 'referral')),
    order_id     TEXT   NOT NULL,           -- the sale that it is a share of; empty: none
    case_id      TEXT   NOT NULL,           -- the brokerage case that it is a share of; empty: none
    reverses     TEXT   NOT NULL,           -- the entry, in a payout already, that this negative one takes back; empty: none
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0 AND reverses = '' OR amount_cents < 0 AND reverses <> ''),
    currency     TEXT   NOT NULL,           -- ISO 4217
    state        TEXT   NOT NULL CHECK (state IN ('accrued', 'pending', 'paid_out', 'reversed')),
    at           BIGINT NOT NULL,           -- when it accrued
    pending_at   BIGINT NOT NULL,           -- 0: not yet
    payable_at   BIGINT NOT NULL,           -- when the order was settled, or the case completed; 0: not yet
    payout_id    TEXT   NOT NULL            -- the payout that it is in, unless that failed; empty: none
);
CREATE UNIQUE INDEX commissions_order ON commissions (order_id, source, reverses) WHERE order_id <> '';
CREATE UNIQUE INDEX commissions_case ON commissions (case_id, reverses) WHERE case_id <> '';
CREATE INDEX commissions_party ON commissions (partner, environment, at, id);
CREATE INDEX commissions_payable ON commissions (partner, environment, currency, source)
    WHERE state = 'pending' AND payout_id = '' AND payable_at > 0;
CREATE INDEX commissions_payout ON commissions (payout_id) WHERE payout_id <> '';

-- Sums of the commissions that are not reversed, by the day in UTC on which they accrued, so that a running balance need not
-- add up all of them. "operator ledger check" compares them. A row lives for ever.
CREATE TABLE commission_days (
    partner     TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    currency    TEXT   NOT NULL,
    day         BIGINT NOT NULL,            -- days since 1970
    cents       BIGINT NOT NULL,
    PRIMARY KEY (partner, environment, currency, day)
);

-- Money paid to partners. A row lives for ever: it is a part of the books.
CREATE TABLE payouts (
    id           TEXT   NOT NULL PRIMARY KEY,
    partner      TEXT   NOT NULL,
    environment  TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    source       TEXT   NOT NULL CHECK (source IN ('service_collected', 'brokerage', 'referral')),
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    currency     TEXT   NOT NULL,           -- ISO 4217
    status       TEXT   NOT NULL CHECK (status IN ('created', 'paid', 'failed')),
    created_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,           -- when it was paid or failed; 0: neither
    reference    TEXT   NOT NULL,           -- of the payment, by the operator; empty: not paid
    reason       TEXT   NOT NULL            -- why it failed, by the operator; empty: it did not
);
CREATE INDEX payouts_party ON payouts (partner, environment, created_at, id);
