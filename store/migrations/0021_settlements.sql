-- +goose Up
-- Statements of what partners owe, one a partner, period and currency. A row lives for ever: it is a part of the books. One in
-- preparation is shown to nobody and goes when its settlement run ends without lines for it.
CREATE TABLE settlements (
    id                TEXT   NOT NULL PRIMARY KEY,
    partner           TEXT   NOT NULL,
    environment       TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    period_start      BIGINT NOT NULL,       -- inclusive
    period_end        BIGINT NOT NULL,       -- exclusive
    currency          TEXT   NOT NULL,       -- ISO 4217
    status            TEXT   NOT NULL CHECK (status IN ('preparing', 'open', 'paid')),
    gross_cents       BIGINT NOT NULL,       -- these are the sums of the lines
    refunded_cents    BIGINT NOT NULL,
    commission_cents  BIGINT NOT NULL,
    owed_cents        BIGINT NOT NULL,
    orders            BIGINT NOT NULL,
    service_collected BIGINT NOT NULL,
    closed_at         BIGINT NOT NULL,       -- 0: in preparation
    paid_at           BIGINT NOT NULL,       -- 0: not paid
    reference         TEXT   NOT NULL,       -- of the payment, by the operator; empty: not paid
    settling          BIGINT NOT NULL,       -- 1: not all of its orders are SETTLED yet, but those up to the next two
    settled_at        BIGINT NOT NULL,
    settled_order     TEXT   NOT NULL
);
CREATE UNIQUE INDEX settlements_preparing ON settlements (partner, environment, period_start, currency) WHERE status = 'preparing';
CREATE INDEX settlements_party ON settlements (partner, environment, period_start, id);
CREATE INDEX settlements_settling ON settlements (partner, environment, id) WHERE settling = 1;

-- The lines of statements. A row lives for ever: it is a part of the books.
CREATE TABLE settlement_lines (
    settlement_id    TEXT   NOT NULL,        -- empty: a reversal that waits for the next statement
    at               BIGINT NOT NULL,        -- when the order was completed, or reversed
    order_id         TEXT   NOT NULL,
    type             TEXT   NOT NULL CHECK (type IN ('sale', 'commission', 'reversal')),
    partner          TEXT   NOT NULL,
    environment      TEXT   NOT NULL,
    domain           TEXT   NOT NULL,
    gross_cents      BIGINT NOT NULL,
    commission_cents BIGINT NOT NULL,
    owed_cents       BIGINT NOT NULL,
    currency         TEXT   NOT NULL,        -- ISO 4217
    PRIMARY KEY (settlement_id, at, order_id, type)
);
-- An order is settled once, and reversed once.
CREATE UNIQUE INDEX settlement_lines_order ON settlement_lines (order_id, type);
CREATE INDEX settlement_lines_waiting ON settlement_lines (partner, environment, at) WHERE settlement_id = '';
