package lookup

import (
	"context"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
)

const (
	txtTry     = 3 * time.Second // for all servers together; a user waits for the answer
	maxTXT     = 64              // records taken from one reply
	maxAliases = 8               // CNAME records followed inside one reply
)

// TXT returns the values of the TXT records at the label below the name, such as "_proof" below "a.com": one value for
// each record, its strings joined without separators (RFC 7208, section 3.3), in any order; none when there is no record. The
// label is one of ours and may begin with an underscore, which a [fqdn.Name] cannot (RFC 8552).
//
// It asks the servers that [Service] asks about delegations and believes them; nothing is cached here. It fails with
// [fault.Validation] under an unknown suffix and where the name is too long for the label, and with
// [fault.Unavailable] when no server answers: no answer does not mean no record.
func (s *Service) TXT(ctx context.Context, label string, name fqdn.Name) ([]string, error) {
	owner := label + "." + name.String()
	suffix, known := s.suffixes.Of(name)
	switch {
	case !known:
		return nil, fault.Invalid("domain", "has an unknown TLD: it is not delegated")
	case len(label) > fqdn.MaxLabel || len(owner) > fqdn.MaxLength:
		return nil, fault.Invalid("domain", "leaves no room for the label %s in front of it", label)
	}
	servers, guarded := s.dnsServers(suffix)
	ctx, cancel := s.during(ctx, txtTry)
	defer cancel()
	select {
	case s.dns.slots <- struct{}{}:
		defer func() { <-s.dns.slots }()
	case <-ctx.Done():
		return nil, errNoDNS(fault.Words("the time is over"))
	}
	failed := fault.Words("there is no DNS server to ask")
	for i, server := range servers {
		var values []string
		if values, failed = s.dns.txt(ctx, len(servers)-i, server, guarded, owner); failed == nil {
			return values, nil
		}
	}
	return nil, errNoDNS(failed)
}

func errNoDNS(why error) error {
	return fault.New(fault.Unavailable, "DNS did not tell: %s", why).WithRetry(time.Minute)
}

// txt asks one server within its share of the time that is left for it and those after it, over TCP where the reply
// is too long for UDP.
func (r *resolvers) txt(ctx context.Context, left int, server string, guarded bool, owner string) ([]string, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	for _, network := range []string{"udp", "tcp"} {
		q := question(owner, dns.TypeTXT)
		reply, err := r.exchange(ctx, network, server, guarded, q)
		switch {
		case err != nil:
			return nil, fault.Words("a server did not answer")
		case !isReply(q, reply):
			return nil, fault.Words("a server answered another question")
		case reply.Truncated && network == "udp":
			continue
		case reply.Rcode == dns.RcodeNameError:
			return nil, nil
		case reply.Rcode != dns.RcodeSuccess:
			return nil, fault.Words("a server answered " + dns.RcodeToString[reply.Rcode])
		}
		return txtValues(q.Question[0].Name, reply.Answer), nil
	}
	return nil, fault.Words("the reply was cut short")
}

// txtValues takes the TXT records of the owner out of an answer. A resolver that met an alias puts the CNAME records
// that lead to the records before them (RFC 1034, section 4.3.2).
func txtValues(owner string, answer []dns.RR) []string {
	for range maxAliases {
		target := ""
		for _, rr := range answer {
			if alias, ok := rr.(*dns.CNAME); ok && strings.EqualFold(alias.Hdr.Name, owner) {
				target = alias.Target
			}
		}
		if target == "" {
			break
		}
		owner = target
	}
	var values []string
	for _, rr := range answer {
		if txt, ok := rr.(*dns.TXT); ok && strings.EqualFold(txt.Hdr.Name, owner) && len(values) < maxTXT {
			values = append(values, unescape(strings.Join(txt.Txt, "")))
		}
	}
	return values
}

// unescape undoes what the DNS library does to bytes that its text form cannot hold: \" and \\ and \DDD.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if rest := s[i:]; len(rest) >= 3 && digits(rest[:3]) {
			b.WriteByte((rest[0]-'0')*100 + (rest[1]-'0')*10 + rest[2] - '0')
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Afresh is [Service.Domain] that asks the registry even if an answer is cached, and replaces that. Callers who
// share the look-up, because they ask at the same time, share its answer.
func (s *Service) Afresh(ctx context.Context, name fqdn.Name) (Answer, error) {
	if registrable, _, err := s.suffixes.Registrable(name); err == nil {
		s.answers.Delete(registrable)
	}
	return s.Domain(ctx, name)
}
