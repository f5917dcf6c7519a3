-- +goose Up
CREATE TABLE secrets (
    name  TEXT  NOT NULL PRIMARY KEY, -- what the secret is for
    value BYTEA NOT NULL              -- random bytes
);
