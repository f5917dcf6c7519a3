-- +goose Up
-- Both columns live as their rows do.
ALTER TABLE partners ADD COLUMN approved_at BIGINT NOT NULL DEFAULT 0; -- credentials for LIVE need it; 0: it is not
UPDATE partners SET approved_at = created_at;
ALTER TABLE accounts ADD COLUMN disabled BIGINT NOT NULL DEFAULT 0; -- when the operator disabled it; 0: it may sign in
