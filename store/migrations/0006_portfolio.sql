-- +goose Up
CREATE TABLE portfolio (
    account_id    TEXT   NOT NULL,
    domain        TEXT   NOT NULL,           -- the registered name, A-label form
    status        TEXT   NOT NULL CHECK (status IN ('pending', 'verified', 'suspended')),
    proof         TEXT   NOT NULL,           -- what the TXT record has to say
    added_at      BIGINT NOT NULL,
    verified_at   BIGINT NOT NULL,           -- of the last proof; 0: none yet
    registrar_id  TEXT   NOT NULL,           -- IANA's number; this and the next three as the registry said last
    registrar     TEXT   NOT NULL,           -- name
    registered_at BIGINT NOT NULL,           -- 0: not known
    expires_at    BIGINT NOT NULL,           -- 0: not known
    checked_at    BIGINT NOT NULL,           -- when the registry said so; 0: it has not been asked
    due_at        BIGINT NOT NULL,           -- when the registry is to be asked again
    PRIMARY KEY (account_id, domain)
);
-- Any number of accounts may claim a name, one owns it.
CREATE UNIQUE INDEX portfolio_verified ON portfolio (domain) WHERE status = 'verified';
CREATE INDEX portfolio_due ON portfolio (due_at) WHERE status = 'verified';

-- What happened to the names of an account.
CREATE TABLE portfolio_events (
    id         TEXT   NOT NULL PRIMARY KEY,
    account_id TEXT   NOT NULL,
    domain     TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    detail     TEXT   NOT NULL,              -- a sentence for people; may be empty
    at         BIGINT NOT NULL
);
CREATE INDEX portfolio_events_account ON portfolio_events (account_id, at, id);
CREATE INDEX portfolio_events_at ON portfolio_events (at);

-- The listings of accounts; the operator's own inventory has no seller.
CREATE INDEX listings_seller ON listings (environment, seller_id, domain) WHERE seller_id <> '';
