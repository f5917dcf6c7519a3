package checkout

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
)

// Kinds of signed texts. The kind is part of what is signed: one is not taken for another.
const (
	linkKind  = "pt"    // the token of a link
	offerKind = "offer" // the price that a form fixes
)

// maxSigned is more than the length of any text that sign returns.
const maxSigned = 1 << 10

// sign returns a text that holds the fields and cannot be forged: base64url of each field with its length before it, then of
// HMAC-SHA256 of the kind and the fields.
func sign(secret []byte, kind string, fields ...string) string {
	var b []byte
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, mac(secret, kind, b)...))
}

func mac(secret []byte, kind string, b []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("checkout " + kind + "\n"))
	h.Write(b)
	return h.Sum(nil)
}

// open returns the fields of a signed text of the kind, which are count. It takes only what [sign] writes.
func open(secret []byte, kind, text string, count int) (fields []string, ok bool) {
	if len(text) > maxSigned {
		return nil, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < sha256.Size || base64.RawURLEncoding.EncodeToString(b) != text {
		return nil, false
	}
	b, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if !hmac.Equal(sum, mac(secret, kind, b)) {
		return nil, false
	}
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, false
		}
		fields = append(fields, string(b[size:size+int(n)]))
		b = b[size+int(n):]
	}
	return fields, len(fields) == count
}

// errNoSecret is the failure of a service that neither makes links nor reads them.
var errNoSecret = errors.New("checkout: there is no secret for links")

// URL is the link of a session.
func (s *Service) URL(session Session) (string, error) {
	if s.cfg.Secret == nil {
		return "", errNoSecret
	}
	return s.cfg.BaseURL + "/checkout?pt=" + linkToken(s.cfg.Secret, session), nil
}

// linkToken names session, partner, environment and expiry.
func linkToken(key []byte, s Session) string {
	return sign(key, linkKind, s.ID, s.Partner, s.Environment, strconv.FormatInt(s.ExpiresAt.Unix(), 10))
}

// A link is the content of a token.
type link struct{ session, partner, environment string }

// errForged is the failure for what is not a token of this service.
func errForged() error {
	return fault.New(fault.Validation, "This checkout link is not valid").WithHint("go back to the shop and start again")
}

// errExpired is the failure for a link whose time is over.
func errExpired() error {
	return fault.New(fault.Gone, "This checkout link has expired").WithHint("go back to the shop and start again")
}

// readLink reads a token, expired or not. It fails with [fault.Validation].
func (s *Service) readLink(pt string) (link, error) {
	if s.cfg.Secret == nil {
		return link{}, errNoSecret
	}
	f, ok := open(s.cfg.Secret, linkKind, pt, 4)
	if !ok {
		return link{}, errForged()
	}
	return link{f[0], f[1], f[2]}, nil
}

// An offer is a price that a form fixes for a session.
type offer struct {
	price   money.Amount
	expires time.Time // by the partner's clock
}

func (o offer) sign(key []byte, session string) string {
	return sign(key, offerKind, session, strconv.FormatInt(o.price.Cents, 10), o.price.Currency, strconv.FormatInt(o.expires.Unix(), 10))
}

// readOffer reads an offer for the session. It fails with [fault.Validation].
func readOffer(key []byte, session, text string) (offer, error) {
	f, ok := open(key, offerKind, text, 4)
	if !ok || f[0] != session {
		return offer{}, fault.New(fault.Validation, "This form is not the one of the checkout page").WithHint("open the checkout page again")
	}
	cents, err := strconv.ParseInt(f[1], 10, 64)
	expires, err2 := strconv.ParseInt(f[3], 10, 64)
	if err != nil || err2 != nil {
		return offer{}, errors.New("read an offer: the signed text holds no numbers")
	}
	return offer{money.Amount{Cents: cents, Currency: f[2]}, time.Unix(expires, 0)}, nil
}
