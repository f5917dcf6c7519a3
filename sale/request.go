package sale

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
)

// Limits of a request, in bytes.
const (
	MaxEmail     = 254 // RFC 5321, section 4.5.3.1.3, without the angle brackets
	MaxName      = 200
	MaxURL       = 2 << 10
	MaxReference = 255
)

// checkDetails checks the fields that do not depend on others.
func (r Request) checkDetails() error {
	if r.Currency != "" {
		if _, err := money.ParseCurrency(r.Currency); err != nil {
			return fault.Invalid("currency", "is %s", err)
		}
	}
	if err := r.Buyer.check(); err != nil {
		return err
	}
	for _, u := range []struct{ field, value string }{{"return_url", r.ReturnURL}, {"cancel_url", r.CancelURL}} {
		if reason := urlProblem(u.value); reason != "" {
			return fault.Invalid(u.field, "%s", reason)
		}
	}
	return CheckReference("external_payment_ref", r.ExternalPaymentRef)
}

// check checks a buyer; the zero Buyer means that none is given.
func (b Buyer) check() error {
	if b == (Buyer{}) {
		return nil
	}
	if b.Email == "" {
		return fault.Invalid("buyer.email", "is required where there is a buyer")
	}
	if err := CheckEmail("buyer.email", b.Email); err != nil {
		return err
	}
	if len(b.Name) > MaxName || !printable(b.Name) {
		return fault.Invalid("buyer.name", "must be at most %d bytes of printable characters", MaxName)
	}
	if b.Country != "" && (len(b.Country) != 2 || strings.Trim(b.Country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		return fault.Invalid("buyer.country", "must be a two-letter upper-case country code such as DE (ISO 3166-1)")
	}
	return nil
}

// CheckEmail fails with [fault.Validation] on the field for what is no e-mail address of a buyer.
func CheckEmail(field, email string) error {
	if problem := emailProblem(email); problem != "" {
		return fault.Invalid(field, "%s", problem)
	}
	return nil
}

// CheckURL fails with [fault.Validation] on the field for what is no address that a browser is redirected to.
func CheckURL(field, address string) error {
	if address == "" {
		return fault.Invalid(field, "is required")
	}
	if problem := urlProblem(address); problem != "" {
		return fault.Invalid(field, "%s", problem)
	}
	return nil
}

// CheckReference fails with [fault.Validation] on the field for what is no external reference; it may be empty.
func CheckReference(field, reference string) error {
	if len(reference) > MaxReference || !printable(reference) {
		return fault.Invalid(field, "must be at most %d bytes of printable characters", MaxReference)
	}
	return nil
}

func emailProblem(s string) string {
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s || len(s) > MaxEmail || !printable(s) {
		return fmt.Sprintf("must be an e-mail address of at most %d bytes", MaxEmail)
	}
	return ""
}

// urlProblem says why a browser is not redirected to the URL; empty if it may be, or if there is none.
func urlProblem(s string) string {
	if s == "" {
		return ""
	}
	if len(s) > MaxURL {
		return "must be at most 2048 bytes"
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !printable(s) || strings.Contains(s, `\`):
		return "must be an absolute http or https URL"
	case u.User != nil:
		return "must not hold a user name or a password"
	}
	return ""
}

// printable reports whether s is UTF-8 without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) })
}
