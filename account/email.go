package account

import (
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
)

// Limits of an e-mail address (RFC 5321, section 4.5.3.1).
const (
	maxEmail = 254
	maxLocal = 64
)

// normalizeEmail returns the canonical form of an address: lower case, the domain in A-label form. The local part is a
// dot-atom in ASCII (RFC 5322, section 3.2.3): quoted parts, comments and IP addresses are refused, so nothing can break
// a mail's header. A local part is case-insensitive here, although RFC 5321 permits servers to distinguish case.
func normalizeEmail(s string) (string, error) {
	local, domain, found := strings.Cut(strings.TrimSpace(s), "@")
	if !found || local == "" || domain == "" {
		return "", fault.Invalid("email", "must be an address such as name@example.com")
	}
	local = strings.ToLower(local)
	if len(local) > maxLocal || !dotAtom(local) {
		return "", fault.Invalid("email", "must have, before the @, at most %d letters, digits and signs without spaces", maxLocal)
	}
	name, err := fqdn.Parse(domain)
	if err != nil || name.Dots() == 0 || strings.HasSuffix(domain, ".") {
		return "", fault.Invalid("email", "must have a complete domain name after the @")
	}
	email := local + "@" + name.String()
	if len(email) > maxEmail {
		return "", fault.Invalid("email", "must be at most %d characters", maxEmail)
	}
	return email, nil
}

// atext is what an atom is made of (RFC 5322, section 3.2.3), in lower case.
const atext = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-/=?^_`{|}~"

// dotAtom reports whether s is atoms separated by single dots.
func dotAtom(s string) bool {
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool { return !strings.ContainsRune(atext, r) }) {
			return false
		}
	}
	return true
}
