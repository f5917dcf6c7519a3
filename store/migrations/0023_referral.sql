-- +goose Up
-- Partners that may refer buyers, with the account of each. A row lives until the operator or the deletion of the account
-- removes it.
CREATE TABLE referral_affiliates (
    partner    TEXT   NOT NULL PRIMARY KEY,
    account_id TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX referral_affiliates_account ON referral_affiliates (account_id);

-- Tracked links. They live for ever, at most 10 000 of a partner in an environment, because they stand on other sites.
CREATE TABLE referral_links (
    id          TEXT   NOT NULL PRIMARY KEY,
    partner     TEXT   NOT NULL,
    environment TEXT   NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    code        TEXT   NOT NULL UNIQUE,     -- in the link's address
    type        TEXT   NOT NULL CHECK (type IN ('generic', 'domain', 'product')),
    domain      TEXT   NOT NULL,            -- A-label form; empty for the other types
    product     TEXT   NOT NULL,            -- empty for the other types
    label       TEXT   NOT NULL,            -- the partner's; may be empty
    created_at  BIGINT NOT NULL
);
CREATE INDEX referral_links_party ON referral_links (partner, environment, created_at, id);

-- Clicks of a link in all. They are apart from the links because the click counter writes them all the time. A row lives as
-- long as its link.
CREATE TABLE referral_totals (
    link_id TEXT   NOT NULL PRIMARY KEY,
    clicks  BIGINT NOT NULL
);

-- Clicks of all links of a party by day. Removed after 1100 days.
CREATE TABLE referral_days (
    partner     TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    day         BIGINT NOT NULL,            -- its beginning in UTC, by the clock of the party
    clicks      BIGINT NOT NULL,            -- once a visitor and link
    visitors    BIGINT NOT NULL,
    PRIMARY KEY (partner, environment, day)
);
CREATE INDEX referral_days_age ON referral_days (day);

-- The key of a day, from which the digests of its visitors are made. Removed when the day is over, within minutes: from then
-- on nobody can tell whose a digest was.
CREATE TABLE referral_keys (
    day    BIGINT NOT NULL PRIMARY KEY,     -- its beginning in UTC, by the real clock
    sealed BYTEA  NOT NULL,                 -- the key, sealed with one that is not in the database
    ends   BIGINT NOT NULL,                 -- the end of the day
    visits BIGINT NOT NULL                  -- rows in referral_visits that were made with it
);
CREATE INDEX referral_keys_ends ON referral_keys (ends);

-- Digests of who clicked on what today, so that a click is counted once. At most 2 000 000 a day; removed when the day is over.
CREATE TABLE referral_visits (
    digest BYTEA  NOT NULL PRIMARY KEY,     -- of visitor, link and day, or of visitor, party and day
    ends   BIGINT NOT NULL                  -- the end of the day
);
CREATE INDEX referral_visits_ends ON referral_visits (ends);

-- Checkouts of browsers that came by a link. Removed after 1100 days.
CREATE TABLE referral_checkouts (
    id          TEXT   NOT NULL PRIMARY KEY, -- of the checkout session
    link_id     TEXT   NOT NULL,
    partner     TEXT   NOT NULL,             -- of the link, as the rest
    environment TEXT   NOT NULL,
    at          BIGINT NOT NULL
);
CREATE INDEX referral_checkouts_party ON referral_checkouts (partner, environment, at);
CREATE INDEX referral_checkouts_age ON referral_checkouts (at);

-- Sales that are owed to a link. They live for ever, as the orders do.
CREATE TABLE referral_sales (
    order_id         TEXT   NOT NULL PRIMARY KEY,
    link_id          TEXT   NOT NULL,
    partner          TEXT   NOT NULL,        -- of the link
    environment      TEXT   NOT NULL,
    domain           TEXT   NOT NULL,        -- A-label form
    buyer            TEXT   NOT NULL,        -- masked
    amount_cents     BIGINT NOT NULL CHECK (amount_cents > 0),
    commission_cents BIGINT NOT NULL CHECK (commission_cents >= 0), -- the partner's share
    currency         TEXT   NOT NULL,        -- ISO 4217
    at               BIGINT NOT NULL
);
CREATE INDEX referral_sales_party ON referral_sales (partner, environment, at, order_id);
CREATE INDEX referral_sales_link ON referral_sales (link_id);
