package account

import (
	"context"
	_ "embed"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/namewharf/namewharf/fault"
)

// Limits of a password. There are no composition rules, and passwords do not expire (NIST SP 800-63B, section 3.1.1.2).
const (
	minPassword = 8    // characters
	maxPassword = 1024 // bytes
)

//go:embed common.txt
var commonText string

// isCommon is the set of the most common passwords.
var isCommon = func() map[string]bool {
	m := map[string]bool{}
	for line := range strings.Lines(commonText) {
		m[strings.TrimSpace(line)] = true
	}
	return m
}()

// normalizePassword normalizes to NFC, since keyboards encode one character differently (NIST SP 800-63B, section 3.1.1.2).
func normalizePassword(s string) string { return norm.NFC.String(s) }

// checkPassword refuses an unsuitable new password, which is normalized, for the account of the address.
func checkPassword(email, password string) error {
	folded := strings.ToLower(password)
	local, _, _ := strings.Cut(email, "@")
	switch {
	case !utf8.ValidString(password):
		return fault.Invalid("password", "must be text in UTF-8")
	case utf8.RuneCountInString(password) < minPassword:
		return fault.Invalid("password", "must be at least %d characters", minPassword)
	case len(password) > maxPassword:
		return fault.Invalid("password", "must be at most %d bytes", maxPassword)
	case isCommon[folded], isSequence(folded):
		return fault.Invalid("password", "is too common; choose another")
	case folded == email, folded == local:
		return fault.Invalid("password", "must not be your e-mail address")
	}
	return nil
}

// isSequence reports whether a password repeats one character, or counts up or down, such as 23456789.
func isSequence(s string) bool {
	runes := []rune(s)
	if len(runes) < 2 {
		return true
	}
	step := runes[1] - runes[0]
	if step < -1 || step > 1 {
		return false
	}
	for i := 2; i < len(runes); i++ {
		if runes[i]-runes[i-1] != step {
			return false
		}
	}
	return true
}

// hashNew checks a new password and hashes it, for a client at the address from.
func (a *Accounts) hashNew(ctx context.Context, email, password string, from netip.Addr) (string, error) {
	if len(password) > maxPassword {
		return "", fault.Invalid("password", "must be at most %d bytes", maxPassword)
	}
	password = normalizePassword(password)
	if err := checkPassword(email, password); err != nil {
		return "", err
	}
	return a.hasher.hash(ctx, password, from)
}
