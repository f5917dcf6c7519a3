-- +goose Up
CREATE TABLE partners (
    id                 TEXT    NOT NULL PRIMARY KEY,
    name               TEXT    NOT NULL,
    review_limit_cents BIGINT  NOT NULL CHECK (review_limit_cents >= 0), -- a sale over it waits for a person; 0: none does
    service_bp         BIGINT  NOT NULL CHECK (service_bp BETWEEN 0 AND 10000), -- commissions and shares in basis points
    partner_bp         BIGINT  NOT NULL CHECK (partner_bp BETWEEN 0 AND 10000),
    broker_bp          BIGINT  NOT NULL CHECK (broker_bp BETWEEN 0 AND 10000),
    referral_bp        BIGINT  NOT NULL CHECK (referral_bp BETWEEN 0 AND 10000),
    sandbox_ahead      BIGINT  NOT NULL CHECK (sandbox_ahead >= 0), -- microseconds by which its test clock runs ahead
    created_at         BIGINT  NOT NULL,
    suspended_at       BIGINT  NOT NULL  -- 0: it is not
);

CREATE TABLE partner_credentials (
    key_id      TEXT   NOT NULL PRIMARY KEY,
    partner_id  TEXT   NOT NULL REFERENCES partners (id),
    environment TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    scopes      TEXT   NOT NULL,           -- separated by spaces
    created_at  BIGINT NOT NULL,
    revoked_at  BIGINT NOT NULL            -- 0: it is not
);
CREATE INDEX partner_credentials_partner ON partner_credentials (partner_id);

-- While a credential's secret is being changed it has two.
CREATE TABLE partner_secrets (
    key_id     TEXT    NOT NULL REFERENCES partner_credentials (key_id),
    number     INTEGER NOT NULL,           -- 1, 2, … of the credential
    sealed     BYTEA   NOT NULL,           -- encrypted with a key that is not in the database
    created_at BIGINT  NOT NULL,
    ends_at    BIGINT  NOT NULL,           -- 0: it has no end
    PRIMARY KEY (key_id, number)
);

-- Token buckets, each as the time at which it is full again. One that is over is as good as none.
CREATE TABLE partner_limits (
    bucket  TEXT   NOT NULL PRIMARY KEY,   -- key id and class
    full_at BIGINT NOT NULL
);
CREATE INDEX partner_limits_full ON partner_limits (full_at);

-- What was answered to a request that took effect, for its repetitions.
CREATE TABLE partner_answers (
    id          BYTEA   NOT NULL PRIMARY KEY, -- SHA-256 of key id, path and idempotency key
    fingerprint BYTEA   NOT NULL,             -- SHA-256 of the request's body
    status      INTEGER NOT NULL,
    body        TEXT    NOT NULL,             -- JSON
    created_at  BIGINT  NOT NULL
);
CREATE INDEX partner_answers_created ON partner_answers (created_at);

-- Nonces that could still come again, in groups as they were let in. A process that has seen group n holds all up to n in
-- memory: it reads what others wrote after that, and then writes its own as the next, unless another came first.
-- The last group is never removed: the numbers go on from it.
CREATE TABLE partner_nonces (
    number     BIGINT NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL,            -- the last second, Unix time, in which a request of the group could be valid
    nonces     BYTEA  NOT NULL             -- 12 bytes each, see package partner
);
