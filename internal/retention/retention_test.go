package retention

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

func defaults() *Settings { return Flags(flag.NewFlagSet("test", flag.ContinueOnError)) }

// tables are those of the schema.
func tables(t *testing.T, db *store.DB) (all []string) {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if db.Engine() == store.Postgres {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`
	}
	err := db.Read(t.Context(), func(tx store.Tx) error {
		rows, err := tx.Query(t.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			all = append(all, name)
		}
		return rows.Err()
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d tables, %v", len(all), err)
	}
	return all
}

// Every table of the schema has a stated lifetime, and every rule has its table.
func TestEveryTableHasALifetime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		stated := map[string]bool{}
		for _, r := range defaults().Rules() {
			stated[r.Table] = true
		}
		there := tables(t, db)
		for _, table := range there {
			if !stated[table] {
				t.Errorf("table %s has no lifetime: add a rule to Retention in the package that owns it, and that package to Rules in internal/retention/retention.go", table)
			}
			delete(stated, table)
		}
		for table := range stated {
			t.Errorf("there is a rule for table %s, and no such table", table)
		}
	})
}

// docs/running.md says the same.
func TestDocumentedLifetimes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/running.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## How long rows live")
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for _, r := range defaults().Rules() {
		line := fmt.Sprintf("| `%s` | %s |", r.Table, r.Kept)
		if !slices.Contains(want, line) {
			want = append(want, line)
		}
	}
	var got []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table in docs/running.md is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A row is one that a test puts into a table; at is its age.
type row func(at time.Time) (query string, args []any)

func values(query string, args ...any) (string, []any) { return query, args }

// rowsOf are rows of each table that is swept, as far as their age goes.
var rowsOf = map[string]row{
	"listings": func(at time.Time) (string, []any) {
		return values(`INSERT INTO listings (id, environment, domain, price_cents, floor_price_cents, currency, description, keywords, seller_id, status,
			listed_at, updated_at, change) VALUES ($1, 'LIVE', $1, 1, 1, 'USD', '', '', '', 'withdrawn', 0, $2, 1)`, store.IDAt("lst", at), store.Micros(at))
	},
	"events": func(at time.Time) (string, []any) {
		return values(`INSERT INTO events (partner, environment, number, id, type, data, created_at) VALUES ('p', 'LIVE', $1, $2, 't', '{}', 0)`,
			at.UnixMilli(), store.IDAt("evt", at))
	},
	"orders": func(at time.Time) (string, []any) {
		return values(`INSERT INTO orders (id, partner, environment, domain, listing_id, status, review, payment_model, price_cents, currency, quote,
			external_payment_ref, buyer_email, buyer_name, buyer_country, return_url, cancel_url, created_at, updated_at, completed_at, version)
			VALUES ($1, 'p', 'LIVE', 'd', 'l', 'SETTLED', '', 'partner_collected', 1, 'USD', '', '', 'a@b.example', 'A', 'DE', '', '', 0, 0, 0, 1)`,
			store.IDAt("ord", at))
	},
	"brokerage_cases": func(at time.Time) (string, []any) {
		id := store.IDAt("bkc", at)
		return values(`INSERT INTO brokerage_cases (id, partner, environment, domain, tier, status, buyer_email, budget_cents, currency, price_cents,
			share_cents, token_digest, token_sealed, created_at, updated_at, version)
			VALUES ($1, 'p', 'LIVE', $1, 'managed', 'CLOSED', 'a@b.example', 1, 'USD', 0, 0, $2, $2, 0, 0, 1)`, id, []byte(id))
	},
	"brokerage_offers": func(at time.Time) (string, []any) {
		return values(`INSERT INTO brokerage_offers (id, case_id, at, amount_cents, currency, message) VALUES ($1, 'c', 0, 1, 'USD', 'm')`, store.IDAt("off", at))
	},
	"referral_days": func(at time.Time) (string, []any) {
		return values(`INSERT INTO referral_days (partner, environment, day, clicks, visitors) VALUES ($1, 'LIVE', $2, 1, 1)`, store.IDAt("p", at), store.Micros(at))
	},
	"referral_keys": func(at time.Time) (string, []any) {
		return values(`INSERT INTO referral_keys (day, sealed, ends, visits) VALUES ($1, $2, $1, 0)`, store.Micros(at), []byte{1})
	},
	"referral_visits": func(at time.Time) (string, []any) {
		return values(`INSERT INTO referral_visits (digest, ends) VALUES ($1, $2)`, []byte(store.IDAt("d", at)), store.Micros(at))
	},
	"referral_checkouts": func(at time.Time) (string, []any) {
		return values(`INSERT INTO referral_checkouts (id, link_id, partner, environment, at) VALUES ($1, 'l', 'p', 'LIVE', $2)`, store.IDAt("chk", at), store.Micros(at))
	},
	"payments": func(at time.Time) (string, []any) {
		return values(`INSERT INTO payments (id, partner, environment, purchase, order_id, provider, reference, charge, state, todo, amount_cents,
			currency, page_url, attempts, failure, next_try, expires_at, created_at, updated_at)
			VALUES ($1, 'p', 'LIVE', 'c', '', 'test', '', '', 'failed', '', 1, 'USD', '', 0, '', 0, 0, 0, $2)`, store.IDAt("pmt", at), store.Micros(at))
	},
	"checkout_sessions": func(at time.Time) (string, []any) {
		return values(`INSERT INTO checkout_sessions (id, partner, environment, domain, price_cents, currency, quote, quote_cents, quote_currency,
			quote_expires, buyer_email, return_url, cancel_url, external_ref, order_id, status, created_at, expires_at, receipt_due, receipt_attempts)
			VALUES ($1, 'p', 'LIVE', 'd.com', 1, 'USD', '', 0, '', 0, '', '', '', '', '', 'open', 0, 0, 0, 0)`, store.IDAt("chk", at))
	},
	"payment_notices": func(at time.Time) (string, []any) {
		return values(`INSERT INTO payment_notices (provider, id, received_at) VALUES ('test', $1, $2)`, store.IDAt("n", at), store.Micros(at))
	},
	"test_payments": func(at time.Time) (string, []any) {
		return values(`INSERT INTO test_payments (id, status, card, declines, amount_cents, currency, title, return_url, cancel_url, expires_at, created_at,
			updated_at) VALUES ($1, 'void', '', 0, 1, 'USD', '', '', '', 0, 0, $2)`, store.IDAt("pmt", at), store.Micros(at))
	},
	"test_payment_notices": func(at time.Time) (string, []any) {
		return values(`INSERT INTO test_payment_notices (id, payment, kind, sent, attempts, due_at, created_at) VALUES ($1, '', '', 1, 1, 0, $2)`,
			store.IDAt("n", at), store.Micros(at))
	},
	"audit_log": func(at time.Time) (string, []any) {
		return values(`INSERT INTO audit_log (id, at, actor, action, subject, reason) VALUES ($1, $2, 'a', 'b', 'c', '')`, store.IDAt("aud", at), store.Micros(at))
	},
	"partner_secrets": func(at time.Time) (string, []any) {
		return values(`INSERT INTO partner_secrets (key_id, number, sealed, created_at, ends_at) VALUES ('k', $1, $2, 0, $3)`,
			at.Unix()%1_000_000_000, []byte{1}, store.Micros(at))
	},
	"partner_limits": func(at time.Time) (string, []any) {
		return values(`INSERT INTO partner_limits (bucket, full_at) VALUES ($1, $2)`, store.IDAt("b", at), store.Micros(at))
	},
	"rate_limits": func(at time.Time) (string, []any) {
		return values(`INSERT INTO rate_limits (name, full_at) VALUES ($1, $2)`, store.IDAt("b", at), store.Micros(at))
	},
	"partner_answers": func(at time.Time) (string, []any) {
		return values(`INSERT INTO partner_answers (id, fingerprint, status, body, created_at) VALUES ($1, $2, 201, '{}', $3)`,
			[]byte(store.IDAt("a", at)), []byte{1}, store.Micros(at))
	},
	"partner_nonces": func(at time.Time) (string, []any) {
		return values(`INSERT INTO partner_nonces (number, expires_at, nonces) VALUES ($1, $2, $3)`, at.UnixMilli(), at.Unix(), []byte{})
	},
	"account_sessions": func(at time.Time) (string, []any) {
		return values(`INSERT INTO account_sessions (hash, id, account_id, started, seen, expires, authenticated, address, user_agent)
			VALUES ($1, $2, 'acc', 0, 0, $3, 0, '', '')`, []byte(store.IDAt("s", at)), store.IDAt("s", at), store.Micros(at))
	},
	"account_tokens": func(at time.Time) (string, []any) {
		return values(`INSERT INTO account_tokens (hash, purpose, account_id, expires) VALUES ($1, 'verify', 'acc', $2)`, []byte(store.IDAt("t", at)), store.Micros(at))
	},
	"account_spent": func(at time.Time) (string, []any) {
		return values(`INSERT INTO account_spent (nonce, expires) VALUES ($1, $2)`, []byte(store.IDAt("n", at)), store.Micros(at))
	},
	"account_log": func(at time.Time) (string, []any) {
		return values(`INSERT INTO account_log (id, account_id, at, what, detail, address, times) VALUES ($1, 'acc', $2, 'w', '', '', 1)`,
			store.IDAt("log", at), store.Micros(at))
	},
	"portfolio_events": func(at time.Time) (string, []any) {
		return values(`INSERT INTO portfolio_events (id, account_id, domain, kind, detail, at) VALUES ($1, 'acc', 'd.example', 'added', '', $2)`,
			store.IDAt("evt", at), store.Micros(at))
	},
	"oauth_grants": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_grants (id, account_id, client_id, client_name, redirect_uri, scope, resource, created_at, used_at, expires_at, ends_at)
			VALUES ($1, 'acc', 'gone', '', '', '', '', 0, 0, $2, 0)`, store.IDAt("g", at), store.Micros(at))
	},
	"oauth_interactions": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_interactions (hash, session, account_id, client_id, request, expires_at) VALUES ($1, $2, 'acc', 'gone', '', $3)`,
			[]byte(store.IDAt("i", at)), []byte{1}, store.Micros(at))
	},
	"oauth_codes": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_codes (hash, grant_id, account_id, client_id, client_name, redirect_uri, challenge, scope, resource, expires_at, tries, used_at)
			VALUES ($1, '', 'acc', 'gone', '', '', '', '', '', $2, 0, 0)`, []byte(store.IDAt("c", at)), store.Micros(at))
	},
	"oauth_access": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_access (hash, grant_id, account_id, scope, resource, expires_at) VALUES ($1, 'grant', 'acc', '', '', $2)`,
			[]byte(store.IDAt("a", at)), store.Micros(at))
	},
	"oauth_refresh": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_refresh (hash, grant_id, expires_at, used_at, salt) VALUES ($1, 'grant', $2, 0, $3)`,
			[]byte(store.IDAt("r", at)), store.Micros(at), []byte{})
	},
	"oauth_consents": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_consents (account_id, client_id, redirect_uri, scope, resource, expires_at) VALUES ('acc', $1, '', '', '', $2)`,
			store.IDAt("cl", at), store.Micros(at))
	},
	"oauth_clients": func(at time.Time) (string, []any) {
		return values(`INSERT INTO oauth_clients (id, name, redirect_uris, created_at, used_at) VALUES ($1, '', '[]', 0, $2)`, store.IDAt("cl", at), store.Micros(at))
	},
}

// parents are the rows that others need.
func parents(forever time.Time) map[string][]any {
	end := store.Micros(forever)
	return map[string][]any{
		`INSERT INTO accounts (id, email, verified, password, handle, created) VALUES ('acc', 'a@b.example', 0, '', $1, 0)`: {[]byte{1}},
		`INSERT INTO oauth_grants (id, account_id, client_id, client_name, redirect_uri, scope, resource, created_at, used_at, expires_at, ends_at)
			VALUES ('grant', 'acc', 'c', '', '', '', '', 0, 0, $1, 0)`: {end},
		`INSERT INTO partners (id, name, review_limit_cents, service_bp, partner_bp, broker_bp, referral_bp, sandbox_ahead, created_at, suspended_at)
			VALUES ('prt', '', 0, 0, 0, 0, 0, 0, 0, 0)`: {},
		`INSERT INTO event_streams (partner, environment, last) VALUES ('p', 'LIVE', 1)`: {},
	}
}

// Rows of all tables that are swept go when their time is over, and not before.
func TestRowsLiveAsLongAsIsSaid(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now()
		exec := func(query string, args ...any) {
			t.Helper()
			err := db.Tx(t.Context(), func(tx store.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		for query, args := range parents(now.Add(99 * 365 * day)) {
			exec(query, args...)
		}
		exec(`INSERT INTO partner_credentials (key_id, partner_id, environment, scopes, created_at, revoked_at) VALUES ('k', 'prt', 'LIVE', '', 0, 0)`)
		registry := prometheus.NewRegistry()
		g := newGauges(registry)
		rules := defaults().Rules()
		lives := map[string]time.Duration{}
		for _, r := range rules {
			if (r.Key != "" || r.Plan != nil) && r.Table != "webhook_deliveries" { // which go by their events: see package event
				if _, ok := lives[r.Table]; !ok {
					lives[r.Table] = r.Keep
				}
			}
		}
		for table, lifetime := range lives {
			insert := rowsOf[table]
			if insert == nil {
				t.Errorf("table %s is swept and has no example row: add one to rowsOf in internal/retention/retention_test.go", table)
				continue
			}
			for _, age := range []time.Duration{lifetime + 3*time.Minute, lifetime + 2*time.Minute, lifetime - time.Minute} {
				query, args := insert(now.Add(-age))
				exec(query, args...)
			}
		}
		sweeper := sweep.New(sweep.Config{DB: db, Rules: rules, Now: func() time.Time { return now }, Observer: g})
		if err := sweeper.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range slices.Sorted(maps.Keys(lives)) {
			query, want := `SELECT COUNT(*) FROM `+table, 1
			switch table {
			case "orders", "brokerage_cases":
				query += ` WHERE buyer_email <> ''`
			case "oauth_grants":
				query += ` WHERE id <> 'grant'`
			}
			if n := count(t, db, query); n != want {
				t.Errorf("%s: %d rows are left, want %d", table, n, want)
			}
			if n := value(t, registry, "namewharf_retention_rows_removed_total", table); n != 2 {
				t.Errorf("%s: %v rows are counted as removed, want 2", table, n)
			}
		}
		if n := count(t, db, `SELECT COUNT(*) FROM orders WHERE buyer_name = '' AND buyer_country = '' AND buyer_email = ''`); n != 2 {
			t.Errorf("%d of 2 old orders lost their buyers as a whole", n)
		}
		if n := value(t, registry, "namewharf_retention_last_pass_timestamp_seconds", ""); n == 0 {
			t.Error("the pass is not counted")
		}
	})
}

// value is that of a metric.
func value(t *testing.T, from prometheus.Gatherer, name, table string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (table == "" || m.GetLabel()[0].GetValue() == table) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func count(t *testing.T, db *store.DB, query string) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(t.Context(), query).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

// The first pass comes within twenty seconds of the start, and stopping waits for what is under way.
func TestStart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		query, args := rowsOf["audit_log"](time.Now().Add(-1101 * day))
		err := db.Tx(t.Context(), func(tx store.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		stop := defaults().Start(ctx, db, prometheus.NewRegistry(), nil)
		defer stop()
		for count(t, db, `SELECT COUNT(*) FROM audit_log`) > 0 {
			select {
			case <-ctx.Done():
				t.Fatal("after 20 s the row is still there")
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}
