-- +goose Up
-- What partners sold. The status changes only by the table of moves in package sale.
CREATE TABLE orders (
    id                   TEXT    NOT NULL PRIMARY KEY,
    partner              TEXT    NOT NULL,
    environment          TEXT    NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    domain               TEXT    NOT NULL,           -- A-label form
    listing_id           TEXT    NOT NULL,           -- what was sold
    status               TEXT    NOT NULL CHECK (status IN
        ('EXTERNALLY_PAID', 'PAID', 'TRANSFER_IN_PROGRESS', 'TRANSFER_COMPLETED', 'SETTLED', 'REFUNDED', 'CANCELLED')),
    review               TEXT    NOT NULL CHECK (review IN ('', 'held', 'cleared')),
    payment_model        TEXT    NOT NULL CHECK (payment_model IN ('partner_collected', 'service_collected')),
    price_cents          BIGINT  NOT NULL CHECK (price_cents > 0),
    currency             TEXT    NOT NULL,           -- ISO 4217
    quote                TEXT    NOT NULL,           -- number of the quote that this order used up; empty: none
    external_payment_ref TEXT    NOT NULL,           -- the partner's; this and the rest of the request: empty where it had none
    buyer_email          TEXT    NOT NULL,
    buyer_name           TEXT    NOT NULL,
    buyer_country        TEXT    NOT NULL,           -- ISO 3166-1 alpha-2
    return_url           TEXT    NOT NULL,
    cancel_url           TEXT    NOT NULL,
    created_at           BIGINT  NOT NULL,
    updated_at           BIGINT  NOT NULL,
    completed_at         BIGINT  NOT NULL,           -- when the name was delivered, by which it is settled; 0: not yet
    version              INTEGER NOT NULL            -- the numbers of its lines in order_timeline go up to this
);
CREATE UNIQUE INDEX orders_quote ON orders (quote) WHERE quote <> '';
CREATE UNIQUE INDEX orders_external ON orders (partner, environment, external_payment_ref) WHERE external_payment_ref <> '';
CREATE INDEX orders_party ON orders (partner, environment, created_at, id);
CREATE INDEX orders_domain ON orders (environment, domain);

CREATE TABLE order_timeline (
    order_id TEXT    NOT NULL,
    version  INTEGER NOT NULL,           -- ascending within the order
    at       BIGINT  NOT NULL,
    type     TEXT    NOT NULL,           -- that of the event, where there is one
    status   TEXT    NOT NULL,           -- of the order from then on
    PRIMARY KEY (order_id, version)
);

CREATE TABLE refunds (
    id           TEXT   NOT NULL PRIMARY KEY,
    order_id     TEXT   NOT NULL UNIQUE,
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    currency     TEXT   NOT NULL,
    reason       TEXT   NOT NULL,        -- in the words of who asked; may be empty
    created_at   BIGINT NOT NULL
);

-- Keys that sign quotes; the newest signs, the others still verify.
CREATE TABLE quote_keys (
    number     BIGINT NOT NULL PRIMARY KEY,
    key        BYTEA  NOT NULL,          -- sealed, where the program has a key for that
    created_at BIGINT NOT NULL
);

-- Names whose orders wait for a person, in either environment.
CREATE TABLE flagged_domains (
    domain     TEXT   NOT NULL PRIMARY KEY, -- A-label form
    created_at BIGINT NOT NULL
);

-- Who did what to what, when and why.
CREATE TABLE audit_log (
    id      TEXT   NOT NULL PRIMARY KEY,
    at      BIGINT NOT NULL,
    actor   TEXT   NOT NULL,
    action  TEXT   NOT NULL,
    subject TEXT   NOT NULL,             -- an order, a domain, …
    reason  TEXT   NOT NULL              -- may be empty
);
CREATE INDEX audit_log_subject ON audit_log (subject, id);
