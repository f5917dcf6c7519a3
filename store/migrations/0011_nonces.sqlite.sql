-- +goose Up
-- Nonces that could still come again. One that is over is as good as none.
CREATE TABLE partner_nonces (
    id         BYTEA  NOT NULL PRIMARY KEY, -- half of the SHA-256 of key id and nonce
    expires_at BIGINT NOT NULL              -- the last second, Unix time, in which its request could be valid
) WITHOUT ROWID;
CREATE INDEX partner_nonces_expires ON partner_nonces (expires_at);
