-- +goose Up
-- The ledger is only ever added to; the trigger holds even the programs' own mistakes off.
CREATE TABLE postings (
    entry_id    TEXT    NOT NULL,           -- the postings of an entry sum to zero a currency
    line        INTEGER NOT NULL,           -- 1, 2, … within the entry
    kind        TEXT    NOT NULL,           -- what happened: sale, refund, …
    partner     TEXT    NOT NULL,
    environment TEXT    NOT NULL CHECK (environment IN ('SANDBOX', 'LIVE')),
    order_id    TEXT    NOT NULL,           -- empty: the entry is about no single order
    account     TEXT    NOT NULL,
    cents       BIGINT  NOT NULL CHECK (cents <> 0), -- debits above zero, credits below
    currency    TEXT    NOT NULL,           -- ISO 4217
    at          BIGINT  NOT NULL,
    PRIMARY KEY (entry_id, line)
);
-- An order has one entry of a kind.
CREATE UNIQUE INDEX postings_order ON postings (order_id, kind, line) WHERE order_id <> '';
CREATE INDEX postings_account ON postings (partner, environment, account, currency, cents);

-- +goose StatementBegin
CREATE FUNCTION postings_stand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'postings are never changed or deleted';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER postings_stand BEFORE UPDATE OR DELETE OR TRUNCATE ON postings
    FOR EACH STATEMENT EXECUTE FUNCTION postings_stand();
