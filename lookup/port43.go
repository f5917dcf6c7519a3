package lookup

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/guard"
	"github.com/namewharf/namewharf/lookup/whois"
)

// askWHOIS asks the registry's WHOIS server and, with hops, the servers that it refers to.
func (s *Service) askWHOIS(ctx context.Context, server string, name, suffix fqdn.Name, hops bool) finding {
	f := finding{status: Unknown, confidence: ByNone}
	reply, ok := s.queryWHOIS(ctx, &f, server, name, suffix)
	if !ok {
		return f
	}
	f.judgeWHOIS(reply)
	if hops && len(f.sources) > 0 {
		s.hopWHOIS(ctx, &f, server, reply.Referral, name)
	}
	return f
}

func (f *finding) judgeWHOIS(reply whois.Reply) {
	f.confidence, f.reason = ByWHOIS, reply.Reason
	switch reply.Verdict {
	case whois.Registered:
		f.status, f.reason = statusOf(reply.Record), ""
		if f.status == Reserved {
			f.reason = "the registry lists the name as reserved"
			return
		}
		f.record, f.sources = reply.Record, []string{"whois"}
	case whois.Free:
		f.status, f.reason = Available, ""
	case whois.Reserved:
		f.status = Reserved
	case whois.Invalid:
		f.status = Invalid
	default:
		f.confidence = ByNone
		if f.reason == "" {
			f.reason = "the WHOIS reply does not tell"
		}
	}
}

// hopWHOIS follows referrals to registrars' servers and fills blanks from what they say.
func (s *Service) hopWHOIS(ctx context.Context, f *finding, server, referral string, name fqdn.Name) {
	visited := map[string]bool{server: true}
	for range maxHops {
		next, err := hostPort(strings.TrimPrefix(referral, "whois://"), "43")
		if referral == "" || err != nil || visited[next] || ctx.Err() != nil {
			return
		}
		visited[next] = true
		g := finding{status: Unknown}
		reply, ok := s.queryWHOIS(ctx, &g, next, name, fqdn.Name{})
		f.evidence = append(f.evidence, g.evidence...)
		f.servers = append(f.servers, g.servers...)
		if !ok || reply.Verdict != whois.Registered {
			f.partial = f.partial || !ok || reply.Verdict == whois.Throttled
			if g.reason == "" {
				g.reason = "the registrar's WHOIS server does not tell"
			}
			f.warnings = append(f.warnings, "registrar: "+g.reason)
			return
		}
		if fill(&f.record, reply.Record) {
			f.sources = append(f.sources, "whois")
		}
		referral = reply.Referral
	}
}

// queryWHOIS makes one exchange, noting the server, the evidence, and a failure in f. A server that says we ask too
// much or may not ask is left to rest.
func (s *Service) queryWHOIS(ctx context.Context, f *finding, server string, name, suffix fqdn.Name) (whois.Reply, bool) {
	ctx, cancel := context.WithTimeout(ctx, whoisTry)
	defer cancel()
	start := time.Now()
	host := strings.TrimSuffix(server, ":43")
	f.servers = append(f.servers, host)
	ctx, done := s.cfg.Around(ctx, "whois", host)
	e := Evidence{Source: "whois", Host: host}
	defer func() {
		e.Elapsed = time.Since(start)
		done(e.Code)
		f.evidence = append(f.evidence, e)
	}()

	pass, err := s.guard.Acquire(ctx, server)
	if err != nil {
		e.Code = f.failed("WHOIS", err)
		return whois.Reply{}, false
	}
	defer pass.Release()
	bare, _, _ := net.SplitHostPort(server)
	body, err := exchange(ctx, pass, whois.Query(bare, suffix, name))
	if err != nil {
		e.Code = f.failed("WHOIS", err)
		return whois.Reply{}, false
	}
	reply := whois.Parse(suffix, name, body)
	e.Code = string(reply.Verdict)
	switch reply.Verdict {
	case whois.Throttled:
		f.retry = pass.Throttled(reply.RetryAfter)
	case whois.Denied:
		f.retry = guard.ForbiddenRest
		pass.Rest(f.retry)
	default:
		pass.Answered()
	}
	return reply, true
}

// exchange sends one line over TCP (RFC 3912) and reads the reply to its end.
func exchange(ctx context.Context, pass *guard.Pass, line string) ([]byte, error) {
	if strings.ContainsAny(line, "\r\n") {
		return nil, errors.New("the query is more than a line")
	}
	conn, err := pass.Dial(ctx, "tcp")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
		return nil, guard.Wrap(err)
	}
	return guard.ReadAll(conn, maxWHOIS)
}
