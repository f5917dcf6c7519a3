// Package money represents amounts in integer minor units of a currency.
package money

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Amount is money in minor units (cents). The zero Amount has no currency. Floats never carry money.
type Amount struct {
	Cents    int64
	Currency string // ISO 4217, upper case
}

// An Error says why a text is not an amount or a currency. It never repeats the text.
type Error string

func (e Error) Error() string { return string(e) }

// Public is the text for callers of the service.
func (e Error) Public() string { return string(e) }

// USD returns an amount in US cents.
func USD(cents int64) Amount { return Amount{cents, "USD"} }

// MaxCents bounds every price that enters the system: ten thousand million units.
const MaxCents = 1_000_000_000_000

// String formats the amount for display: "12.34 USD".
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
		return 0, Error("not a whole number of cents in plain digits")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > MaxCents {
		return 0, Error(fmt.Sprintf("over the largest amount, %d cents", int64(MaxCents)))
	}
	return n, nil
}

// ParseDecimal reads a decimal amount such as "11.08" or "1,234.50" of a currency with two decimals into cents.
// More than two decimals, signs and exponents are refused.
func ParseDecimal(s string) (int64, error) {
	s = strings.ReplaceAll(s, ",", "")
	whole, frac, dotted := strings.Cut(s, ".")
	if len(frac) > 2 || dotted && frac == "" || whole == "" {
		return 0, Error("not a decimal amount with at most two decimals")
	}
	return ParseCents(whole + (frac + "00")[:2])
}

// ParseCurrency checks an upper-case code of a currency in use (ISO 4217, list one, without funds, metals, units of account,
// test codes and XXX). The error completes a sentence that begins with "is".
func ParseCurrency(s string) (string, error) {
	if _, ok := inUse[s]; !ok {
		return "", Error("not the code of a currency in use (ISO 4217), such as USD")
	}
	return s, nil
}

// Currencies returns the codes that [ParseCurrency] accepts, the most common for domain sales first.
func Currencies() []string { return slices.Clone(currencies) }

// currencies are the currencies in use, the most common for domain sales first.
var currencies = strings.Fields(`USD EUR GBP CNY JPY CHF AUD CAD
	AED AFN ALL AMD AOA ARS AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CDF CLP COP CRC CUP CVE CZK
	DJF DKK DOP DZD EGP ERN ETB FJD FKP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD KES KGS
	KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO
	NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP
	SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG`)

var inUse = func() map[string]struct{} {
	m := make(map[string]struct{}, len(currencies))
	for _, c := range currencies {
		m[c] = struct{}{}
	}
	return m
}()
