// Package money is an amount in integer minor units of a currency.
package money

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// An Amount is money in minor units (cents). The zero Amount has no currency. Floats never carry money.
type Amount struct {
	Cents    int64
	Currency string // ISO 4217, upper case
}

// USD returns an amount in US cents.
func USD(cents int64) Amount { return Amount{cents, "USD"} }

// MaxCents bounds every price that enters the system: ten thousand million units.
const MaxCents = 1_000_000_000_000

// String prints the amount for people: "12.34 USD".
func (a Amount) String() string {
	c, sign := a.Cents, ""
	if c < 0 {
		c, sign = -c, "-"
	}
	return fmt.Sprintf("%s%d.%02d %s", sign, c/100, c%100, a.Currency)
}

type wire struct {
	PriceCents int64  `json:"priceCents"`
	Currency   string `json:"currency"`
}

// MarshalJSON writes the public API's form, {"priceCents": 1099, "currency": "USD"}.
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(wire{a.Cents, a.Currency}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Amount) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*a = Amount{w.PriceCents, w.Currency}
	return nil
}

// ParseCents reads minor units written as plain digits: no sign, exponent, fraction or space.
func ParseCents(s string) (int64, error) {
	if s == "" || strings.TrimLeft(s, "0123456789") != "" {
		return 0, fmt.Errorf("not a whole number of cents in plain digits")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > MaxCents {
		return 0, fmt.Errorf("over the largest amount, %d cents", int64(MaxCents))
	}
	return n, nil
}

// ParseDecimal reads a decimal amount such as "11.08" or "1,234.50" of a currency with two decimals into cents.
// More than two decimals, signs and exponents are refused.
func ParseDecimal(s string) (int64, error) {
	s = strings.ReplaceAll(s, ",", "")
	whole, frac, dotted := strings.Cut(s, ".")
	if len(frac) > 2 || dotted && frac == "" || whole == "" {
		return 0, fmt.Errorf("not a decimal amount with at most two decimals")
	}
	return ParseCents(whole + (frac + "00")[:2])
}

// ParseCurrency checks a three-letter upper-case code (ISO 4217).
func ParseCurrency(s string) (string, error) {
	if len(s) != 3 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", fmt.Errorf("not a three-letter currency code such as USD")
	}
	return s, nil
}
