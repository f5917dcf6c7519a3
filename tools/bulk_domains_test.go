package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tools"
)

// A thousand names in one call, some foreign, some invalid, some free: each has its own result, and a dry run of each op
// says the same and changes nothing.
func TestBulkOfAThousand(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ada, bob := as(t.Context(), "acc_ada"), as(t.Context(), "acc_bob")
		all := make([]string, 1000)
		const claimed, proven = 700, 600 // by ada
		for i := range all {
			all[i] = fmt.Sprintf("name%03d.com", i)
			switch i % 10 {
			case 0:
				o.add(bob, t, all[i])
			case 1:
				all[i] = fmt.Sprintf("bad name%d.com", i)
			case 2: // of no account
			case 3:
				o.add(ada, t, all[i])
			default:
				o.publish(o.add(ada, t, all[i]))
			}
		}
		in := func(op, params string, dry bool) string {
			domains, _ := json.Marshal(all)
			return fmt.Sprintf(`{"op":%q,"domains":%s,"params":{%s},"dry_run":%v}`, op, domains, params, dry)
		}
		for _, step := range []struct {
			op, params       string
			succeed, forSale int
		}{
			{"list", `"priceCents":5000`, claimed, 0},
			{"verify", "", proven, proven},
			{"set_price", `"priceCents":6000`, claimed, proven},
			{"unlist", "", claimed, 0},
			{"list", `"priceCents":7000`, claimed, proven},
			{"remove", "", claimed, 0},
		} {
			before := dump(t, db)
			began := time.Now()
			dry, err := call[tools.BulkOut](ada, t, &o.fixture, "bulk_domains", in(step.op, step.params, true))
			if err != nil {
				t.Fatalf("%s: %v", step.op, err)
			}
			if after := dump(t, db); after != before {
				t.Errorf("the dry run of %s changed the database", step.op)
			}
			real, err := call[tools.BulkOut](ada, t, &o.fixture, "bulk_domains", in(step.op, step.params, false))
			if err != nil {
				t.Fatalf("%s: %v", step.op, err)
			}
			t.Logf("%s twice: %v", step.op, time.Since(began))
			if dry.Succeeded != step.succeed || dry.Failed != len(all)-step.succeed || !dry.DryRun || real.DryRun || string(dry.Op) != step.op {
				t.Errorf("%s: %d succeed, %d fail; want %d", step.op, dry.Succeeded, dry.Failed, step.succeed)
			}
			if fmt.Sprint(dry.Results) != fmt.Sprint(real.Results) || len(real.Results) != len(all) {
				t.Errorf("%s: the dry run and the run have different results", step.op)
			}
			for i, r := range real.Results {
				var code fault.Code
				switch {
				case i%10 == 0, i%10 == 2:
					code = fault.NotFound
				case i%10 == 1:
					code = fault.Validation
				case i%10 == 3 && step.op == "verify":
					code = fault.Conflict
				}
				if r.Domain != all[i] || r.Error.Code != code || r.OK != (code == "") {
					t.Fatalf("%s: result %d is %+v, want %s and %q", step.op, i, r, all[i], code)
				}
			}
			if got := o.market.Len(market.Live); got != step.forSale {
				t.Errorf("after %s %d names are for sale, want %d", step.op, got, step.forSale)
			}
		}
		if got := o.portfolioOf(ada, t); got != "" {
			t.Errorf("ada's portfolio: %s", got)
		}
	})
}

// dump is every row of every table.
func dump(t testing.TB, db *store.DB) string {
	t.Helper()
	list := `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`
	if db.Engine() == store.Postgres {
		list = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name`
	}
	var b strings.Builder
	err := db.Read(t.Context(), func(tx store.Tx) error {
		rows, err := tx.Query(t.Context(), list)
		if err != nil {
			return err
		}
		var tables []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			tables = append(tables, name)
		}
		rows.Close()
		for _, table := range tables {
			rows, err := tx.Query(t.Context(), `SELECT * FROM `+table)
			if err != nil {
				return err
			}
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			var lines []string
			for rows.Next() {
				values := make([]any, len(columns))
				for i := range values {
					values[i] = new(any)
				}
				if err := rows.Scan(values...); err != nil {
					return err
				}
				var line strings.Builder
				for _, v := range values {
					fmt.Fprintf(&line, "%v|", *v.(*any))
				}
				lines = append(lines, line.String())
			}
			rows.Close()
			slices.Sort(lines)
			fmt.Fprintf(&b, "%s\n%s\n", table, strings.Join(lines, "\n"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "portfolio") || !strings.Contains(b.String(), "listings") {
		t.Fatalf("the dump lacks tables:\n%s", b.String())
	}
	return b.String()
}
