-- +goose Up
-- Clients that registered themselves (RFC 7591). Those without a live grant are removed after a while.
CREATE TABLE oauth_clients (
    id            TEXT   NOT NULL PRIMARY KEY,
    name          TEXT   NOT NULL, -- as the client calls itself; empty: it did not say
    redirect_uris TEXT   NOT NULL, -- JSON array
    created_at    BIGINT NOT NULL,
    used_at       BIGINT NOT NULL  -- when a grant of the client last began or ended
);
CREATE INDEX oauth_clients_used ON oauth_clients (used_at);

-- Questions put to a person, each to be answered once, in the session it was put in.
CREATE TABLE oauth_interactions (
    hash       BYTEA  NOT NULL PRIMARY KEY, -- SHA-256 of the id in the page
    session    BYTEA  NOT NULL,             -- SHA-256 of the session's id
    account_id TEXT   NOT NULL,
    client_id  TEXT   NOT NULL,
    request    TEXT   NOT NULL,             -- the checked authorization request, JSON
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_interactions_expires ON oauth_interactions (expires_at);
CREATE INDEX oauth_interactions_client ON oauth_interactions (client_id);
CREATE INDEX oauth_interactions_account ON oauth_interactions (account_id);
CREATE INDEX oauth_interactions_session ON oauth_interactions (session, expires_at);

-- Consent that need not be asked for again.
CREATE TABLE oauth_consents (
    account_id   TEXT   NOT NULL,
    client_id    TEXT   NOT NULL,
    redirect_uri TEXT   NOT NULL,
    scope        TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL,
    PRIMARY KEY (account_id, client_id, redirect_uri, scope, resource)
);
CREATE INDEX oauth_consents_expires ON oauth_consents (expires_at);

-- What an account allowed a client, from the redemption of a code until it is revoked, left unused or too old. All
-- tokens hang on it and go with it.
CREATE TABLE oauth_grants (
    id           TEXT   NOT NULL PRIMARY KEY,
    account_id   TEXT   NOT NULL,
    client_id    TEXT   NOT NULL,
    client_name  TEXT   NOT NULL, -- as it was shown to the person
    redirect_uri TEXT   NOT NULL,
    scope        TEXT   NOT NULL, -- separated by spaces
    resource     TEXT   NOT NULL, -- URLs, separated by spaces
    created_at   BIGINT NOT NULL,
    used_at      BIGINT NOT NULL, -- when tokens were last issued
    expires_at   BIGINT NOT NULL, -- of the youngest refresh token
    ends_at      BIGINT NOT NULL  -- refreshing goes no further
);
CREATE INDEX oauth_grants_account ON oauth_grants (account_id, client_id);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_expires ON oauth_grants (expires_at);

CREATE TABLE oauth_codes (
    hash         BYTEA  NOT NULL PRIMARY KEY, -- SHA-256 of the code
    grant_id     TEXT   NOT NULL,             -- of the grant that redemption begins
    account_id   TEXT   NOT NULL,
    client_id    TEXT   NOT NULL,
    client_name  TEXT   NOT NULL,
    redirect_uri TEXT   NOT NULL,
    challenge    TEXT   NOT NULL,             -- S256 of RFC 7636
    scope        TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL,
    tries        BIGINT NOT NULL,             -- failed ones
    used_at      BIGINT NOT NULL              -- 0: not redeemed; a redeemed one stays to betray its second redemption
);
CREATE INDEX oauth_codes_account ON oauth_codes (account_id);
CREATE INDEX oauth_codes_client ON oauth_codes (client_id);
CREATE INDEX oauth_codes_expires ON oauth_codes (expires_at);

CREATE TABLE oauth_access (
    hash       BYTEA  NOT NULL PRIMARY KEY, -- SHA-256 of the token
    grant_id   TEXT   NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    account_id TEXT   NOT NULL,
    scope      TEXT   NOT NULL,
    resource   TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_access_grant ON oauth_access (grant_id);
CREATE INDEX oauth_access_expires ON oauth_access (expires_at);

CREATE TABLE oauth_refresh (
    hash       BYTEA  NOT NULL PRIMARY KEY, -- SHA-256 of the token
    grant_id   TEXT   NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL,             -- 0: not used; a used one stays to betray its second use
    salt       BYTEA  NOT NULL              -- with the token itself gives its successor again, see rotation; empty: never
);
CREATE INDEX oauth_refresh_grant ON oauth_refresh (grant_id);
CREATE INDEX oauth_refresh_expires ON oauth_refresh (expires_at);
