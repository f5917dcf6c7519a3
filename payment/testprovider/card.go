package testprovider

import (
	"log/slog"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
)

// A Card is what a buyer typed. It shows nothing of itself when it is printed, logged or encoded.
type Card struct {
	Number string // digits, with spaces or hyphens between them
	Expiry string // MM/YY or MM/YYYY
	CVC    string // three or four digits
}

// String hides the card.
func (Card) String() string { return "card" }

// GoString hides the card.
func (Card) GoString() string { return "card" }

// LogValue hides the card.
func (Card) LogValue() slog.Value { return slog.StringValue("card") }

// MarshalText hides the card.
func (Card) MarshalText() ([]byte, error) { return []byte("card"), nil }

// How cards behave.
const (
	accepted   = "accepted"
	declined   = "declined"
	challenge  = "challenged"
	disputable = "disputable"
)

// A TestCard is a number that the provider takes, for its page to show.
type TestCard struct {
	Number string
	Does   string // in plain words
	class  string
}

// Cards are the numbers that the provider takes.
func Cards() []TestCard {
	return []TestCard{
		{"4242 4242 4242 4242", "is accepted", accepted},
		{"4000 0000 0000 0002", "is declined", declined},
		{"4000 0025 0000 3155", "asks for another step, which you approve or refuse", challenge},
		{"4000 0000 0000 0259", "is accepted, and can be disputed afterwards", disputable},
	}
}

// maxExpiry is how far ahead a card may expire.
const maxExpiry = 20 // years

// class checks a card and returns how it behaves. It fails with [fault.Validation] on number, expiry and cvc, all that are wrong.
func (c Card) class(now time.Time) (string, error) {
	var wrong *fault.Error
	note := func(field, reason string) {
		if wrong == nil {
			wrong = fault.Invalid(field, reason)
		} else {
			wrong = wrong.WithField(field, reason)
		}
	}
	class, reason := numberClass(c.Number)
	if reason != "" {
		note("number", reason)
	}
	if reason := checkExpiry(c.Expiry, now); reason != "" {
		note("expiry", reason)
	}
	if cvc := strings.TrimSpace(c.CVC); len(cvc) < 3 || len(cvc) > 4 || !digits(cvc) {
		note("cvc", "must be three or four digits")
	}
	if wrong != nil {
		return "", wrong
	}
	return class, nil
}

// numberClass says how the card with a number behaves, or what is wrong with the number.
func numberClass(text string) (class, reason string) {
	number := strings.NewReplacer(" ", "", "-", "").Replace(text)
	switch {
	case len(number) < 12 || len(number) > 19 || !digits(number):
		return "", "must be 12 to 19 digits"
	case !luhn(number):
		return "", "has a typing error: its check digit is wrong"
	}
	for _, c := range Cards() {
		if strings.ReplaceAll(c.Number, " ", "") == number {
			return c.class, ""
		}
	}
	return "", "is not a test card: no real card is taken here, use 4242 4242 4242 4242"
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// luhn checks the check digit of a card number (ISO/IEC 7812-1, annex B).
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// checkExpiry says what is wrong with the date on a card, which is good to the end of its month.
func checkExpiry(text string, now time.Time) (reason string) {
	const form = "must be the month and the year on the card, as in 12/34"
	month, year, ok := strings.Cut(text, "/")
	month, year = strings.TrimSpace(month), strings.TrimSpace(year)
	if !ok || len(month) < 1 || len(month) > 2 || !digits(month) || len(year) != 2 && len(year) != 4 || !digits(year) {
		return form
	}
	m, y := number(month), number(year)
	if len(year) == 2 {
		y += 2000
	}
	end := time.Date(y, time.Month(m)+1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case m < 1 || m > 12:
		return form
	case !now.Before(end):
		return "has passed"
	case y > now.Year()+maxExpiry:
		return "is too far ahead"
	}
	return ""
}

// number reads a few digits.
func number(digits string) (n int) {
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}
