package lookup

import (
	"strings"

	"github.com/namewharf/namewharf/fqdn"
)

// legacySingle are the TLDs whose one-character names IANA reserved when they were run by it or its successors, and
// for which the registries answer "not found" nevertheless.
const legacySingle = " com net org info biz "

// ruleReserved returns the rule by which a name that the registry does not list cannot be registered; empty: none.
// Such names are kept back without being entered as registrations, so that a registry answers "not found" for them.
// A registry that the operator names is taken at its word.
func (s *Service) ruleReserved(name, suffix fqdn.Name) (reason string) {
	tld := suffix.String()
	if tld == "arpa" {
		return "arpa is for infrastructure; no name can be registered there (RFC 3172)"
	}
	if _, named := s.operatorServers(tld); named {
		return ""
	}
	label := name.Label()
	if len(label) >= 4 && label[2:4] == "--" && !strings.HasPrefix(label, "xn--") {
		return "two hyphens in third and fourth place are kept for encodings (RFC 5890, section 2.3.1)"
	}
	generic := suffix.Dots() == 0 && len(tld) > 2 && s.delegated[tld]
	switch {
	case !generic:
		return ""
	case len(label) == 1 && strings.Contains(legacySingle, " "+tld+" "):
		return "one-character names under " + tld + " are reserved"
	}
	switch label {
	case "example", "nic", "rdds", "whois", "www":
		return "ICANN keeps this label back in generic top-level domains (Registry Agreement, Specification 5)"
	}
	return ""
}
