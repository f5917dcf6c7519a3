-- +goose Up
-- From here on values of secrets are sealed with a key outside the database. Those that stood in it in clear are in its
-- backups too, and are made anew; the password of a demo's account is sealed when it is next read. Rows live for ever:
-- there is one for each use.
DELETE FROM secrets WHERE name IN ('account flows', 'cursors');
