-- +goose Up
-- A link that confirms an address is bound to the browser in which the person signed up. The column lives as long as its
-- row: two days at most, removed with what has expired.
ALTER TABLE account_tokens ADD COLUMN browser BYTEA; -- SHA-256 of what that browser was given; absent: the password is asked for

-- Accounts that were never confirmed, for their removal: they are removed 7 days after anybody last signed in to them,
-- unless they hold a name, where mail is sent.
CREATE INDEX accounts_unverified ON accounts (created) WHERE verified = 0;
