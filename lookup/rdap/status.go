package rdap

import (
	"slices"
	"strings"
)

// eppStatus returns the EPP spelling of an RDAP status (RFC 8056, section 2). A status that has none is left as it is
// in the same style: "server hold" and "locked" alike read as registries write them elsewhere.
func eppStatus(b []byte) string {
	switch string(b) {
	case "active", "ok":
		return "ok"
	case "associated", "linked":
		return "linked"
	case "client transfer prohibited":
		return "clientTransferProhibited"
	case "client delete prohibited":
		return "clientDeleteProhibited"
	case "client update prohibited":
		return "clientUpdateProhibited"
	case "client renew prohibited":
		return "clientRenewProhibited"
	case "server transfer prohibited":
		return "serverTransferProhibited"
	case "server delete prohibited":
		return "serverDeleteProhibited"
	case "server update prohibited":
		return "serverUpdateProhibited"
	case "server renew prohibited":
		return "serverRenewProhibited"
	}
	words := strings.Fields(clean(b))
	if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "://") }); i >= 0 {
		words = words[:i] // a link to the explanation, as WHOIS has it
	}
	if len(words) == 0 || len(words) > 6 || !printable(b, false) {
		return ""
	}
	if len(words) == 1 {
		switch w := lowerFirst(words[0]); w {
		case "active":
			return "ok"
		case "associated":
			return "linked"
		default:
			return w
		}
	}
	for i, w := range words {
		w = strings.ToLower(w)
		if i > 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		words[i] = w
	}
	return strings.Join(words, "")
}

// lowerFirst leaves the inner capitals of a word that is EPP already.
func lowerFirst(w string) string {
	if strings.ToUpper(w) == w {
		return strings.ToLower(w)
	}
	return strings.ToLower(w[:1]) + w[1:]
}
