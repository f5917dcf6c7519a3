package market_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestImportReadsFiles(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	long := strings.Repeat("x", market.MaxDescription)
	tests := []struct {
		name, file string
		want       string // domain price floor currency description keywords of each listing
		bad        string // line and column of each bad row
	}{
		{"all columns", header + "a.example,200,100,EUR,A name,one; two\n", "a.example 200 100 EUR A name one/two", ""},
		{"columns in another order", "currency,price_cents,domain\nGBP,5,a.example\n", "a.example 5 5 GBP  ", ""},
		{"byte order mark, CRLF, upper case header", "\ufeffDomain,Price_Cents\r\na.example,5\r\nb.example,6\r\n", "a.example 5 5 USD  |b.example 6 6 USD  ", ""},
		{"quoted fields", header + "\"a.example\",\"5\",,,\"Said \"\"yes\"\", twice\",\"one, two\"\n", "a.example 5 5 USD Said \"yes\", twice one/two", ""},
		{"keywords by spaces", header + "a.example,5,,,,one  two\n", "a.example 5 5 USD  one/two", ""},
		{"keywords of several words", header + "a.example,5,,,,real estate|villa|villa||\n", "a.example 5 5 USD  real estate/villa", ""},
		{"a name in Unicode", header + "Bücher.Example,5,,,,\n", "xn--bcher-kva.example 5 5 USD  ", ""},
		{"blank lines", header + "\n\na.example,5,,,,\n\n", "a.example 5 5 USD  ", ""},
		{"no last line end", header + "a.example,5,,,,", "a.example 5 5 USD  ", ""},
		{"no rows", header, "", ""},
		{"the longest description", header + "a.example,5,,," + long + ",\n", "a.example 5 5 USD " + long + " ", ""},

		{"too long a description", header + "a.example,5,,," + long + "x,\n", "", "2 description"},
		{"a control character", header + "a.example,5,,,\"a\tb\",\nb.example,5,,,\"a\nb\",\nc.example,5,,,a\x00,\n", "", "2 description|3 description|5 description"},
		{"a character that turns text around", header + "a.example,5,,,a\u202eb,\nb.example,5,,,,k\u2066\n", "", "2 description|3 keywords"},
		{"broken UTF-8", header + "a.example,5,,,\xff,\n", "", "2 description"},
		{
			"prices that are none", header + "a.example,,,,,\nb.example,0,,,,\nc.example,-5,,,,\nd.example,1.5,,,,\ne.example,1e3,,,,\nf.example,99999999999999999999,,,,\n",
			"", "2 price_cents|3 price_cents|4 price_cents|5 price_cents|6 price_cents|7 price_cents",
		},
		{"a floor over the price", header + "a.example,5,6,,,\n", "", "2 floor_price_cents"},
		{"a floor of nothing", header + "a.example,5,0,,,\n", "", "2 floor_price_cents"},
		{"currencies that are none", header + "a.example,5,,usd,,\nb.example,5,,EURO,,\n", "", "2 currency|3 currency"},
		{"names that are none", header + ",5,,,,\nexample,5,,,,\na b.example,5,,,,\n-a.example,5,,,,\n192.0.2.1,5,,,,\n", "", "2 domain|3 domain|4 domain|5 domain|6 domain"},
		{"a name twice", header + "a.example,5,,,,\nA.Example.,6,,,,\n", "", "3 domain"},
		{"too few and too many fields", header + "a.example,5\nb.example,5,,,,,\n", "", "2 |3 "},
		{"a stray quote", header + "a\"b.example,5,,,,\nb.example,5,,,,\n", "", "2 "},
		{"a quote never closed", header + "a.example,5,,,\"open,\n", "", "2 "},
		{"too many keywords", header + "a.example,5,,,," + strings.Repeat("k;", 5) + keywordsOf(21) + "\n", "", "2 keywords"},
		{"too long a keyword", header + "a.example,5,,,," + strings.Repeat("k", 65) + "\n", "", "2 keywords"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := []market.Environment{market.Live, market.Sandbox}[i%2]
			clear(t, db)
			r, err := market.Import(t.Context(), db, iotest.OneByteReader(strings.NewReader(tt.file)), market.ImportOptions{Environment: env})
			if err != nil {
				t.Fatalf("import %q: %v", tt.file, err)
			}
			if got := badOf(r); got != tt.bad {
				t.Errorf("import %q: bad rows %q (%v), want %q", tt.file, got, r.Bad, tt.bad)
			}
			if r.Applied != (tt.bad == "") {
				t.Errorf("import %q: applied %v with bad rows %v", tt.file, r.Applied, r.Bad)
			}
			if got := dump(t, db, env); got != tt.want {
				t.Errorf("import %q: %q stands in the store, want %q", tt.file, got, tt.want)
			}
		})
	}
}

