package tld

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
)

// mustCSV parses a price list without a bad row.
func mustCSV(t testing.TB, text string) *Book {
	t.Helper()
	book, bad, err := ParseCSV(strings.NewReader(text))
	if err != nil || len(bad) > 0 {
		t.Fatalf("ParseCSV: %v, %v", bad, err)
	}
	return book
}

func csvOf(t testing.TB, b *Book) string {
	t.Helper()
	var out bytes.Buffer
	if err := b.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestParseCSV(t *testing.T) {
	t.Parallel()
	const head = "suffix,register,renew,transfer,restore,currency,term_years,as_of\n"
	for name, c := range map[string]struct {
		text, want string // want: as WriteCSV writes it
		bad        []RowError
	}{
		"all columns": {
			head + "com,100,200,300,400,EUR,2,2026-05-06\n",
			"com,100,200,300,400,EUR,2,2026-05-06\n", nil,
		},
		"columns in another order, some left out": {
			"as_of,renew,suffix\n2026-05-06,200,com\n",
			"com,,200,,,USD,1,2026-05-06\n", nil,
		},
		"spreadsheet manners: byte order mark, CR LF, capitals, spaces, quotes": {
			"\ufeffSuffix, Register ,As_Of\r\n \".COM\", 100 ,2026-05-06\r\n\r\n",
			"com,100,,,,USD,1,2026-05-06\n", nil,
		},
		"a suffix in Unicode": {
			head + "公司.香港,100,,,,,,2026-05-06\n",
			"xn--55qx5d.xn--j6w193g,100,,,,USD,1,2026-05-06\n", nil,
		},
		"an empty price is not offered, a zero is free": {
			head + "com,100,,0,,,,2026-05-06\n",
			"com,100,,0,,USD,1,2026-05-06\n", nil,
		},
		"several rows of a suffix": {
			head + "com,,,30,,,0,2026-05-06\ncom,100,200,,,,,2026-05-06\n",
			"com,100,200,,,USD,1,2026-05-06\ncom,,,30,,USD,0,2026-05-06\n", nil,
		},
		"a bad row is left out as a whole and the others are kept": {
			head + "com,100,2.50,,,,,2026-05-06\nnet,100,,,,,,2026-05-06\n",
			"net,100,,,,USD,1,2026-05-06\n",
			[]RowError{{2, "renew", "is not a whole number of cents in plain digits"}},
		},
		"every bad row is reported with its line": {
			head + "a_b,100,,,,,,2026-05-06\ncom,100,,,,usd,,2026-05-06\ncom,100,,,,,x,2026-05-06\ncom,100,,,,,,05/06/2026\n" +
				"com,,,,,,,2026-05-06\ncom,100\n\nnet,-1,,,,,,2026-05-06\nnet,1000000000001,,,,,,2026-05-06\n",
			"",
			[]RowError{
				{2, "suffix", "holds an underscore, which no registry accepts in a registered name"},
				{3, "currency", "is not the code of a currency in use (ISO 4217), such as USD; did you mean USD?"},
				{4, "term_years", "is not a whole number from 0 to 100"},
				{5, "as_of", "is not a date such as 2026-01-01"},
				{6, "", "has no price"},
				{7, "", "has 2 columns, not 8"},
				{9, "register", "is not a whole number of cents in plain digits"},
				{10, "register", "is over the largest amount, 1000000000000 cents"},
			},
		},
		"a second price for the same": {
			head + "com,100,,,,,,2026-05-06\n.COM,200,300,,,,,2026-05-06\n",
			"com,100,,,,USD,1,2026-05-06\n",
			[]RowError{{3, "register", "has a price for this TLD in an earlier row"}},
		},
		"a stray quotation mark": {
			head + "co\"m,100,,,,,,2026-05-06\nnet,100,,,,,,2026-05-06\n",
			"net,100,,,,USD,1,2026-05-06\n",
			[]RowError{{2, "", "has a stray or unclosed quotation mark"}},
		},
		"a file without rows": {head, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book, bad, err := ParseCSV(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := csvOf(t, book); got != head+c.want {
				t.Errorf("ParseCSV(%q):\n got %q\nwant %q", c.text, got, head+c.want)
			}
			if !reflect.DeepEqual(bad, c.bad) {
				t.Errorf("ParseCSV(%q), bad rows:\n got %v\nwant %v", c.text, bad, c.bad)
			}
		})
	}
}

func TestParseCSVRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":               "",
		"no header":             "com,100,2026-05-06\n",
		"an unknown column":     "suffix,register,as_of,discount\n",
		"a column twice":        "suffix,register,register,as_of\n",
		"no suffix column":      "register,as_of\n",
		"no as_of column":       "suffix,register\n",
		"semicolons":            "suffix;register;as_of\n",
		"UTF-16":                "\xff\xfes\x00u\x00f\x00",
		"more than the limit":   "suffix,register,as_of\n" + strings.Repeat("\n", MaxFeed),
		"quotes without end":    "\"suffix,register,as_of\n",
		"a JSON document":       "{\"status\":\"SUCCESS\"}",
		"a header of one comma": ",",
	} {
		if book, _, err := ParseCSV(strings.NewReader(text)); err == nil || book != nil {
			t.Errorf("%s: got %v, %v, want an error", name, book, err)
		}
	}
}

