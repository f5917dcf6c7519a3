-- +goose Up
-- Secrets that people and browsers carry (session and one-time tokens) are here as SHA-256 only; passwords as Argon2id.
CREATE TABLE accounts (
    id       TEXT   NOT NULL PRIMARY KEY,
    email    TEXT   NOT NULL UNIQUE, -- lower case, the domain in A-label form
    verified BIGINT NOT NULL,        -- when the person was shown to read mail at that address; 0: not yet
    password TEXT   NOT NULL,        -- PHC string; empty: the account has no password
    handle   BYTEA  NOT NULL UNIQUE, -- WebAuthn user handle, random
    created  BIGINT NOT NULL
);

CREATE TABLE account_sessions (
    hash          BYTEA  NOT NULL PRIMARY KEY, -- of the token in the cookie
    id            TEXT   NOT NULL UNIQUE,      -- names the session where the token must not be shown
    account_id    TEXT   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    started       BIGINT NOT NULL,
    seen          BIGINT NOT NULL,
    expires       BIGINT NOT NULL,
    authenticated BIGINT NOT NULL,             -- when the person last proved who they are
    address       TEXT   NOT NULL,
    user_agent    TEXT   NOT NULL
);
CREATE INDEX account_sessions_account ON account_sessions (account_id, seen);
CREATE INDEX account_sessions_expires ON account_sessions (expires);

CREATE TABLE account_passkeys (
    id         TEXT   NOT NULL PRIMARY KEY,
    account_id TEXT   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    credential BYTEA  NOT NULL UNIQUE, -- credential id, as the authenticator made it
    name       TEXT   NOT NULL,
    record     BYTEA  NOT NULL,        -- the credential record with its public key, JSON
    created    BIGINT NOT NULL,
    used       BIGINT NOT NULL         -- 0: never
);
CREATE INDEX account_passkeys_account ON account_passkeys (account_id);

-- Who an account is at an upstream OpenID provider.
CREATE TABLE account_identities (
    provider   TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    account_id TEXT   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created    BIGINT NOT NULL,
    PRIMARY KEY (provider, subject)
);
CREATE INDEX account_identities_account ON account_identities (account_id);

-- One-time tokens: a row is deleted by whoever uses it first.
CREATE TABLE account_tokens (
    hash       BYTEA  NOT NULL PRIMARY KEY,
    purpose    TEXT   NOT NULL CHECK (purpose IN ('verify', 'signin', 'reset', 'operator', 'invite')),
    account_id TEXT   REFERENCES accounts (id) ON DELETE CASCADE, -- absent for an invitation
    expires    BIGINT NOT NULL
);
CREATE INDEX account_tokens_account ON account_tokens (account_id);
CREATE INDEX account_tokens_expires ON account_tokens (expires);

-- Ceremonies in a browser (a passkey, a sign-in elsewhere) that have been completed, until they would have expired.
CREATE TABLE account_spent (
    nonce   BYTEA  NOT NULL PRIMARY KEY,
    expires BIGINT NOT NULL
);
CREATE INDEX account_spent_expires ON account_spent (expires);

-- What happened to an account, for its owner to read.
CREATE TABLE account_log (
    id         TEXT   NOT NULL PRIMARY KEY,
    account_id TEXT   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    at         BIGINT NOT NULL, -- the last time, when times is above 1
    what       TEXT   NOT NULL,
    detail     TEXT   NOT NULL,
    address    TEXT   NOT NULL,
    times      BIGINT NOT NULL
);
CREATE INDEX account_log_account ON account_log (account_id, at);
CREATE INDEX account_log_at ON account_log (at);
