package lookup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/guard"
)

const (
	wildcardLife  = 24 * time.Hour // a zone rarely becomes one, or ceases to be
	dnsInFlight   = 64             // queries at a time; DNS is optional, so names over the limit go without
	dnsUDP        = 1232           // bytes of a reply over UDP that pass everywhere (DNS flag day 2020)
	wildcardCache = 2048
)

// What DNS says about a name.
const (
	dnsDelegated = "delegated" // the zone delegates it
	dnsNXDomain  = "nxdomain"  // the zone does not have it
	dnsWildcard  = "wildcard"  // the zone answers for every name, so its answer is no evidence
)

// SystemResolvers returns the DNS servers of this machine's resolv.conf, for Config.Resolvers; none when it has none.
func SystemResolvers() []string {
	conf, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	var servers []string
	for _, s := range conf.Servers {
		servers = append(servers, net.JoinHostPort(s, conf.Port))
	}
	return servers
}

// resolvers asks DNS servers whether names are delegated.
type resolvers struct {
	guard    *guard.Guard
	now      func() time.Time
	slots    chan struct{}
	wildcard *cache.Cache[fqdn.Name, bool] // by suffix
}

func newResolvers(g *guard.Guard, now func() time.Time) resolvers {
	return resolvers{
		guard:    g,
		now:      now,
		slots:    make(chan struct{}, dnsInFlight),
		wildcard: cache.New(cache.Config[fqdn.Name, bool]{Entries: wildcardCache, Now: now}),
	}
}

func (r *resolvers) wait() { r.wildcard.Wait() }

// dnsServers are those to ask about names under the suffix. guarded: the operator's registry file names them, so
// its allow_private_cidrs applies; the machine's own resolvers are trusted.
func (s *Service) dnsServers(suffix fqdn.Name) (servers []string, guarded bool) {
	if len(s.cfg.Registry.DNS) > 0 {
		return s.cfg.Registry.DNS, true
	}
	if _, named := s.operatorServers(suffix.String()); named {
		return nil, false
	}
	return s.cfg.Resolvers, false
}

// ask returns dnsDelegated, dnsNXDomain, dnsWildcard or the reason why DNS has no answer.
func (r *resolvers) ask(ctx context.Context, servers []string, guarded bool, name, suffix fqdn.Name) (host, code string) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		return "", string(guard.Busy)
	}
	ctx, cancel := context.WithTimeout(ctx, dnsTry)
	defer cancel()
	for i, server := range servers {
		host, code = server, r.queryWithin(ctx, len(servers)-i, server, guarded, name)
		if code == dnsNXDomain {
			return host, code
		}
		if code == dnsDelegated {
			wild, err := r.wildcard.Load(ctx, suffix, func(ctx context.Context) (bool, time.Time, error) {
				return r.probe(ctx, server, guarded, suffix)
			})
			switch {
			case err != nil:
				return host, string(guard.Wrap(err).Code)
			case wild:
				return host, dnsWildcard
			}
			return host, code
		}
	}
	return host, code
}

// probe asks for a name that is certainly not registered.
func (r *resolvers) probe(ctx context.Context, server string, guarded bool, suffix fqdn.Name) (bool, time.Time, error) {
	name, err := fqdn.MustParse(fmt.Sprintf("nw-%016x-probe", rand.Uint64())).Under(suffix)
	if err != nil {
		return true, time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, dnsTry)
	defer cancel()
	switch code := r.query(ctx, server, guarded, name); code {
	case dnsDelegated:
		return true, r.now().Add(wildcardLife), nil
	case dnsNXDomain, "noerror":
		return false, r.now().Add(wildcardLife), nil
	default:
		return true, time.Time{}, fmt.Errorf("probing for a wildcard: %s", code)
	}
}

// queryWithin is query with the server's share of the time that is left for it and those after it.
func (r *resolvers) queryWithin(ctx context.Context, left int, server string, guarded bool, name fqdn.Name) (code string) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return r.query(ctx, server, guarded, name)
}

// query asks one server for the name's NS records.
func (r *resolvers) query(ctx context.Context, server string, guarded bool, name fqdn.Name) (code string) {
	q := question(name.String(), dns.TypeNS)
	reply, err := r.exchange(ctx, "udp", server, guarded, q)
	if err != nil {
		return string(guard.Wrap(err).Code)
	}
	return judgeDNS(q, reply)
}

// question is a query that allows as long a reply as passes everywhere.
func question(name string, kind uint16) *dns.Msg {
	q := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	q.SetEdns0(dnsUDP, false)
	return q
}

// exchange sends a query over "udp" or "tcp" and waits for its reply.
func (r *resolvers) exchange(ctx context.Context, network, server string, guarded bool, q *dns.Msg) (*dns.Msg, error) {
	conn, err := r.dial(ctx, network, server, guarded)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	client := dns.Client{Net: network, UDPSize: dnsUDP, Timeout: dnsTry}
	reply, _, err := client.ExchangeWithConnContext(ctx, q, &dns.Conn{Conn: conn, UDPSize: dnsUDP})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return reply, err
}

func (r *resolvers) dial(ctx context.Context, network, server string, guarded bool) (net.Conn, error) {
	if guarded {
		return r.guard.Dial(ctx, network, server)
	}
	d := net.Dialer{Timeout: guard.DialTime}
	return d.DialContext(ctx, network, server)
}

// judgeDNS decides what a reply says about the name. A delegation is an NS record, or the zone's own SOA record, of
// exactly the name: in the answer of a resolver, in the referral of the parent's server. Anything else that is
// there, such as addresses for names that do not exist, is not evidence.
func judgeDNS(q, reply *dns.Msg) string {
	if !isReply(q, reply) {
		return "mismatch"
	}
	switch reply.Rcode {
	case dns.RcodeNameError:
		return dnsNXDomain
	case dns.RcodeSuccess:
	default:
		return strings.ToLower(dns.RcodeToString[reply.Rcode])
	}
	for _, section := range [][]dns.RR{reply.Answer, reply.Ns} {
		for _, rr := range section {
			h := rr.Header()
			if (h.Rrtype == dns.TypeNS || h.Rrtype == dns.TypeSOA) && strings.EqualFold(h.Name, q.Question[0].Name) {
				return dnsDelegated
			}
		}
	}
	return "noerror"
}

// isReply reports whether the reply is one to the query.
func isReply(q, reply *dns.Msg) bool {
	return reply.Response && reply.Id == q.Id && len(reply.Question) == 1 && reply.Question[0].Qtype == q.Question[0].Qtype &&
		strings.EqualFold(reply.Question[0].Name, q.Question[0].Name)
}
