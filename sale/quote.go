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
	var price money.Amount
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		price, err = s.Price(ctx, tx, p.Environment, domain)
		return err
	})
	if err != nil {
		return Quote{}, fault.Wrap("quote a price", err)
	}
	q := quote{
		number: store.NewID("quo"), partner: p.Partner, environment: p.Environment, domain: domain, price: price,
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

// A Locked is the price that a quote locks.
type Locked struct {
	Number  string // of the quote, for [Collected]
	Domain  fqdn.Name
	Price   money.Amount
	Expires time.Time
}

// Locked reads a quote of the party. It fails with [fault.Validation] on quote_id for one that is forged or of another party, and with
// [fault.QuoteExpired].
func (s *Service) Locked(ctx context.Context, tx store.Tx, p Party, id string, now time.Time) (Locked, error) {
	q, err := s.keys.read(ctx, tx, p, id)
	if err != nil {
		return Locked{}, fault.Wrap("read a quote", err)
	}
	if err := q.expired(now); err != nil {
		return Locked{}, err
	}
	return Locked{Number: q.number, Domain: q.domain, Price: q.price, Expires: q.expires}, nil
}

// QuoteUsed reports whether an order was placed with the quote of a number.
func (s *Service) QuoteUsed(ctx context.Context, tx store.Tx, number string) (bool, error) {
	used, err := quoteUsed(ctx, tx, number)
	if err != nil {
		return false, fmt.Errorf("look for the order of a quote: %w", err)
	}
	return used, nil
}

// ReferenceUsed reports whether an order of the party has the external reference.
func (s *Service) ReferenceUsed(ctx context.Context, tx store.Tx, p Party, reference string) (bool, error) {
	used, err := referenceUsed(ctx, tx, p, reference)
	if err != nil {
		return false, fmt.Errorf("look for the order of a reference: %w", err)
	}
	return used, nil
}

// Price is what a name costs now. It fails as [Service.Quote] does.
func (s *Service) Price(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (money.Amount, error) {
	listing, err := s.cfg.Inventory.Offer(ctx, tx, environment, domain)
	if notForSale(err) {
		return money.Amount{}, s.whyNotForSale(ctx, tx, environment, domain)
	}
	if err != nil {
		return money.Amount{}, fmt.Errorf("price of a name: %w", err)
	}
	return listing.Price, nil
}

// expired fails with [fault.QuoteExpired] for a quote that does not hold any more.
func (q quote) expired(now time.Time) error {
	if now.Before(q.expires) {
		return nil
	}
	return fault.New(fault.QuoteExpired, "the quote expired at %s", q.expires.Format(time.RFC3339)).
		WithHint("ask for a new quote with POST /quotes")
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
