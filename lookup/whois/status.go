package whois

import (
	"slices"
	"strings"

	"github.com/namewharf/namewharf/lookup/record"
)

// codes are the status codes of RFC 5731, RFC 3915 and RFC 8056 in EPP spelling, by their letters in lower case.
var codes = func() map[string]string {
	m := map[string]string{"active": "ok"}
	for _, code := range []string{
		"ok", "inactive", "linked",
		"clientDeleteProhibited", "clientHold", "clientRenewProhibited", "clientTransferProhibited", "clientUpdateProhibited",
		"serverDeleteProhibited", "serverHold", "serverRenewProhibited", "serverTransferProhibited", "serverUpdateProhibited",
		"pendingCreate", "pendingDelete", "pendingRenew", "pendingRestore", "pendingTransfer", "pendingUpdate",
		"addPeriod", "autoRenewPeriod", "renewPeriod", "transferPeriod", "redemptionPeriod",
	} {
		m[strings.ToLower(code)] = code
	}
	return m
}()

// putStatus takes a value of one or more statuses. EPP codes are taken in EPP spelling; what a registry has of its
// own is kept as given.
func (s *scanner) putStatus(value string) {
	if hasPrefixFold(value, "ok-until ") { // .ua: "OK-UNTIL 20140903121852"
		s.putDate(&s.rec.Expires, value)
		value = value[:2]
	}
	s.stateOf(value)
	for part := range strings.SplitSeq(value, ",") {
		part = strings.Trim(part, " \t")
		if i := strings.Index(part, "http"); i > 0 {
			part = strings.TrimRight(part[:i], " \t(-")
		}
		if i := strings.IndexAny(part, "(#"); i > 0 {
			part = strings.TrimRight(part[:i], " \t-")
		}
		if i := strings.Index(part, " - "); i > 0 {
			part = strings.TrimRight(part[:i], " \t-")
		}
		if part == "" {
			continue
		}
		s.addStatus(code(part))
	}
}

func (s *scanner) addStatus(status string) {
	if len(s.rec.Status) >= record.MaxStatus {
		return
	}
	if slices.Contains(s.rec.Status, status) {
		return
	}
	s.rec.Status = append(s.rec.Status, status)
}

// code is the EPP spelling of a status, or the status itself.
func code(status string) string {
	if c, ok := codes[status]; ok {
		return c
	}
	var buf [64]byte
	key := buf[:0]
	for i := range len(status) {
		c := status[i]
		if c == ' ' || c == '_' || c == '-' || c == '\t' {
			continue
		}
		if len(key) == len(buf) {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		key = append(key, c)
	}
	if c, ok := codes[string(key)]; ok {
		return c
	}
	return tidy(status)
}

// stateOf notes what a status says of the name: that it is reserved, else that it is registered, else that it is free.
func (s *scanner) stateOf(value string) {
	s.stateLine = s.lines
	var array [96]byte
	folded := bare(string(fold(array[:0], cut(value, 256))))
	if folded == "" {
		return
	}
	switch v := tables().states.first(folded, names{}); {
	case v == Reserved, v == Registered && s.state != Reserved, v == Free && s.state == Unknown:
		s.state = v
	}
}
