package sale

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// QuoteLife is how long a quote holds.
const QuoteLife = 10 * time.Minute // price lock

// MaxQuoteID is the most bytes that a quote's id has.
const MaxQuoteID = 1024

// A Quote is a price that holds for one party for [QuoteLife], in the words of the wire. The name is not reserved.
type Quote struct {
	QuoteID    string    `json:"quote_id" jsonschema:"send it with POST /orders; it is good for one order"`
	Domain     string    `json:"domain"`
	PriceCents int64     `json:"price_cents"`
	Currency   string    `json:"currency"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// Quote locks the current price of a name for the party. Nothing is stored: the quote says all by itself, and is signed. It
// fails with [fault.NotFound] for a name that was never for sale, and with [fault.Conflict] for one that is sold.
func (d *Service) Quote(ctx context.Context, p Party, domain fqdn.Name, now time.Time) (Quote, error) {
	listing, err := d.cfg.Inventory.Offer(ctx, p.Environment, domain)
	if notForSale(err) {
		err = d.cfg.DB.Read(ctx, func(tx store.Tx) error { return d.gone(ctx, tx, p.Environment, domain) })
		return Quote{}, err
	}
	if err != nil {
		return Quote{}, fmt.Errorf("quote a price: %w", err)
	}
	q := quote{
		number: store.NewID("quo"), partner: p.Partner, environment: p.Environment, domain: domain, price: listing.Price,
		expires: store.Time(store.Micros(now.Add(QuoteLife))),
	}
	key, err := d.keys.newest(ctx, d.cfg.DB)
	if err != nil {
		return Quote{}, fmt.Errorf("quote a price: %w", err)
	}
	return Quote{
		QuoteID: key.sign(q), Domain: domain.String(), PriceCents: q.price.Cents, Currency: q.price.Currency, ExpiresAt: q.expires,
	}, nil
}

// A quote is what a quote's id says.
type quote struct {
	number      string // tells it from all others; an order that used it up has it
	partner     string
	environment string
	domain      fqdn.Name
	price       money.Amount
	expires     time.Time
}

// The id of a quote is quotePrefix and, in base64url, the number of its key, its fields, and HMAC-SHA256 of what is before.
const (
	quotePrefix  = "qt_"
	quoteVersion = 1
)

// sign returns the id of a quote.
func (k quoteKey) sign(q quote) string {
	b := q.append(nil, k.number)
	return quotePrefix + base64.RawURLEncoding.EncodeToString(append(b, k.mac(b)...))
}

func (k quoteKey) mac(b []byte) []byte {
	h := hmac.New(sha256.New, k.key)
	h.Write(b)
	return h.Sum(nil)
}

// append writes what is signed: texts with their lengths before them, so that nothing can be read in two ways.
func (q quote) append(b []byte, key int64) []byte {
	b = append(b, quoteVersion)
	b = binary.AppendUvarint(b, uint64(key))
	for _, text := range []string{q.number, q.partner, q.environment, q.domain.String(), q.price.Currency} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = binary.AppendUvarint(b, uint64(q.price.Cents))
	return binary.AppendUvarint(b, uint64(store.Micros(q.expires)))
}

// A sealedQuote is an id that has the form of one, with a signature that is still to be checked.
type sealedQuote struct {
	quote
	key    int64  // that it says it is signed with
	signed []byte // what the signature is over
	mac    []byte
}

// parseQuote takes an id apart. It accepts what [quoteKey.sign] writes, and of two spellings of the same only that one.
func parseQuote(id string) (sealedQuote, bool) {
	text, ok := strings.CutPrefix(id, quotePrefix)
	if !ok || len(id) > MaxQuoteID {
		return sealedQuote{}, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < sha256.Size || base64.RawURLEncoding.EncodeToString(b) != text {
		return sealedQuote{}, false
	}
	s := sealedQuote{signed: b[:len(b)-sha256.Size], mac: b[len(b)-sha256.Size:]}
	r := quoteReader{rest: s.signed, ok: true}
	version := r.byte()
	s.key = r.number()
	s.number, s.partner, s.environment = r.text(), r.text(), r.text()
	domain := r.text()
	s.price.Currency = r.text()
	s.price.Cents = r.number()
	s.expires = store.Time(r.number())
	if !r.ok || len(r.rest) > 0 || version != quoteVersion {
		return sealedQuote{}, false
	}
	if s.domain, err = fqdn.Parse(domain); err != nil {
		return sealedQuote{}, false
	}
	return s, string(s.append(nil, s.key)) == string(s.signed)
}

// A quoteReader reads what [quote.append] writes. After the first failure it reads nothing any more.
type quoteReader struct {
	rest []byte
	ok   bool
}

func (r *quoteReader) byte() byte { return r.take(1)[0] }

func (r *quoteReader) text() string { return string(r.take(r.number())) }

// number reads one that is not negative.
func (r *quoteReader) number() int64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > 1<<62 {
		r.ok, r.rest = false, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

// take reads n bytes; where there are not so many, at least one that is zero.
func (r *quoteReader) take(n int64) []byte {
	if n > int64(len(r.rest)) {
		r.ok, r.rest = false, nil
		return make([]byte, 1)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// read returns the quote of an id for the party. Whatever is wrong with the id, the error is the same: who tries does not
// learn whether another party's quote is genuine. Whether the quote has expired is not looked at.
func (k *keyring) read(ctx context.Context, tx store.Tx, p Party, id string) (quote, error) {
	refused := fault.Invalid("quote_id", "is not a quote for this partner and environment").WithHint("ask for one with POST /quotes")
	s, ok := parseQuote(id)
	if !ok {
		return quote{}, refused
	}
	key, ok, err := k.find(ctx, tx, s.key)
	if err != nil {
		return quote{}, err
	}
	if !ok || !hmac.Equal(s.mac, key.mac(s.signed)) || s.partner != p.Partner || s.environment != p.Environment {
		return quote{}, refused
	}
	return s.quote, nil
}
