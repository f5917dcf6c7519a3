package lookup

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/guard"
	"github.com/namewharf/namewharf/lookup/rdap"
)

// askRegistry asks the registry of the suffix: every RDAP server until one has an answer, then WHOIS. With hops it then
// asks the registrar for the fields that the registry leaves blank.
func (s *Service) askRegistry(ctx context.Context, name, suffix fqdn.Name, hops bool) finding {
	servers := s.Servers(suffix)
	f := finding{status: Unknown, confidence: ByNone}
	if len(servers.RDAP) == 0 && servers.WHOIS == "" {
		f.reason = "no RDAP and no WHOIS server is known for this TLD"
		return f
	}
	secure := false // there was an https server
	for i, base := range servers.RDAP {
		if ctx.Err() != nil {
			break
		}
		others := len(servers.RDAP) - i - 1
		if servers.WHOIS != "" {
			others++
		}
		https := strings.HasPrefix(base, "https:")
		g := s.askRDAP(ctx, share(ctx, rdapTry, others), base, name, secure && !https)
		secure = secure || https
		f.add(g)
		if f.known() {
			if hops && f.record.RegistrarRDAP != "" {
				s.hopRDAP(ctx, &f, base, name)
			}
			return f
		}
	}
	if servers.WHOIS != "" && ctx.Err() == nil {
		f.add(s.askWHOIS(ctx, servers.WHOIS, name, suffix, hops))
	}
	return f
}

// share is the time for one attempt when others may have to follow within ctx.
func share(ctx context.Context, try time.Duration, others int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return try
	}
	left := time.Until(deadline)
	if others > 0 {
		left = left * 5 / 8
	}
	return min(try, left)
}

// askRDAP asks one RDAP server of the registry. A downgraded server, an http one that is asked because the https one
// failed, is not believed when it says that a name is free: an attacker who blocks https can forge http.
func (s *Service) askRDAP(ctx context.Context, try time.Duration, base string, name fqdn.Name, downgraded bool) finding {
	ctx, cancel := context.WithTimeout(ctx, try)
	defer cancel()
	start := time.Now()
	ctx, done := s.cfg.Around(ctx, "rdap", urlHost(base))
	resp, err := s.guard.Get(ctx, base+"domain/"+name.String(), rdap.Accept, maxRDAP)
	f := finding{status: Unknown, confidence: ByNone, servers: []string{base}}
	e := Evidence{Source: "rdap", Host: urlHost(base)}
	if err != nil {
		e.Code = f.failed("RDAP", err)
	} else {
		e.Code = f.judgeRDAP(resp, name)
		if f.status == Available && downgraded {
			f.status, f.confidence, f.reason = Unknown, ByNone, "RDAP: the https server failed, and its http neighbour is not believed"
		}
	}
	e.Elapsed = time.Since(start)
	done(e.Code)
	f.evidence = []Evidence{e}
	return f
}

// judgeRDAP decides the status from a reply. It returns the code for the evidence.
func (f *finding) judgeRDAP(resp guard.Response, name fqdn.Name) (code string) {
	code = strconv.Itoa(resp.Status)
	f.retry = resp.Retry
	switch {
	case resp.Status == http.StatusOK:
		rec, err := rdap.Decode(name, resp.Body)
		if err != nil {
			f.reason = "RDAP: " + reasonOf(err)
			return codeOf(err)
		}
		f.status, f.confidence = statusOf(rec), ByRegistry
		if f.status == Reserved {
			f.reason = "the registry lists the name as reserved"
			return code
		}
		f.record, f.sources = rec, []string{"rdap"}
	case resp.Status == http.StatusNotFound:
		return f.judgeNotFound(resp)
	case resp.Status == http.StatusTooManyRequests:
		f.reason = "RDAP: the server asks us to slow down (429)"
	case resp.Status == http.StatusForbidden:
		f.reason = "RDAP: the server refuses us (403)"
	case resp.Status == http.StatusBadRequest:
		f.reason = "RDAP: the server does not understand the request (400)"
	case resp.Status >= 500:
		f.reason = "RDAP: the server has an error (" + code + ")"
	default:
		f.reason = "RDAP: the server answers with status " + code
	}
	return code
}

