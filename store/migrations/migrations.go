// Package migrations holds the schema migrations.
//
// A file is named NNNN_subject.sql and serves both engines; where they must differ, it is a pair
// NNNN_subject.sqlite.sql and NNNN_subject.postgres.sql. Files only go up ("-- +goose Up") and are never
// edited once released: the next change is the next file.
//
// Types that are the same on both engines: TEXT, BIGINT, BYTEA, BOOLEAN, DOUBLE PRECISION. Times are BIGINT
// microseconds, amounts BIGINT cents, ids TEXT. Columns are NOT NULL unless absence has a meaning. Constraints
// are never DEFERRABLE: on SQLite they would fail the commit of a whole batch instead of one transaction.
package migrations

import "embed"

// Files holds the migrations.
//
//go:embed *.sql
var Files embed.FS