func TestDefaultBookSurvivesCSV(t *testing.T) {
	t.Parallel()
	if back := mustCSV(t, csvOf(t, DefaultBook())); !reflect.DeepEqual(back, DefaultBook()) {
		t.Errorf("the default book is another after writing and reading it")
	}
}

func FuzzParseCSV(f *testing.F) {
	f.Add("suffix,register,renew,transfer,restore,currency,term_years,as_of\ncom,100,200,300,400,EUR,2,2026-05-06\ncom,,,30,,,0,2026-05-06\n")
	f.Add("as_of,suffix,renew\n2026-05-06,\"公司.香港\",200\n2026-05-06,.com\n")
	f.Fuzz(func(t *testing.T, text string) {
		book, _, err := ParseCSV(strings.NewReader(text))
		if err != nil {
			return
		}
		if back := mustCSV(t, csvOf(t, book)); !reflect.DeepEqual(back, book) {
			t.Errorf("%q: the book is another after writing and reading it:\n%s\n%s", text, csvOf(t, book), csvOf(t, back))
		}
	})
}

func TestParsePorkbun(t *testing.T) {
	t.Parallel()
	const reply = `{"status":"SUCCESS","pricing":{
		"com":{"registration":"11.08","renewal":"11.08","transfer":"11.08","coupons":[]},
		"cars":{"registration":"2,140.22","renewal":"2,140.2","transfer":"","coupons":{"registration":{"code":"X","amount":100}}},
		"xn--p1ai":{"registration":"5","renewal":"6.50"},
		"hns":{"registration":"1.00","renewal":"1.00","transfer":"1.00","coupons":[],"specialType":"handshake"},
		"net":{"registration":"1.234","renewal":"1.00"},
		"org":{"registration":7.5},
		"a b":{"registration":"1.00"},
		"info":null,
		"COM":{"registration":"1.00"}}}`
	at := time.Date(2026, 5, 6, 23, 59, 0, 0, time.FixedZone("", -3600)) // the 7th in UTC
	book, bad, err := parsePorkbun(strings.NewReader(reply), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "suffix,register,renew,transfer,restore,currency,term_years,as_of\n" +
		"cars,214022,214020,,,USD,1,2026-05-07\n" +
		"com,1108,1108,1108,,USD,1,2026-05-07\n" +
		"xn--p1ai,500,650,,,USD,1,2026-05-07\n"
	if got := csvOf(t, book); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	wantBad := []RowError{
		{4, "", "is not a name of the DNS root"},
		{5, "register", "is not a decimal amount with at most two decimals"},
		{6, "", "is not an object with amounts as text"},
		{7, "suffix", "holds a space"},
		{8, "", "has no price"},
		{9, "register", "has a price for this TLD in an earlier row"},
	}
	if !reflect.DeepEqual(bad, wantBad) {
		t.Errorf("bad entries:\n got %v\nwant %v", bad, wantBad)
	}
}

func TestParsePorkbunRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":             "",
		"an error reply":      `{"status":"ERROR","message":"no"}`,
		"no pricing":          `{"status":"SUCCESS"}`,
		"a list of prices":    `{"status":"SUCCESS","pricing":[{"com":{}}]}`,
		"a cut reply":         `{"status":"SUCCESS","pricing":{"com":{"registration":"11.08"`,
		"HTML":                "<html>",
		"more than the limit": `{"status":"SUCCESS","pricing":{}}` + strings.Repeat(" ", MaxFeed),
	} {
		if book, _, err := parsePorkbun(strings.NewReader(text), day("2026-05-06"), nil); err == nil || book != nil {
			t.Errorf("%s: got %v, %v, want an error", name, book, err)
		}
	}
}

func TestParseFeedTakesBothForms(t *testing.T) {
	t.Parallel()
	want := Price{fqdn.MustParse("com"), Register, money.USD(1108), 1, day("2026-05-06")}
	for name, text := range map[string]string{
		"JSON": "\n {\"status\":\"SUCCESS\",\"pricing\":{\"com\":{\"registration\":\"11.08\"}}}",
		"CSV":  "suffix,register,as_of\ncom,1108,2026-05-06\n",
	} {
		book, bad, err := ParseFeed(strings.NewReader(text), day("2026-05-06"), nil)
		if err != nil || bad != nil {
			t.Fatalf("%s: %v, %v", name, bad, err)
		}
		if got, err := book.Price(want.TLD, Register); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func FuzzParsePorkbun(f *testing.F) {
	f.Add(`{"status":"SUCCESS","pricing":{"com":{"registration":"11.08","renewal":"1,011.1","transfer":"","coupons":[]},"x":null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		book, bad, err := parsePorkbun(strings.NewReader(text), day("2026-05-06"), nil)
		if err != nil {
			return
		}
		for _, e := range bad {
			if e.Row < 1 || e.Reason == "" {
				t.Errorf("%q: %+v", text, e)
			}
		}
		if back := mustCSV(t, csvOf(t, book)); !reflect.DeepEqual(back, book) {
			t.Errorf("%q: the book is another after writing and reading it", text)
		}
	})
}