func keywordsOf(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("k", i))
	}
	return strings.Join(all, ";")
}

func badOf(r market.Report) string {
	var out []string
	for _, b := range r.Bad {
		out = append(out, fmt.Sprintf("%d %s", b.Line, b.Column))
	}
	return strings.Join(out, "|")
}

func clear(t testing.TB, db *store.DB) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `DELETE FROM listings`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dump prints what is listed, by name.
func dump(t testing.TB, db *store.DB, env market.Environment) string {
	t.Helper()
	var out []string
	err := db.Read(t.Context(), func(tx store.Tx) error {
		rows, err := tx.Query(t.Context(), `
			SELECT domain, price_cents, floor_price_cents, currency, description, keywords
			FROM listings WHERE environment = $1 AND status = 'listed' ORDER BY domain`, env)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var domain, currency, description, keywords string
			var price, floor int64
			if err := rows.Scan(&domain, &price, &floor, &currency, &description, &keywords); err != nil {
				return err
			}
			out = append(out, fmt.Sprintf("%s %d %d %s %s %s", domain, price, floor, currency, description, strings.ReplaceAll(keywords, "\n", "/")))
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "|")
}

func TestImportRefusesHeaders(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	for name, file := range map[string]string{
		"an empty file":        "",
		"an unknown column":    "domain,price_cents,owner\na.example,5,me\n",
		"a column twice":       "domain,price_cents,domain\na.example,5,b.example\n",
		"no price":             "domain\na.example\n",
		"no domain":            "price_cents\n5\n",
		"no header":            "a.example,5\n",
		"a header with quotes": "dom\"ain,price_cents\n",
	} {
		r, err := market.Import(t.Context(), db, strings.NewReader(file), market.ImportOptions{Environment: market.Live})
		if !fault.Is(err, fault.Validation) || r.Applied {
			t.Errorf("%s: %+v, %v; want a validation error", name, r, err)
		}
	}
	broken := errors.New("the disk is gone")
	_, err := market.Import(t.Context(), db, io.MultiReader(strings.NewReader(header+"a.example,5,,,,\n"), iotest.ErrReader(broken)), market.ImportOptions{Environment: market.Live})
	if !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v, want its error", err)
	}
	if _, err := market.Import(t.Context(), db, strings.NewReader(header), market.ImportOptions{Environment: "live"}); !fault.Is(err, fault.Validation) {
		t.Errorf("an unknown environment: %v, want a validation error", err)
	}
}

func TestImportUpdatesAndKeepsListedAt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		var rows []string
		for i := range 170 { // over the rows of one statement
			rows = append(rows, fmt.Sprintf("a%03d.example,%d,,,,", i, 100+i))
		}
		if r := list(t, m, rows...); r.Rows != 170 || r.Created != 170 || !r.Applied {
			t.Errorf("first import = %+v; want 170 created", r)
		}
		domain := fqdn.MustParse("a007.example")
		before, err := m.Listing(t.Context(), market.Live, domain)
		if err != nil {
			t.Fatal(err)
		}
		version := m.Version()
		rows[7] = "a007.example,999,,,A better one,"
		if r := list(t, m, append(rows, "new.example,5,,,,")...); r.Created != 1 || r.Updated != 1 || r.Unchanged != 169 {
			t.Errorf("second import = %+v; want 1 created, 1 updated, 169 unchanged", r)
		}
		after, err := m.Listing(t.Context(), market.Live, domain)
		if err != nil {
			t.Fatal(err)
		}
		if after.ID != before.ID || !after.ListedAt.Equal(before.ListedAt) || after.PriceCents != 999 || after.Description != "A better one" || !after.UpdatedAt.After(before.UpdatedAt) {
			t.Errorf("update turned %+v into %+v", before, after)
		}
		if o, _ := m.Get(market.Live, domain); o.PriceCents != 999 {
			t.Errorf("the index has price %d, want 999", o.PriceCents)
		}
		if m.Version() == version {
			t.Error("the version is as before")
		}
	})
}

