package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var sweepRows = flag.Int("sweep-rows", 3_000, "how many old rows TestSweeps lets the program remove, a multiple of 1000; 40000 take some minutes under load")

// oldEvents gives the partner events of more than 400 days ago, and a young one; it returns the ids of the first and last.
func oldEvents(t *testing.T, c *fixture, n int) (old, young string) {
	t.Helper()
	db := storetest.Open(t, c.cfg)
	then := time.Now().Add(-401 * 24 * time.Hour)
	const columns = `INSERT INTO events (partner, environment, number, id, type, data, created_at) VALUES `
	for first := 0; first < n; first += 1000 {
		var values []string
		for i := first; i < first+1000; i++ {
			values = append(values, fmt.Sprintf("('%s', 'LIVE', %d, '%s', 'order.recorded', '{}', 0)", c.partner.ID, i+1, store.IDAt("evt", then.Add(time.Duration(i)*time.Millisecond))))
		}
		execute(t, db, columns+strings.Join(values, ", "))
	}
	young = store.NewID("evt")
	execute(t, db, columns+fmt.Sprintf("('%s', 'LIVE', %d, '%s', 'order.recorded', '{}', 0)", c.partner.ID, n+1, young))
	execute(t, db, fmt.Sprintf(`INSERT INTO event_streams (partner, environment, last) VALUES ('%s', 'LIVE', %d)`, c.partner.ID, n+1))
	// An id without random bits is none that the store makes: it is given those of the young one.
	old = store.IDAt("evt", then)[:13] + young[13:]
	execute(t, db, fmt.Sprintf(`UPDATE events SET id = '%s' WHERE number = 1`, old))
	return old, young
}

func execute(t *testing.T, db *store.DB, query string) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx store.Tx) error { _, err := tx.Exec(t.Context(), query); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// TestSweeps shows that the program removes old rows from its start on, that another process goes on where one is killed,
// and what partners and Prometheus get.
func TestSweeps(t *testing.T) {
	t.Parallel()
	eachEngine(t, 1, func(t *testing.T, c *fixture) {
		n := *sweepRows
		old, young := oldEvents(t, c, n)
		db := storetest.Open(t, c.cfg)
		left := func() (n int) {
			err := db.Read(t.Context(), func(tx store.Tx) error {
				return tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM events`).Scan(&n)
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		until := func(what string, limit time.Duration, done func() bool) {
			t.Helper()
			for began := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
				if time.Since(began) > limit {
					t.Fatalf("%s: not after %v; %d events are left", what, limit, left())
				}
			}
		}
		a := c.service(t, "-rate-limits", "off").start()
		until("the first rows are removed", 20*time.Second, func() bool { return left() < n })
		a.kill()
		at := left()
		if at <= 1 {
			t.Fatal("nothing is left to take over")
		}
		b := c.service(t, "-rate-limits", "off", "-metrics-addr", "127.0.0.1:0").start()
		until("the other process goes on", 20*time.Second, func() bool { return left() < at })
		until("all old rows are gone", 4*time.Minute, func() bool { return left() == 1 })

		line := b.line(c.by)
		for after, want := range map[string]string{old: "gone", young: "ok", store.NewID("evt"): "validation_error"} {
			if got := outcome(t, line, signed(t, c.by, "GET", "/events?after_id="+after, "", "")); got != want {
				t.Errorf("events after %s: got %s, want %s", after, got, want)
			}
		}
		url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindString(b.program.Stderr())
		metrics := func() string {
			response, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			return string(text)
		}
		until("the metrics show the pass", 20*time.Second, func() bool {
			return strings.Contains(metrics(), "namewharf_retention_last_pass_timestamp_seconds 1.")
		})
		for _, want := range []string{`namewharf_retention_rows_removed_total{table="events"} `, `namewharf_retention_overdue_seconds{table="events"} 0`} {
			if text := metrics(); !strings.Contains(text, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
	})
}
