-- +goose Up
-- One row for each attempt of a buyer to pay. The state changes only by the table of rules in package payment. A payment
-- that belongs to an order is kept for ever, as the order is; one that never got there is removed 400 days after it last
-- changed.
CREATE TABLE payments (
    id           TEXT   NOT NULL PRIMARY KEY,
    partner      TEXT   NOT NULL,
    environment  TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    purchase     TEXT   NOT NULL,           -- what is paid for, in the words of who asked for the payment
    order_id     TEXT   NOT NULL,           -- made with the authorisation; empty: there is none
    provider     TEXT   NOT NULL,           -- test, stripe
    reference    TEXT   NOT NULL,           -- the provider's name of the attempt; empty: not known yet
    charge       TEXT   NOT NULL,           -- the provider's name of the money, by which it tells of disputes; empty: not known yet
    state        TEXT   NOT NULL CHECK (state IN
        ('started', 'authorized', 'captured', 'voided', 'failed', 'refunded', 'disputed')),
    todo         TEXT   NOT NULL CHECK (todo IN ('', 'start', 'await', 'capture', 'release', 'check')),
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    currency     TEXT   NOT NULL,           -- ISO 4217
    page_url     TEXT   NOT NULL,           -- of the provider, where the buyer pays
    attempts     BIGINT NOT NULL,           -- of what is to be done, failed in a row
    failure      TEXT   NOT NULL,           -- of the last attempt, a word; empty: none
    next_try     BIGINT NOT NULL,           -- while something is to be done
    expires_at   BIGINT NOT NULL,           -- after this the buyer can pay no more
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL            -- of the last move
);
CREATE UNIQUE INDEX payments_order ON payments (order_id) WHERE order_id <> '';
CREATE INDEX payments_due ON payments (next_try) WHERE todo <> '';
CREATE INDEX payments_purchase ON payments (purchase, id);
CREATE INDEX payments_charge ON payments (provider, charge) WHERE charge <> '';
CREATE INDEX payments_idle ON payments (updated_at) WHERE order_id = '' AND todo = '';

-- Notices of providers that were acted on, so that one that comes again is known. Removed after 30 days, which is longer than
-- any provider repeats itself.
CREATE TABLE payment_notices (
    provider    TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (provider, id)
);
CREATE INDEX payment_notices_age ON payment_notices (received_at);

-- What the test provider knows of payments. It plays an outside company, so nothing here is read by anybody else, and no
-- card number is kept. Removed 400 days after the last change.
CREATE TABLE test_payments (
    id           TEXT   NOT NULL PRIMARY KEY, -- of the payment
    status       TEXT   NOT NULL CHECK (status IN
        ('open', 'challenged', 'authorized', 'captured', 'void', 'refunded', 'disputed', 'charged_back')),
    card         TEXT   NOT NULL,             -- how the card behaves: accepted, challenged, disputable; empty: none was accepted
    declines     BIGINT NOT NULL,             -- cards that were declined
    amount_cents BIGINT NOT NULL,
    currency     TEXT   NOT NULL,
    title        TEXT   NOT NULL,             -- what the buyer reads
    return_url   TEXT   NOT NULL,
    cancel_url   TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX test_payments_age ON test_payments (updated_at);

-- Notices that the test provider sends. Removed 30 days after they were made.
CREATE TABLE test_payment_notices (
    id         TEXT   NOT NULL PRIMARY KEY,
    payment    TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    sent       BIGINT NOT NULL,               -- 1: it was taken
    attempts   BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,               -- of the next attempt, until it was taken
    created_at BIGINT NOT NULL
);
CREATE INDEX test_payment_notices_due ON test_payment_notices (due_at) WHERE sent = 0;
CREATE INDEX test_payment_notices_age ON test_payment_notices (created_at);