func TestImportTakesAllOrWhatIsGood(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := stall(t, db)
		list(t, m, "sold.example,5,,,,", "old.example,5,,,,")
		if err := move(t, m, db, "sold.example", market.Listed, market.Sold); err != nil {
			t.Fatal(err)
		}
		file := header + "new.example,5,,,,\nbad.example,x,,,,\nold.example,6,,,,\nsold.example,7,,,,\nnew.example,8,,,,\n"
		const bad = "3 price_cents|5 domain|6 domain"
		try := func(o market.ImportOptions) market.Report {
			t.Helper()
			o.Environment = market.Live
			var last [2]int
			o.Progress = func(done, total int) { last = [2]int{done, total} }
			r, err := m.Import(t.Context(), strings.NewReader(file), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := badOf(r); got != bad || r.Rows != 5 || r.Created != 1 || r.Updated != 1 {
				t.Errorf("%+v: report %+v; want bad rows %q, 1 created and 1 updated of 5", o, r, bad)
			}
			if last != [2]int{3, 3} {
				t.Errorf("%+v: progress ends with %v, want 3 of 3", o, last)
			}
			return r
		}
		for _, o := range []market.ImportOptions{{}, {DryRun: true}, {DryRun: true, Partial: true}} {
			if r := try(o); r.Applied {
				t.Errorf("%+v was applied", o)
			}
			if got, want := dump(t, db, market.Live), "old.example 5 5 USD  "; got != want {
				t.Errorf("%+v left %q, want %q", o, got, want)
			}
		}
		if r := try(market.ImportOptions{Partial: true}); !r.Applied {
			t.Error("a partial import was not applied")
		}
		if got, want := dump(t, db, market.Live), "new.example 5 5 USD  |old.example 6 6 USD  "; got != want {
			t.Errorf("a partial import left %q, want %q", got, want)
		}
	})
}

func TestImportAsksAboutSuffixes(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	suffixes := fqdn.NewSuffixes([]string{"com", "uk"}, nil)
	check := func(n fqdn.Name) error {
		registrable, _, err := suffixes.Registrable(n)
		if err == nil && registrable != n {
			err = errors.New("is below a registrable name")
		}
		return err
	}
	r, err := market.Import(t.Context(), db, strings.NewReader("domain,price_cents\na.com,5\na.b.com,5\na.co.uk,5\nco.uk,5\na.nosuch,5\n"),
		market.ImportOptions{Environment: market.Live, Suffix: check})
	if err != nil || badOf(r) != "3 domain|5 domain|6 domain" {
		t.Errorf("import = %+v, %v; want lines 3, 5 and 6 bad", r, err)
	}
}

// Names that cannot be registered are not for sale, whatever their suffix.
func TestImportRefusesLabelsThatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	r, err := market.Import(t.Context(), db, strings.NewReader("domain,price_cents\nbücher.com,5\n😀.com,5\nxn--e28h.example,5\na・b.test,5\nパン・コーヒー.test,5\n"),
		market.ImportOptions{Environment: market.Live})
	if err != nil || badOf(r) != "3 domain|4 domain|5 domain" {
		t.Errorf("import = %+v, %v; want lines 3, 4 and 5 bad", r, err)
	}
}

func TestDemoIsGood(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	r, err := market.Import(t.Context(), db, market.Demo(), market.ImportOptions{Environment: market.Live})
	if err != nil || len(r.Bad) > 0 || r.Created < 200 {
		t.Fatalf("import of the demo = %+v, %v", r, err)
	}
	m := stall(t, db)
	var got []string
	for _, h := range m.Search(market.Live, "coffee shop", 50) {
		got = append(got, h.Domain.String())
	}
	if !slices.Contains(got, "brewhaven.com") {
		t.Errorf("the demo offers %q for a coffee shop, want brewhaven.com among them", got)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(header + "a.example,200,100,EUR,\"A, name\",one;two\r\n")
	f.Add("\ufeffprice_cents,domain\n5,bücher.example\n,\n\"")
	f.Add("domain,price_cents\na.example,5\na.example,5\n")
	f.Add(header + "xn--a.example,5,,,\x00,\n")
	db := storetest.Open(f, store.Config{Temporary: true})
	f.Fuzz(func(t *testing.T, file string) {
		r, err := market.Import(t.Context(), db, strings.NewReader(file), market.ImportOptions{Environment: market.Live, Partial: true})
		if err != nil {
			if !fault.Is(err, fault.Validation) {
				t.Errorf("import %q: %v", file, err)
			}
			return
		}
		if good := r.Created + r.Updated + r.Unchanged; good+len(r.Bad) != r.Rows {
			t.Errorf("import %q loses rows: %+v", file, r)
		}
		again, err := market.Import(t.Context(), db, strings.NewReader(file), market.ImportOptions{Environment: market.Live, Partial: true})
		if err != nil || again.Created+again.Updated > 0 || again.Unchanged != r.Created+r.Updated+r.Unchanged {
			t.Errorf("import %q a second time: %+v, %v; want all unchanged", file, again, err)
		}
	})
}
