-- +goose Up
CREATE TABLE listings (
    id                TEXT   NOT NULL PRIMARY KEY,
    environment       TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    domain            TEXT   NOT NULL,           -- A-label form
    price_cents       BIGINT NOT NULL CHECK (price_cents > 0),
    floor_price_cents BIGINT NOT NULL CHECK (floor_price_cents > 0 AND floor_price_cents <= price_cents),
    currency          TEXT   NOT NULL,           -- ISO 4217
    description       TEXT   NOT NULL,
    keywords          TEXT   NOT NULL,           -- separated by line feeds
    seller_id         TEXT   NOT NULL,           -- empty: the operator's own inventory
    status            TEXT   NOT NULL CHECK (status IN ('pending', 'listed', 'suspended', 'sold', 'withdrawn')),
    listed_at         BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    change            BIGINT NOT NULL            -- number of the transaction that wrote the row last, see listing_changes
);
-- One active listing a domain and environment.
CREATE UNIQUE INDEX listings_active ON listings (environment, domain) WHERE status = 'listed';
CREATE INDEX listings_sold ON listings (environment, domain) WHERE status = 'sold';
CREATE INDEX listings_changes ON listings (environment, change, id);

-- The number of the last transaction that changed listings. A transaction takes its number here before it writes
-- listings, and holds the row until it commits: numbers become visible in their order, without gaps, so that a reader
-- that has seen number n has seen everything up to n.
CREATE TABLE listing_changes (
    environment TEXT   NOT NULL PRIMARY KEY,
    change      BIGINT NOT NULL
);
INSERT INTO listing_changes (environment, change) VALUES ('SANDBOX', 0), ('LIVE', 0);
