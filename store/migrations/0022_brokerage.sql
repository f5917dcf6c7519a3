-- +goose Up
-- Acquisition cases: one open case for a domain and an environment. The status changes only by the transition table in package
-- brokerage. Cases live for ever; the buyer's address is taken out after -keep-buyers.
CREATE TABLE brokerage_cases (
    id           TEXT    NOT NULL PRIMARY KEY,
    partner      TEXT    NOT NULL,
    environment  TEXT    NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    domain       TEXT    NOT NULL,           -- A-label form
    tier         TEXT    NOT NULL CHECK (tier IN ('managed', 'self_serve')),
    status       TEXT    NOT NULL CHECK (status IN ('OPEN', 'CONTACTED', 'NEGOTIATING', 'AGREED', 'COMPLETED', 'CLOSED')),
    buyer_email  TEXT    NOT NULL,           -- empty: taken out
    budget_cents BIGINT  NOT NULL CHECK (budget_cents > 0),
    currency     TEXT    NOT NULL,           -- ISO 4217; of all amounts of the case
    price_cents  BIGINT  NOT NULL CHECK (price_cents >= 0), -- agreed with the owner; 0: none yet
    share_cents  BIGINT  NOT NULL CHECK (share_cents >= 0), -- the partner's, of a completed case
    token_digest BYTEA   NOT NULL UNIQUE,    -- SHA-256 of the token in the progress link
    token_sealed BYTEA   NOT NULL,           -- the token, sealed with a key that is not in the database
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL,
    version      INTEGER NOT NULL            -- the numbers of its lines in brokerage_timeline go up to this
);
CREATE UNIQUE INDEX brokerage_cases_open ON brokerage_cases (environment, domain) WHERE status NOT IN ('COMPLETED', 'CLOSED');
CREATE INDEX brokerage_cases_party ON brokerage_cases (partner, environment, created_at, id);
CREATE INDEX brokerage_cases_buyer ON brokerage_cases (id) WHERE buyer_email <> '';

-- Lives as long as the case.
CREATE TABLE brokerage_timeline (
    case_id      TEXT    NOT NULL,
    version      INTEGER NOT NULL,           -- ascending within the case
    at           BIGINT  NOT NULL,
    status       TEXT    NOT NULL,           -- of the case from then on
    note         TEXT    NOT NULL,           -- for the buyer and the partner; may be empty
    private_note TEXT    NOT NULL,           -- for operators; may be empty
    PRIMARY KEY (case_id, version)
);

-- What buyers offered on the progress page: at most 20 a case. Removed after -keep-buyers.
CREATE TABLE brokerage_offers (
    id           TEXT   NOT NULL PRIMARY KEY,
    case_id      TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    currency     TEXT   NOT NULL,
    message      TEXT   NOT NULL             -- in the buyer's words; may be empty
);
CREATE INDEX brokerage_offers_case ON brokerage_offers (case_id, id);