// judgeNotFound decides whether a 404 is the registry's "does not exist" (RFC 7480, section 5.3) or another
// server's "no such page".
func (f *finding) judgeNotFound(resp guard.Response) (code string) {
	body := strings.TrimSpace(string(resp.Body[:min(len(resp.Body), 16)]))
	isJSON := resp.Type == rdap.TypeRDAP || resp.Type == rdap.TypeJSON
	var p rdap.Problem
	var err error
	if body != "" && isJSON {
		p, err = rdap.DecodeProblem(resp.Body)
	}
	switch {
	case !resp.Same:
		f.reason = "RDAP: the 404 comes from another host than the registry's"
		return "404_elsewhere"
	case body != "" && !isJSON:
		f.reason = "RDAP: the 404 is not an RDAP reply"
		return "404_not_json"
	case err != nil:
		f.reason = "RDAP: the 404 is not well formed"
		return "404_malformed"
	case p.Code != 0 && p.Code != http.StatusNotFound, p.Doubtful:
		f.reason = "RDAP: the 404 is about something else than the name"
		return "404_doubtful"
	case p.Reserved:
		f.status, f.confidence, f.reason = Reserved, ByRegistry, "the registry says that the name is reserved"
		return "404_reserved"
	}
	f.status, f.confidence = Available, ByRegistry
	return "404"
}

// failed notes an exchange that brought no reply and returns the code for the evidence.
func (f *finding) failed(what string, err error) (code string) {
	e := guard.Wrap(err)
	f.retry = e.Retry
	f.reason = what + ": " + failures[e.Code]
	return string(e.Code)
}

var failures = map[guard.Code]string{
	guard.Refused:   "the server's address is not one that we connect to",
	guard.Resting:   "the server asked for a pause that is not over",
	guard.Busy:      "the server's limit on our requests does not allow another in time",
	guard.Timeout:   "the server did not answer in time",
	guard.TooLarge:  "the reply is too large",
	guard.Truncated: "the reply was cut short",
	guard.Redirect:  "the server redirects to an address that we do not follow",
	guard.Network:   "the server could not be reached",
}

func reasonOf(err error) string {
	for _, known := range []error{rdap.ErrMalformed, rdap.ErrNotDomain, rdap.ErrOtherName} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the reply cannot be used"
}

func codeOf(err error) string {
	switch {
	case errors.Is(err, rdap.ErrOtherName):
		return "other_name"
	case errors.Is(err, rdap.ErrNotDomain):
		return "not_domain"
	}
	return "malformed"
}

// hopRDAP asks the registrar that the registry's reply links to and fills blanks from what it says. Existence is
// settled; a failure is a warning.
func (s *Service) hopRDAP(ctx context.Context, f *finding, base string, name fqdn.Name) {
	link := f.record.RegistrarRDAP
	own := base + "domain/" + name.String()
	if strings.EqualFold(link, own) {
		return // the registry links to itself
	}
	if strings.HasPrefix(base, "https:") && !strings.HasPrefix(link, "https:") {
		f.warnings = append(f.warnings, "the registrar's RDAP link is not https and was not followed")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, share(ctx, rdapTry, 0))
	defer cancel()
	start := time.Now()
	ctx, done := s.cfg.Around(ctx, "rdap", urlHost(link))
	resp, err := s.guard.Get(ctx, link, rdap.Accept, maxRDAP)
	f.servers = append(f.servers, link[:len(link)-len(pathOf(link))]+"/")
	g := finding{status: Unknown}
	e := Evidence{Source: "rdap", Host: urlHost(link)}
	if err != nil {
		e.Code = g.failed("the registrar's RDAP", err)
		f.partial = true
	} else {
		e.Code = g.judgeRDAP(resp, name)
	}
	e.Elapsed = time.Since(start)
	done(e.Code)
	f.evidence = append(f.evidence, e)
	switch {
	case len(g.sources) > 0:
		if fill(&f.record, g.record) {
			f.sources = append(f.sources, "rdap")
		}
	case g.status == Available:
		f.warnings = append(f.warnings, "the registrar's RDAP does not know the name")
	default:
		f.warnings = append(f.warnings, "registrar: "+g.reason)
	}
}

func urlHost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// pathOf is what follows the host in a URL.
func pathOf(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[i:]
	}
	return ""
}
