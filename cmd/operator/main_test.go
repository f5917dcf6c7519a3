package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tld"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func nothing(string) (string, bool) { return "", false }

// operate runs a command in this process.
func operate(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return operateWith(t, "", args...)
}

// operateWith is operate with something on standard input.
func operateWith(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs strings.Builder
	err = run(t.Context(), args, nothing, strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), err
}

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openStore(t *testing.T, data string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// migrated returns the files of a store that db migrate has made. It is made once, because migrations take time.
var migrated = sync.OnceValues(func() (map[string][]byte, error) {
	data, err := os.MkdirTemp("", "operator-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	if err := run(context.Background(), []string{"db", "migrate", "-data", data, "-as", "ada"}, nothing, strings.NewReader(""), io.Discard, io.Discard); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(data)
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(data, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, err
})

// newStore returns the directory of a fresh store, as db migrate makes it.
func newStore(t *testing.T) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	fillStore(t, data)
	return data
}

// fillStore makes a fresh store in a directory.
func fillStore(t *testing.T, data string) {
	t.Helper()
	files, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// listed is the listing of a name, zero when there is none.
func listed(t *testing.T, db *store.DB, name string) market.Listing {
	t.Helper()
	l, err := market.Find(t.Context(), db, market.Live, fqdn.MustParse(name))
	if err != nil {
		return market.Listing{}
	}
	return l
}

const good = `domain,price_cents,floor_price_cents,currency,description,keywords
brewhaven.com,990000,700000,USD,"A name, for a coffee house",coffee;brew
bücher.de,55000,,EUR,,
`

const mixed = good + `nosuchname,1000,,,,
acme.nosuchsuffix,1000,,,,
com,1000,,,,
www.acme.com,1000,,,,
cheap.com,-5,,,,
dear.com,1e6,,,,
floor.com,1000,2000,,,
money.com,1000,,DOLLARS,,
brewhaven.com,1000,,,,
short.com,1000
"open.com,1000,,,,
`

func TestImportListings(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	db := openStore(t, data)
	file, bad := write(t, "good.csv", good), write(t, "mixed.csv", mixed)

	// Bad rows: each is reported, nothing is imported.
	out, _, err := operate(t, "listing", "import", bad, "-env", "live", "-data", data)
	if err == nil || !strings.Contains(err.Error(), "nothing was imported") {
		t.Errorf("bad rows: got %v", err)
	}
	for _, want := range []string{
		"line 4: domain", "line 5: domain", "line 6: domain", "line 7: domain", "acme.com", "line 8: price_cents", "line 9: price_cents",
		"line 10: floor_price_cents", "line 11: currency", "line 12: domain: stands in line 2", "line 13: has more or fewer fields", "line 14: has a quote",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	if l := listed(t, db, "brewhaven.com"); l.PriceCents != 0 {
		t.Errorf("brewhaven.com was listed: %+v", l)
	}

	// A dry run changes nothing.
	out, _, err = operate(t, "-data", data, "-dry-run", "listing", "import", file, "-env", "live")
	if err != nil || !strings.Contains(out, "dry run") || !strings.Contains(strings.Join(strings.Fields(out), " "), "created 2 updated 0") {
		t.Errorf("-dry-run: got %s, %v", out, err)
	}
	if l := listed(t, db, "brewhaven.com"); l.PriceCents != 0 {
		t.Errorf("-dry-run listed brewhaven.com: %+v", l)
	}

	// The good rows of a file with bad ones.
	out, _, err = operate(t, "listing", "-partial", "import", "-env=live", bad, "-data", data, "-json")
	var report struct {
		Rows, Created, Updated, Unchanged int
		Bad                               []struct {
			Line           int
			Column, Reason string
		}
		Applied bool
	}
	if jsonErr := json.Unmarshal([]byte(out), &report); err != nil || jsonErr != nil || !report.Applied || report.Created != 2 || report.Rows != 13 || len(report.Bad) != 11 || report.Bad[0].Line != 4 {
		t.Errorf("-partial: got %s, %v, %v", out, err, jsonErr)
	}
	for _, key := range []string{`"rows"`, `"created"`, `"updated"`, `"unchanged"`, `"bad"`, `"applied"`, `"line"`, `"column"`, `"reason"`} {
		if !strings.Contains(out, key) {
			t.Errorf("the JSON lacks %s:\n%s", key, out)
		}
	}
	first := listed(t, db, "brewhaven.com")
	if first.PriceCents != 990000 || first.Currency != "USD" || first.Description != "A name, for a coffee house" {
		t.Errorf("brewhaven.com: %+v", first)
	}
	if l := listed(t, db, "xn--bcher-kva.de"); l.PriceCents != 55000 || l.Currency != "EUR" {
		t.Errorf("bücher.de: %+v", l)
	}

	// Another price is an update, and the day of the listing stays.
	out, _, err = operate(t, "listing", "import", write(t, "new.csv", strings.Replace(good, "990000", "880000", 1)), "-env", "live", "-data", data, "-json")
	if json.Unmarshal([]byte(out), &report) != nil || err != nil || report.Updated != 1 || report.Unchanged != 1 || report.Created != 0 || len(report.Bad) != 0 || !strings.Contains(out, `"bad": []`) {
		t.Errorf("an update: got %s, %v", out, err)
	}
	if l := listed(t, db, "brewhaven.com"); l.PriceCents != 880000 || !l.ListedAt.Equal(first.ListedAt) {
		t.Errorf("after the update: %+v, want 880000 cents, listed at %v", l, first.ListedAt)
	}

	// What was sold here does not come back by import.
	if err := db.Tx(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE listings SET status = 'sold' WHERE domain = 'brewhaven.com'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	out, _, err = operate(t, "listing", "import", file, "-env", "live", "-data", data)
	if err == nil || !strings.Contains(out, "line 2: domain: was sold here") {
		t.Errorf("a sold name: got %s, %v", out, err)
	}
}

func TestSandboxIsApart(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	if _, _, err := operate(t, "listing", "import", write(t, "good.csv", good), "-env", "sandbox", "-data", data); err != nil {
		t.Fatal(err)
	}
	if l := listed(t, openStore(t, data), "brewhaven.com"); l.PriceCents != 0 {
		t.Errorf("a sandbox listing is for sale: %+v", l)
	}
}

func TestPricing(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	price := func(suffix string, a tld.Action) int64 {
		t.Helper()
		prices := tld.NewPrices(tld.DefaultBook())
		if err := prices.Load(filepath.Join(data, app.PricesFile)); err != nil {
			t.Fatal(err)
		}
		p, err := prices.Price(fqdn.MustParse(suffix), a)
		if err != nil {
			return 0
		}
		return p.Amount.Cents
	}
	const list = "suffix,register,renew,as_of\ncom,1234,1500,2026-11-01\n.de,700,700,2026-11-01\n"
	out, _, err := operate(t, "pricing", "import", write(t, "list.csv", list), "-data", data, "-json")
	if err != nil || !strings.Contains(out, `"imported": 2`) || price("com", tld.Register) != 1234 || price("de", tld.Renew) != 700 {
		t.Errorf("CSV: got %s, %v; com %d, de %d", out, err, price("com", tld.Register), price("de", tld.Renew))
	}
	// A registrar's feed, which has names outside the DNS too, is laid over that.
	const feed = `{"status":"SUCCESS","pricing":{
		"com":{"registration":"11.08","renewal":"11.08","transfer":"11.08","coupons":[]},
		"io":{"registration":"1,028.12","renewal":"57.71","transfer":""},
		"pgp":{"registration":"30.00","renewal":"30.00","transfer":"30.00","specialType":"handshake"}}}`
	out, stderr, err := operate(t, "-data", data, "pricing", "import", write(t, "feed.json", feed))
	if err != nil || !strings.Contains(stderr, "not a name of the DNS root") {
		t.Errorf("feed: got %s, %s, %v", out, stderr, err)
	}
	if price("com", tld.Register) != 1108 || price("de", tld.Register) != 700 || price("com", tld.Restore) == 0 {
		t.Errorf("after the feed: com %d, restore %d, de %d", price("com", tld.Register), price("com", tld.Restore), price("de", tld.Register))
	}
	// A list of one's own is taken whole or not at all.
	_, stderr, err = operate(t, "-data", data, "pricing", "import", write(t, "bad.csv", list+"net,9.99,,2026-11-01\n"))
	if err == nil || !strings.Contains(stderr, "row 4: register") || price("com", tld.Register) != 1108 {
		t.Errorf("a bad row: got %s, %v; com %d", stderr, err, price("com", tld.Register))
	}
	for _, text := range []string{"", "{", `{"status":"ERROR"}`, "a,b\n", "suffix,as_of\n"} {
		if _, _, err := operate(t, "-data", data, "pricing", "import", write(t, "bad", text)); err == nil || price("com", tld.Register) != 1108 {
			t.Errorf("%q: got %v, want an error and the prices before", text, err)
		}
	}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	var usage usageError
	if _, _, err := operate(t, "db", "check", "-data", data); !errors.As(err, &usage) {
		t.Errorf("check of nothing: got %v, want that there is no store", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a check made the store: %v", err)
	}
	if out, _, err := operate(t, "db", "migrate", "-data", data, "-json"); err != nil || !strings.Contains(out, `"applied": [`) || strings.Contains(out, "[]") {
		t.Errorf("migrate: got %s, %v", out, err)
	}
	if out, _, err := operate(t, "db", "migrate", "-data", data, "-json"); err != nil || !strings.Contains(out, `"applied": []`) {
		t.Errorf("migrate again: got %s, %v", out, err)
	}
	if _, _, err := operate(t, "listing", "import", write(t, "good.csv", good), "-env", "live", "-data", data); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "namewharf.db")
	if out, _, err := operate(t, "db", "backup", copied, "-data", data); err != nil || !strings.Contains(out, copied) {
		t.Errorf("backup: got %s, %v", out, err)
	}
	if _, _, err := operate(t, "db", "backup", copied, "-data", data); err == nil {
		t.Error("a backup over an older one is taken")
	}
	if out, _, err := operate(t, "db", "check", "-data", filepath.Dir(copied), "-json"); err != nil || !strings.Contains(out, `"problems": []`) {
		t.Errorf("check of the backup: got %s, %v", out, err)
	}
	if l := listed(t, openStore(t, filepath.Dir(copied)), "brewhaven.com"); l.PriceCents != 990000 {
		t.Errorf("the backup lacks brewhaven.com: %+v", l)
	}
	if err := os.WriteFile(filepath.Join(data, "namewharf.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, err := operate(t, "db", "check", "-data", data); err == nil {
		t.Errorf("check of a damaged store: got %s, want an error", out)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	file := write(t, "file", "")
	csv, data := write(t, "good.csv", good), newStore(t)
	for _, test := range []struct {
		name   string
		args   []string
		status int
		want   string // in the one line of standard error
	}{
		{"no command", nil, 2, "say what to do"},
		{"an unknown command", []string{"listing", "withdraw"}, 2, `no command "listing withdraw"; there are listing import`},
		{"a misspelt command", []string{"lsting", "import", csv}, 2, `no command "lsting import"; did you mean listing import?`},
		{"half a command", []string{"order"}, 2, `no command "order"; there are order list, order show`},
		{"a misspelt flag", []string{"order", "list", "-statsu", "x"}, 2, "did you mean -status?"},
		{"a flag of another command", []string{"db", "check", "-env", "live"}, 2, "db check takes no -env"},
		{"a flag behind a name", []string{"order", "refund", "ord_1", "-dry-run", "-data", data}, 2, "order refund takes no -dry-run"},
		{"no password", []string{"account", "create", "-email", "ada@names.example", "-data", data}, 2, "the password is missing"},
		{"a directory of listings", []string{"listing", "import", t.TempDir(), "-env", "live", "-data", data}, 2, "is a directory"},
		{"a directory of prices", []string{"pricing", "import", t.TempDir(), "-data", data}, 2, "is a directory"},
		{"semicolons", []string{"listing", "import", write(t, "s.csv", "domain;price_cents\nember.com;100\n"), "-env", "live", "-data", data}, 2, "semicolons"},
		{"prices with semicolons", []string{"pricing", "import", write(t, "s.csv", "suffix;register;as_of\ncom;100;2026-01-01\n"), "-data", data}, 2, "semicolons"},
		{"listings that are no text", []string{"listing", "import", write(t, "u.csv", "domain,price_cents\n\xffmber.com,100\n"), "-env", "live", "-data", data}, 1, "nothing was imported"},
		{"prices that are no text", []string{"pricing", "import", write(t, "u.csv", "suffix,register,as_of\n\xff,1,2026-01-01\n"), "-data", data}, 2, "UTF-8"},
		{"a spreadsheet", []string{"listing", "import", write(t, "x.csv", "PK\x03\x04\x00\x00"), "-env", "live", "-data", data}, 2, "header"},
		{"no rows", []string{"listing", "import", write(t, "n.csv", "domain,price_cents\n"), "-env", "live", "-data", data}, 1, "holds no rows"},
		{"bad rows in a dry run", []string{"listing", "import", write(t, "mixed.csv", mixed), "-env", "live", "-dry-run", "-data", data}, 1, "nothing would be imported"},
		{"an unknown flag", []string{"db", "check", "-nosuch"}, 2, "-nosuch"},
		{"no file", []string{"listing", "import", "-env", "live"}, 2, "usage: operator listing import FILE.csv"},
		{"two files", []string{"listing", "import", csv, csv, "-env", "live"}, 2, "usage: operator listing import FILE.csv"},
		{"no environment", []string{"listing", "import", csv}, 2, "-env must be live or sandbox"},
		{"another environment", []string{"listing", "import", csv, "-env", "test"}, 2, "-env must be live or sandbox"},
		{"no such file", []string{"listing", "import", csv + "2", "-env", "live"}, 2, "no such file"},
		{"no header", []string{"listing", "import", file, "-env", "live", "-data", data}, 2, "header is missing"},
		{"not a directory", []string{"listing", "import", csv, "-env", "live", "-data", file}, 2, "there is no store in"},
		{"no store", []string{"db", "backup", "x.db"}, 2, "there is no store in ./data"},
		{"bad rows", []string{"listing", "import", write(t, "mixed.csv", mixed), "-env", "live", "-data", data}, 1, "nothing was imported"},
		{"no prices", []string{"pricing", "import", write(t, "p.csv", "suffix,as_of\n")}, 1, "nothing was imported"},
		{"another database", []string{"db", "check", "-db", "mysql://x"}, 2, "postgres"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, stderr, status := programtest.Run(t, nil, test.args...)
			if status != test.status || !strings.HasPrefix(stderr, "operator: ") || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("operator %q: status %d, standard error\n%s\nwant %d and one line with %q", test.args, status, stderr, test.status, test.want)
			}
		})
	}
	stdout, stderr, status := programtest.Run(t, nil, "-h")
	if status != 0 || stderr != "" {
		t.Errorf("-h: status %d, standard error %q", status, stderr)
	}
	for _, c := range leaves(new(program).root()) {
		group := stdout
		if c.HasParent() && c.Parent().HasParent() {
			group, _, _ = operate(t, c.Parent().Name(), "-h")
		}
		if !strings.Contains(stdout, c.Name()) || !strings.Contains(group, usageOf(c)) && c.GroupID == "" {
			t.Errorf("-h does not list %s", usageOf(c))
		}
	}
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	stdout, stderr, status := programtest.Run(t, []string{"NAMEWHARF_DATA=" + data, "NAMEWHARF_ENV=live", "NAMEWHARF_JSON=true"},
		"listing", "import", write(t, "good.csv", good))
	if status != 0 || !strings.Contains(stdout, `"created": 2`) {
		t.Errorf("got status %d, %s%s", status, stdout, stderr)
	}
}

// An import that is broken off leaves nothing, at whatever moment that is.
func TestImportThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	const rows = 5_000
	var b strings.Builder
	b.WriteString("domain,price_cents\n")
	for i := range rows {
		fmt.Fprintf(&b, "name%d.com,1000\n", i)
	}
	file := write(t, "many.csv", b.String())
	for _, after := range []time.Duration{0, 5, 10, 20, 40, 80, 160, 320} {
		data := newStore(t)
		db := openStore(t, data)
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(after*time.Millisecond, cancel)
		var out, errs strings.Builder
		err := run(ctx, []string{"listing", "import", file, "-env", "live", "-data", data}, nothing, strings.NewReader(""), &out, &errs)
		stop.Stop()
		cancel()
		count := -1
		if err := db.Read(t.Context(), func(tx store.Tx) error {
			return tx.QueryRow(t.Context(), `SELECT count(*) FROM listings`).Scan(&count)
		}); err != nil {
			t.Fatal(err)
		}
		if err == nil && count == rows {
			break // it was done before
		}
		if !errors.Is(err, context.Canceled) || count != 0 {
			t.Errorf("broken off after %d ms: %v, %d listings; want none", after, err, count)
		}
	}
}

// An import names each error of a file once, and a dry run has the exit status of the real run.
func TestImportsNameWhatTheyRefuse(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	listings := write(t, "l.csv", "\ufeffdomain,price_cents,currency\r\nember.cmo,100,\r\nbrew.com,100,XXX\r\nhaven.com,100,USB\r\n")
	prices := write(t, "p.csv", "suffix,register,currency,as_of\ncmo,100,,2026-01-01\nxyzzyq,100,,2026-01-01\nnet,100,EURO,2026-01-01\nember.com,100,,2026-01-01\nuk.com,100,,2026-01-01\n")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"listing", "import", listings, "-env", "live"}, []string{".cmo", "did you mean com?", "XXX is not the code of a currency", "USB is not the code of a currency", "did you mean USD?"}},
		{[]string{"pricing", "import", prices}, []string{".cmo", "did you mean com?", ".xyzzyq", "did you mean EUR?", "ember.com is a name under a TLD"}},
	} {
		var outputs [2]string
		for i, more := range [][]string{{"-dry-run"}, nil} {
			stdout, stderr, status := programtest.Run(t, nil, append(append(test.args[:len(test.args):len(test.args)], more...), "-data", data)...)
			if status != 1 {
				t.Errorf("%q %q: status %d, %s", test.args, more, status, stderr)
			}
			outputs[i] = stdout + stderr
			for _, want := range test.want {
				if strings.Count(outputs[i], want) != 1 && want != "did you mean com?" || !strings.Contains(outputs[i], want) {
					t.Errorf("%q %q: want %q once:\n%s", test.args, more, want, outputs[i])
				}
			}
			lines := strings.Split(strings.TrimSpace(outputs[i]), "\n")
			seen := map[string]bool{}
			for _, line := range lines {
				if seen[line] && line != "" {
					t.Errorf("%q: said twice: %s", test.args, line)
				}
				seen[line] = true
			}
		}
	}
}

// Each dry run is held against the run that follows it, file by file.
func TestDryRunsAgree(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"good": good, "mixed": mixed, "empty": "", "header": "domain,price_cents\n", "twice": "domain,price_cents\na.com,1\na.com,2\n",
		"crlf": strings.ReplaceAll(good, "\n", "\r\n"), "bom": "\ufeff" + good, "unknown column": "domain,prize\n",
	}
	feeds := map[string]string{
		"good": "suffix,register,as_of\ncom,1234,2026-11-01\n", "bad": "suffix,register,as_of\ncom,x,2026-11-01\n", "empty": "", "header": "suffix,as_of\n",
		"feed":  `{"status":"SUCCESS","pricing":{"com":{"registration":"11.08","renewal":"11.08","transfer":"11.08"},"pgp":{"registration":"1","specialType":"handshake"}}}`,
		"mixed": "suffix,register,as_of\ncom,1234,2026-11-01\nnosuchsuffix,1,2026-11-01\n",
	}
	compare := func(name string, args ...string) {
		t.Helper()
		data := newStore(t)
		args = append(args, "-data", data, "-json")
		_, _, dry := operate(t, append(args, "-dry-run")...)
		if left, _ := filepath.Glob(filepath.Join(data, app.PricesFile)); len(left) > 0 {
			t.Errorf("%s: the dry run changed something", name)
		}
		_, _, real := operate(t, args...)
		if exitStatus(dry) != exitStatus(real) {
			t.Errorf("%s: the dry run ends with %v, the run with %v", name, dry, real)
		}
	}
	for name, text := range files {
		for _, flags := range [][]string{nil, {"-partial"}} {
			compare("listings, "+name, append([]string{"listing", "import", write(t, "f.csv", text), "-env", "live"}, flags...)...)
		}
	}
	for name, text := range feeds {
		for _, flags := range [][]string{nil, {"-partial"}} {
			compare("prices, "+name, append([]string{"pricing", "import", write(t, "f", text)}, flags...)...)
		}
	}
}

// meant is the command that a command line means.
func meant(t *testing.T, args ...string) *cobra.Command {
	t.Helper()
	l, err := read(new(program).root(), args)
	if err != nil {
		t.Fatal(err)
	}
	return l.command
}

func isUsage(err error) bool {
	var refused usageError
	return errors.As(err, &refused)
}
