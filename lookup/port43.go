package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	whoisclient "github.com/likexian/whois"

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
			f.reason = "the WHOIS reply does not say whether the name is registered"
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
				g.reason = "the registrar's WHOIS server gave no registration data"
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

// queryWHOIS makes one exchange, noting the server, the evidence, and a failure in f. A server that refuses us, or
// throttles us, gets no requests for a while.
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

// errQuery is a query that is not what we wanted to send.
var errQuery = errors.New("the query is not one line")

// exchange sends the query as one line over TCP (RFC 3912) and returns the reply up to its end, less white space around
// it. The client of the library does the exchange; the connection enforces our limits, since the client has none of bytes.
func exchange(ctx context.Context, pass *guard.Pass, query string) (body []byte, err error) {
	if strings.ContainsAny(query, "\r\n") {
		return nil, errQuery
	}
	d := &port43Dialer{ctx: ctx, pass: pass, request: query + "\r\n"}
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, fmt.Errorf("the WHOIS client panicked: %v", p)
		}
	}()
	client := whoisclient.NewClient().SetDialer(d).SetDisableReferral(true).SetDisableStats(true)
	reply, err := client.Whois(query, anyServer)
	switch {
	case d.err != nil: // what the connection met, before the client wrapped it
		return nil, d.err
	case err != nil:
		return nil, guard.Wrap(err)
	}
	return []byte(reply), nil
}

// anyServer is a server name for which the library sends a query as it is. It is not dialled: the pass has the address.
const anyServer = "whois.invalid"

// A port43Dialer connects to the host of a pass. It serves one exchange.
type port43Dialer struct {
	ctx     context.Context
	pass    *guard.Pass
	request string
	err     error // the first failure
}

// Dial connects to the host of the pass; the address is not used.
func (d *port43Dialer) Dial(_, _ string) (net.Conn, error) {
	conn, err := d.pass.Dial(d.ctx, "tcp")
	if err != nil {
		d.err = err
		return nil, err
	}
	if deadline, ok := d.ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(d.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return &port43Conn{Conn: conn, dialer: d, stop: stop}, nil
}

// A port43Conn sends nothing but the request, and reads at most [maxWHOIS] bytes within the time of the context.
type port43Conn struct {
	net.Conn
	dialer *port43Dialer
	stop   func() bool
	reply  *bytes.Reader // nil: not read yet
}

func (c *port43Conn) Write(b []byte) (int, error) {
	if string(b) != c.dialer.request {
		return 0, c.failed(errQuery)
	}
	n, err := c.Conn.Write(b)
	if err != nil {
		return n, c.failed(guard.Wrap(err))
	}
	return n, nil
}

// Read returns the reply, which it reads as a whole first.
func (c *port43Conn) Read(b []byte) (int, error) {
	if c.dialer.err != nil { // the request was not sent
		return 0, c.dialer.err
	}
	if c.reply == nil {
		body, err := guard.ReadAll(c.Conn, maxWHOIS)
		if err != nil {
			return 0, c.failed(err)
		}
		c.reply = bytes.NewReader(body)
	}
	return c.reply.Read(b)
}

func (c *port43Conn) failed(err error) error {
	if c.dialer.err == nil {
		c.dialer.err = err
	}
	return err
}

func (c *port43Conn) Close() error {
	c.stop()
	return c.Conn.Close()
}

// The time of the exchange is that of the context: deadlines that the library sets are ignored.

func (c *port43Conn) SetDeadline(time.Time) error      { return nil }
func (c *port43Conn) SetReadDeadline(time.Time) error  { return nil }
func (c *port43Conn) SetWriteDeadline(time.Time) error { return nil }
