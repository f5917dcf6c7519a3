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

// A Quote is a price that holds for one party for [QuoteLife], as the API writes it. The name is not reserved.
type Quote struct {
	QuoteID    string    `json:"quote_id" jsonschema:"send it with POST /orders; it is good for one order"`
	Domain     string    `json:"domain"`
	PriceCents int64     `json:"price_cents"`
	Currency   string    `json:"currency"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// Quote locks the current price of a name for the party. Nothing is stored: the id of the quote holds all its fields, signed. It
// fails with [fault.NotFound] for a name that was never for sale, and with [fault.Conflict] for one that is sold.
func (s *Service) Quote(ctx context.Context, p Party, domain fqdn.Name, now time.Time) (Quote, error) {
	listing, err := s.cfg.Inventory.Offer(ctx, p.Environment, domain)
	if notForSale(err) {
		err = s.cfg.DB.Read(ctx, func(tx store.Tx) error { return s.gone(ctx, tx, p.Environment, domain) })
		return Quote{}, err
	}
	if err != nil {
		return Quote{}, fmt.Errorf("quote a price: %w", err)
	}
	q := quote{
		number: store.NewID("quo"), partner: p.Partner, environment: p.Environment, domain: domain, price: listing.Price,
		expires: store.Time(store.Micros(now.Add(QuoteLife))),
	}
	key, err := s.keys.newest(ctx, s.cfg.DB)
	if err != nil {
		return Quote{}, fmt.Errorf("quote a price: %w", err)
	}
	return Quote{
		QuoteID: key.sign(q), Domain: domain.String(), PriceCents: q.price.Cents, Currency: q.price.Currency, ExpiresAt: q.expires,
	}, nil
}

// A quote is the content of the id of a quote.
type quote struct {
	number      string // unique; the order placed with it stores it
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

// append writes the bytes to sign. Each text has its length before it, so that the encoding is unambiguous.
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

// A sealedQuote is a well-formed id of a quote, with its signature not yet checked.
type sealedQuote struct {
	quote
	key    int64  // number of the key that it claims
	signed []byte // the bytes that the signature covers
	mac    []byte
}

// parseQuote parses an id. It accepts only the spelling that [quoteKey.sign] writes.
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

// take reads n bytes. With fewer left, it fails and returns at least one zero byte.
func (r *quoteReader) take(n int64) []byte {
	if n > int64(len(r.rest)) {
		r.ok, r.rest = false, nil
		return make([]byte, 1)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// read returns the quote of an id for the party. Every invalid id gives the same error, so that a caller cannot learn
// whether the quote of another party is genuine. It does not check whether the quote has expired.
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
