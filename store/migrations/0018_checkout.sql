-- +goose Up
-- Checkout sessions: one name for one buyer. A row is removed 400 days after it was made, by the real clock, one that was not paid
-- after 30; the order that came of it and the payments for it are rows of their own.
CREATE TABLE checkout_sessions (
    id               TEXT   NOT NULL PRIMARY KEY,
    partner          TEXT   NOT NULL,
    environment      TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    domain           TEXT   NOT NULL,           -- A-label form
    price_cents      BIGINT NOT NULL CHECK (price_cents > 0), -- when it was made; what was paid once it is paid
    currency         TEXT   NOT NULL,           -- ISO 4217
    quote            TEXT   NOT NULL,           -- number of the quote that locks the price; empty: none
    quote_cents      BIGINT NOT NULL,           -- its price
    quote_currency   TEXT   NOT NULL,
    quote_expires    BIGINT NOT NULL,           -- by the partner's clock
    buyer_email      TEXT   NOT NULL,           -- empty: not known yet
    return_url       TEXT   NOT NULL,
    cancel_url       TEXT   NOT NULL,
    external_ref     TEXT   NOT NULL,           -- the partner's; empty: none
    order_id         TEXT   NOT NULL,           -- once it is paid; empty: not yet
    status           TEXT   NOT NULL CHECK (status IN ('open', 'paid', 'refunded')),
    created_at       BIGINT NOT NULL,           -- by the partner's clock, as the next
    expires_at       BIGINT NOT NULL,
    receipt_due      BIGINT NOT NULL,           -- when the receipt is to be sent; 0: not, or it was sent
    receipt_attempts BIGINT NOT NULL
);
CREATE UNIQUE INDEX checkout_sessions_order ON checkout_sessions (order_id) WHERE order_id <> '';
CREATE INDEX checkout_sessions_open ON checkout_sessions (id) WHERE status = 'open';
CREATE INDEX checkout_sessions_receipt ON checkout_sessions (receipt_due) WHERE receipt_due > 0;

-- The built-in partner, to whom the sales of the service's own pages belong. It earns no commission.
INSERT INTO partners (id, name, review_limit_cents, service_bp, partner_bp, broker_bp, referral_bp, sandbox_ahead, created_at, suspended_at)
VALUES ('house', 'house', 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
