// Package whois reads what WHOIS servers (RFC 3912) answer about one domain name.
//
// A WHOIS reply is free text, different at every registry. What each registry says when a name is free, reserved or
// asked for too often, and how it wants to be asked, is in registries.txt; what the labels of a reply mean is
// in labels.txt. The code knows no registry.
//
// The package touches no network: [Query] says what to send, [Parse] judges what came back.
package whois

import (
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// A Verdict is what one WHOIS reply says about the existence of a name.
type Verdict string

// The verdicts, in the order in which they are looked for.
const (
	Throttled  Verdict = "throttled"  // we asked too often; the reply says nothing about the name
	Denied     Verdict = "denied"     // we may not ask; the reply says nothing about the name
	Invalid    Verdict = "invalid"    // the registry cannot have such a name
	Reserved   Verdict = "reserved"   // the name cannot be registered
	Free       Verdict = "free"       // the registry says that the name is not registered
	Registered Verdict = "registered" // the registry describes a registration
	Unknown    Verdict = "unknown"    // none of these, or a reply about another name
)

// A Reply is a judged WHOIS reply.
type Reply struct {
	Verdict    Verdict
	Reason     string        // why, in plain words; never a part of the reply
	RetryAfter time.Duration // of a throttled reply that names a time to wait; otherwise 0
	Record     record.Record // of a registered name; otherwise only Raw is set
	Referral   string        // host of the WHOIS server that the reply points to; A-label form, never an address
}

// Query is the line that asks the server about the name, without its closing CR LF. The template of a known server
// wins over that of the suffix, so that a server given by the operator for a suffix is asked as that suffix's own.
// A registrar's server takes no template: pass the zero suffix for it.
func Query(server string, suffix, name fqdn.Name) string {
	t := tables()
	template := "{name}"
	if r := t.server[strings.TrimSuffix(strings.ToLower(server), ".")]; r != nil {
		template = r.query
	} else if r := t.suffix[suffix.String()]; r != nil {
		template = r.query
	}
	return strings.ReplaceAll(template, "{name}", name.String())
}

// maxBody bounds what of a reply is looked at.
const maxBody = 256 << 10

// Parse judges a reply about the name, a registrable name under the suffix, and takes its fields. It accepts any
// bytes and reads the first 256 KiB of them.
//
// A name is [Free] only if a line of the reply is a free phrase of the suffix's registry (of the generic list where
// the registry has none) or repeats the name in a strong form, the reply names no registrar, date, nameserver or holder
// and no status that only registered names have, and it is not about another name.
func Parse(suffix, name fqdn.Name, body []byte) Reply {
	text := clean(body[:min(len(body), maxBody)])
	reg := tables().of(suffix)
	s := newScanner(reg, name)
	s.scan(text)

	reply := Reply{Referral: s.rec.RegistrarWHOIS}
	said, line := Unknown, ""
	if !s.hasData() {
		n := newNames(name)
		n.beside = s.about == aboutName
		var hinted bool
		if said, line, hinted = reg.judge(text, n); hinted && s.about == aboutName && s.state == Registered {
			said = Unknown // the words are of something else
		}
	}
	switch {
	case said == Throttled:
		reply.RetryAfter = wait(line)
		reply.Verdict, reply.Reason = Throttled, "the WHOIS server says that it was asked too often"
	case said == Denied:
		reply.Verdict, reply.Reason = Denied, "the WHOIS server refuses to answer us"
	case s.about == aboutOther:
		reply.Verdict, reply.Reason = Unknown, "the WHOIS reply is about another name"
	case said == Invalid:
		reply.Verdict, reply.Reason = Invalid, "the registry says that it cannot have such a name"
	case said == Reserved, s.state == Reserved && !s.delegated():
		reply.Verdict, reply.Reason = Reserved, "the registry says that the name is reserved"
	case said == Free && s.held():
		reply.Verdict, reply.Reason = Unknown, "the WHOIS reply says that the name is free, and names a holder"
	case said == Free:
		reply.Verdict, reply.Reason = Free, "the registry says that the name is not registered"
	case s.hasData(), said == Registered, s.state == Registered, s.about == aboutName && (s.stated() || s.owned()):
		reply.Verdict, reply.Reason = Registered, "the registry describes a registration"
		reply.Record = s.rec
		reply.Record.Domain = name
	case strings.TrimSpace(text) == "":
		reply.Verdict, reply.Reason = Unknown, "the WHOIS reply is empty"
	default:
		reply.Verdict, reply.Reason = Unknown, "the WHOIS reply says neither that the name is registered nor that it is free"
	}
	reply.Record.Raw = strings.Clone(cut(text, record.MaxRaw))
	return reply
}
