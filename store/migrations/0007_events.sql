-- +goose Up
-- A stream is what happened to one partner in one environment. The row of a stream is the last that a transaction which
-- appends an event writes, and it is held until the commit: events become visible in the order of their numbers, without
-- gaps, so that a reader that has seen number n has seen everything up to n.
CREATE TABLE event_streams (
    partner     TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    last        BIGINT NOT NULL,           -- number of the last event
    sends       BIGINT NOT NULL DEFAULT 0, -- 1: events go to the stream's webhook
    advanced    BIGINT NOT NULL DEFAULT 0, -- how far the partner's clock is ahead of ours, microseconds
    PRIMARY KEY (partner, environment)
);

CREATE TABLE events (
    partner     TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    number      BIGINT NOT NULL,
    id          TEXT   NOT NULL UNIQUE,
    type        TEXT   NOT NULL,
    data        TEXT   NOT NULL,           -- compact JSON
    created_at  BIGINT NOT NULL,           -- by the partner's clock
    PRIMARY KEY (partner, environment, number)
);

CREATE TABLE webhook_endpoints (
    partner        TEXT   NOT NULL,
    environment    TEXT   NOT NULL,
    url            TEXT   NOT NULL,
    secret         BYTEA  NOT NULL,        -- sealed
    previous       BYTEA  NOT NULL,        -- sealed; empty: none
    previous_until BIGINT NOT NULL,        -- signatures with the previous secret are sent until then
    success_at     BIGINT NOT NULL,        -- last success, to about a minute, or when the endpoint was switched on
    failed_at      BIGINT NOT NULL,        -- when a delivery was last given up; 0: never
    created_at     BIGINT NOT NULL,        -- by the partner's clock
    PRIMARY KEY (partner, environment)
);

-- One row for each event that is sent. Times to come are by our clock.
CREATE TABLE webhook_deliveries (
    partner       TEXT   NOT NULL,
    environment   TEXT   NOT NULL,
    number        BIGINT NOT NULL,         -- of the event
    status        TEXT   NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempt       BIGINT NOT NULL,         -- attempts so far
    retries       BIGINT NOT NULL,         -- place in the schedule
    due_at        BIGINT NOT NULL,         -- of the next attempt, while pending
    claimed_until BIGINT NOT NULL,         -- a process is at it; later than this, that process is taken for dead
    attempts      TEXT   NOT NULL,         -- the last ones, JSON array
    PRIMARY KEY (partner, environment, number)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (partner, environment, due_at, number) WHERE status = 'pending';
