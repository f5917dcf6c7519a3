package money_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/money"
)

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"11.08": 1108, "11": 1100, "11.1": 1110, "0.05": 5, "1,234.50": 123450, "10000000000": 1_000_000_000_000} {
		if got, err := money.ParseDecimal(in); err != nil || got != want {
			t.Errorf("ParseDecimal(%q): got %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "1.", ".5", "1.234", "-1", "+1", "1e2", " 1", "1.2.3", "10000000000.01", "99999999999999999999"} {
		if got, err := money.ParseDecimal(in); err == nil {
			t.Errorf("ParseDecimal(%q): got %d, want a refusal", in, got)
		}
	}
}

func TestParseCents(t *testing.T) {
	t.Parallel()
	if got, err := money.ParseCents("0108"); err != nil || got != 108 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, in := range []string{"", "1.0", "1e2", "-5", "+5", " 5", "٣", "1000000000001", "99999999999999999999"} {
		if got, err := money.ParseCents(in); err == nil {
			t.Errorf("ParseCents(%q): got %d, want a refusal", in, got)
		}
	}
}

func TestParseCurrency(t *testing.T) {
	t.Parallel()
	if c, err := money.ParseCurrency("EUR"); err != nil || c != "EUR" {
		t.Errorf("got %q, %v", c, err)
	}
	for _, in := range []string{"", "eur", "EU", "EURO", "E1R", "€UR"} {
		if _, err := money.ParseCurrency(in); err == nil {
			t.Errorf("ParseCurrency(%q) is taken", in)
		}
	}
}

func TestWire(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(money.USD(1099))
	if err != nil || string(b) != `{"priceCents":1099,"currency":"USD"}` {
		t.Errorf("got %s, %v", b, err)
	}
	var back money.Amount
	if err := json.Unmarshal(b, &back); err != nil || back != money.USD(1099) {
		t.Errorf("got %v, %v", back, err)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for cents, want := range map[int64]string{0: "0.00 USD", 5: "0.05 USD", 123450: "1234.50 USD", -199: "-1.99 USD"} {
		if got := money.USD(cents).String(); got != want {
			t.Errorf("USD(%d) prints %s, want %s", cents, got, want)
		}
	}
}

// What was parsed prints back to the same amount.
func FuzzParseDecimal(f *testing.F) {
	for _, seed := range []string{"11.08", "1,234", "0.1", "..", "1e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		cents, err := money.ParseDecimal(in)
		if err != nil {
			return
		}
		printed := strings.TrimSuffix(money.USD(cents).String(), " USD")
		if again, err := money.ParseDecimal(printed); err != nil || again != cents {
			t.Fatalf("ParseDecimal(%q) = %d, printed %s, parsed %d, %v", in, cents, printed, again, err)
		}
	})
}

func ExampleParseDecimal() {
	cents, err := money.ParseDecimal("11.08")
	fmt.Println(money.USD(cents), err)
	// Output: 11.08 USD <nil>
}
