-- +goose Up
-- The commission that was recorded with an order: the service's if the partner collected the price, else the partner's.
ALTER TABLE orders ADD COLUMN commission_cents BIGINT NOT NULL DEFAULT 0;
UPDATE orders SET commission_cents = COALESCE((SELECT CAST(SUM(cents) AS BIGINT) FROM postings p
    WHERE p.order_id = orders.id AND p.order_id <> '' AND p.kind = 'sale' AND p.account = 'retained_commission'), 0);

-- Completed orders that no settlement run has taken yet.
CREATE INDEX orders_unsettled ON orders (partner, environment, completed_at, id) WHERE status = 'TRANSFER_COMPLETED';

-- Sums of the orders of a partner by day of creation in UTC, so that totals need not add up all orders. They change in the
-- transaction that changes an order; "operator ledger check" compares them. A row lives for ever, as the orders do.
CREATE TABLE order_totals (
    partner          TEXT   NOT NULL,
    environment      TEXT   NOT NULL,
    day              BIGINT NOT NULL,       -- days since 1970
    currency         TEXT   NOT NULL,
    payment_model    TEXT   NOT NULL,
    status           TEXT   NOT NULL,
    orders           BIGINT NOT NULL,
    price_cents      BIGINT NOT NULL,
    commission_cents BIGINT NOT NULL,
    PRIMARY KEY (partner, environment, day, currency, payment_model, status)
);
INSERT INTO order_totals
    SELECT partner, environment, created_at / 86400000000, currency, payment_model, status,
        COUNT(*), CAST(SUM(price_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT)
    FROM orders GROUP BY partner, environment, created_at / 86400000000, currency, payment_model, status;
