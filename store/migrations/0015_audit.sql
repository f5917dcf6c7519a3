-- +goose Up
-- A line of the audit log lives for -keep-audit (1100 days unless set); the sweep of old rows deletes it.
ALTER TABLE audit_log ADD COLUMN details TEXT NOT NULL DEFAULT '{}'; -- JSON object: before, after and the like; no secrets
CREATE INDEX audit_log_actor ON audit_log (actor, id);
CREATE INDEX audit_log_action ON audit_log (action, id);
