-- +goose Up
-- Limits that hold over all processes of the database, such as registrations a day. A row is a token bucket; one that is
-- full again is as good as none, and is removed by the housekeeping of the authorization server.
CREATE TABLE rate_limits (
    name    TEXT   NOT NULL PRIMARY KEY, -- of the limit, and whom it holds
    full_at BIGINT NOT NULL              -- when the bucket is full again
);
CREATE INDEX rate_limits_full ON rate_limits (full_at);

-- Clients that registered and were never used: they are counted at every registration.
CREATE INDEX oauth_clients_unused ON oauth_clients (created_at) WHERE used_at = created_at;
