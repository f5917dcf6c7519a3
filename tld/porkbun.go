package tld

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
)

// porkbunEntry is what we read of a suffix in the reply. Amounts are US dollars for one year, as text; a restore has
// no public price.
type porkbunEntry struct {
	Registration string `json:"registration"`
	Renewal      string `json:"renewal"`
	Transfer     string `json:"transfer"`
	SpecialType  string `json:"specialType"` // "handshake": a name outside the DNS root
}

// parsePorkbun reads a registrar's price list in the form of Porkbun's public pricing reply,
// {"status":"SUCCESS","pricing":{"com":{"registration":"11.08","renewal":"11.08","transfer":"11.08"}}}. The prices are
// those of the day asOf. Other members are passed over.
//
// An entry with an error, or for a name outside the DNS root, is left out as a whole and reported. The error is for a
// reply that is not a price list at all: over [MaxFeed], not JSON, status not SUCCESS, no pricing.
func parsePorkbun(r io.Reader, asOf time.Time, known func(fqdn.Name) error) (*Book, []RowError, error) {
	text, err := readFeed(r)
	if err != nil {
		return nil, nil, err
	}
	var reply struct {
		Status  string          `json:"status"`
		Pricing json.RawMessage `json:"pricing"`
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return nil, nil, fmt.Errorf("the price list is not the JSON of a pricing reply")
	}
	if reply.Status != "SUCCESS" {
		return nil, nil, fmt.Errorf("the pricing reply does not say status SUCCESS")
	}
	asOf = asOf.UTC().Truncate(24 * time.Hour)
	entries := json.NewDecoder(bytes.NewReader(reply.Pricing))
	if t, err := entries.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("the pricing reply has no pricing object")
	}
	d := draft{known: known}
	var bad []RowError
	for n := 1; entries.More(); n++ {
		key, err := entries.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("reading a pricing reply: %w", err)
		}
		var entry json.RawMessage
		if err := entries.Decode(&entry); err != nil {
			return nil, nil, fmt.Errorf("reading a pricing reply: %w", err)
		}
		if err := d.addEntry(key.(string), entry, asOf); err != nil {
			bad = append(bad, rowError(n, err))
		}
	}
	return d.book(), bad, nil
}

// addEntry enters the prices of one suffix of a reply, all or none.
func (d *draft) addEntry(key string, text json.RawMessage, asOf time.Time) error {
	var entry porkbunEntry
	if err := json.Unmarshal(text, &entry); err != nil {
		return fmt.Errorf("is not an object with amounts as text")
	}
	if entry.SpecialType != "" {
		return fmt.Errorf("is not a name of the DNS root")
	}
	suffix, err := d.suffix(key)
	if err != nil {
		return err
	}
	var prices []Price
	for _, c := range []struct {
		action Action
		amount string
	}{{Register, entry.Registration}, {Renew, entry.Renewal}, {Transfer, entry.Transfer}} {
		p, offered, err := parseDollars(c.action, c.amount, suffix, asOf)
		if err != nil {
			return err
		}
		if offered {
			prices = append(prices, p)
		}
	}
	return d.add(prices)
}

// parseDollars reads an amount such as "11.08", of which feeds have text; empty is not offered.
func parseDollars(a Action, s string, suffix fqdn.Name, asOf time.Time) (p Price, offered bool, err error) {
	if s == "" {
		return Price{}, false, nil
	}
	cents, err := money.ParseDecimal(s)
	if err != nil {
		return Price{}, false, columnError{string(a), "is " + err.Error()}
	}
	return Price{TLD: suffix, Action: a, Amount: money.USD(cents), TermYears: 1, AsOf: asOf}, true, nil
}
