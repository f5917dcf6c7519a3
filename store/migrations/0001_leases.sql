-- +goose Up
CREATE TABLE leases (
    name    TEXT   NOT NULL PRIMARY KEY, -- what is held, such as a nightly job
    owner   TEXT   NOT NULL,             -- the process that holds it
    expires BIGINT NOT NULL              -- when others may take it
);
