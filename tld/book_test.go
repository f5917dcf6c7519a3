package tld

import (
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
)

func day(s string) time.Time {
	t, err := parseDate(s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestDefaultBook(t *testing.T) {
	t.Parallel()
	book := DefaultBook()
	offered := map[Action]int{}
	for _, suffix := range book.Suffixes() {
		for _, p := range book.Prices(suffix) {
			offered[p.Action]++
			if p.TLD != suffix || p.Amount.Cents <= 0 || p.Amount.Currency != "USD" || p.AsOf != day("2026-01-01") || p.TermYears > 2 {
				t.Errorf("%s: %+v", suffix, p)
			}
		}
	}
	want := map[Action]int{Register: 805, Renew: 805, Transfer: 795, Restore: 757}
	for _, a := range Actions() {
		if offered[a] != want[a] {
			t.Errorf("%s is offered for %d suffixes, want %d", a, offered[a], want[a])
		}
	}
	if book.Len() != 805 {
		t.Errorf("%d suffixes, want 805", book.Len())
	}
}

func TestPrice(t *testing.T) {
	t.Parallel()
	prices := NewPrices(DefaultBook())
	for name, c := range map[string]struct {
		suffix string
		action Action
		cents  int64
		years  int
	}{
		"a registration":                             {"com", Register, 1088, 1},
		"a renewal":                                  {"com", Renew, 1088, 1},
		"a transfer that adds a year":                {"com", Transfer, 1088, 1},
		"a restore":                                  {"com", Restore, 10092, 1},
		"a suffix below a domain":                    {"co.uk", Renew, 629, 1},
		"a suffix in Unicode":                        {"公司.香港", Renew, 1927, 1},
		"a token charge for a transfer":              {"ac.mw", Transfer, 30, 0},
		"a transfer that adds two years":             {"ai", Transfer, 14980, 2},
		"a year of what is sold by two":              {"ai", Register, 7490, 1},
		"a transfer that adds no year":               {"hk", Transfer, 2569, 0},
		"a transfer of which no rule says the years": {"de", Transfer, 411, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suffix := fqdn.MustParse(c.suffix)
			want := Price{suffix, c.action, money.USD(c.cents), c.years, day("2026-01-01")}
			if got, err := prices.Price(suffix, c.action); err != nil || got != want {
				t.Errorf("Price(%s, %s): got %+v, %v, want %+v", c.suffix, c.action, got, err, want)
			}
		})
	}
}

func TestPriceIsNotThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		suffix string
		action Action
		code   fault.Code
		says   string
	}{
		"an unknown suffix":              {"example", Register, fault.NotFound, "no price for this TLD"},
		"a delegated suffix without one": {"google", Register, fault.NotFound, "no price for this TLD"},
		"an action that is not offered":  {"co.uk", Transfer, fault.NotFound, "transfer is not offered for this TLD; it offers register and renew"},
		"another that is not offered":    {"mw", Restore, fault.NotFound, "it offers register, renew and transfer"},
		"an action that does not exist":  {"com", "trade", fault.Validation, "register, renew, transfer or restore"},
		"the action in another case":     {"com", "Register", fault.Validation, "register, renew, transfer or restore"},
		"no action":                      {"com", "", fault.Validation, "op must be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := DefaultBook().Price(fqdn.MustParse(c.suffix), c.action)
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) || got != (Price{}) {
				t.Errorf("Price(%s, %q): got %+v, %v, want %s: …%s…", c.suffix, c.action, got, err, c.code, c.says)
			}
		})
	}
}

func TestMergeKeepsWhatIsNotReplaced(t *testing.T) {
	t.Parallel()
	over := mustCSV(t, "suffix,register,as_of\ncom,999,2026-02-03\nnew.example,500,2026-02-03\n")
	merged := Merge(DefaultBook(), over)
	com := fqdn.MustParse("com")
	for _, want := range []Price{
		{com, Register, money.USD(999), 1, day("2026-02-03")},
		{com, Restore, money.USD(10092), 1, day("2026-01-01")},
		{fqdn.MustParse("new.example"), Register, money.USD(500), 1, day("2026-02-03")},
	} {
		if got, err := merged.Price(want.TLD, want.Action); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if got, _ := DefaultBook().Price(com, Register); got.Amount != money.USD(1088) {
		t.Errorf("the base book changed: %+v", got)
	}
	if merged.Len() != 806 {
		t.Errorf("%d suffixes, want 806", merged.Len())
	}
}

func TestParseSuffix(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"com": "com", ".com": "com", " .CO.UK ": "co.uk", "рф": "xn--p1ai", ".xn--p1ai": "xn--p1ai", "com.": "com",
	} {
		if got, err := ParseSuffix(in); err != nil || got.String() != want {
			t.Errorf("ParseSuffix(%q): got %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "..com", "a_b", "co uk", "127.0.0.1"} {
		if got, err := ParseSuffix(in); !fault.Is(err, fault.Validation) {
			t.Errorf("ParseSuffix(%q): got %s, %v, want validation_error", in, got, err)
		}
	}
}

func TestReadBookRefuses(t *testing.T) {
	t.Parallel()
	const good = "as_of 2026-01-01\ntariff\n  suffixes aa bb\n  register 100 USD 1\n"
	if _, err := readBook(good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no as_of":               strings.Replace(good, "as_of 2026-01-01\n", "", 1),
		"an unknown block":       strings.Replace(good, "tariff", "prices", 1),
		"an unknown action":      strings.Replace(good, "register", "trade", 1),
		"cents with a point":     strings.Replace(good, "100", "1.00", 1),
		"a currency in words":    strings.Replace(good, "USD", "dollar", 1),
		"no years":               strings.Replace(good, " 1\n", "\n", 1),
		"years with a sign":      strings.Replace(good, " 1\n", " -1\n", 1),
		"years without end":      strings.Replace(good, " 1\n", " 101\n", 1),
		"no price":               strings.Replace(good, "  register 100 USD 1\n", "", 1),
		"no suffix":              strings.Replace(good, "  suffixes aa bb\n", "", 1),
		"a suffix priced twice":  strings.Replace(good, "bb", "aa", 1),
		"an action priced twice": good + "  register 200 USD 1\n",
	} {
		if _, err := readBook(text); err == nil {
			t.Errorf("%s: taken:\n%s", name, text)
		}
	}
}

func BenchmarkReadBook(b *testing.B) {
	for b.Loop() {
		if _, err := readBook(unpack(tariffsPacked)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrice(b *testing.B) {
	prices, suffix := NewPrices(DefaultBook()), fqdn.MustParse("co.uk")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := prices.Price(suffix, Renew); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPriceDoesNotAllocate(t *testing.T) {
	prices, suffix := NewPrices(DefaultBook()), fqdn.MustParse("co.uk")
	if n := testing.AllocsPerRun(100, func() { _, _ = prices.Price(suffix, Renew) }); n != 0 {
		t.Errorf("a price costs %v allocations, want none", n)
	}
}
