-- +goose Up
-- When work that a lease is for is to be done again, by the clock that leases go by; 0: at once. A row lives as long as its
-- name is used; there is one for each kind of work.
ALTER TABLE leases ADD COLUMN due BIGINT NOT NULL DEFAULT 0;

-- The last change among those of listings that were removed after their time: a process that has not followed the changes
-- so far loads all listings. One row for each environment, for ever. It is apart from listing_changes because every order
-- writes that.
CREATE TABLE listing_removals (
    environment TEXT   NOT NULL PRIMARY KEY,
    change      BIGINT NOT NULL
);
INSERT INTO listing_removals (environment, change) VALUES ('SANDBOX', 0), ('LIVE', 0);
-- Withdrawn listings are removed some time after (-keep-listings).
CREATE INDEX listings_withdrawn ON listings (updated_at) WHERE status = 'withdrawn';

-- The time of the stream's last event: no event is earlier than the one before it.
ALTER TABLE event_streams ADD COLUMN last_at BIGINT NOT NULL DEFAULT 0;
UPDATE event_streams SET last_at = COALESCE((
    SELECT MAX(e.created_at) FROM events e WHERE e.partner = event_streams.partner AND e.environment = event_streams.environment), 0);

-- What an order says about its buyer is removed after some years (-keep-buyers); the rest of it is kept for ever.
CREATE INDEX orders_buyer ON orders (id) WHERE buyer_email <> '';

-- Authorization codes that nobody redeemed are removed when they expire; redeemed ones are kept for a year.
CREATE INDEX oauth_codes_unused ON oauth_codes (expires_at) WHERE used_at = 0;
