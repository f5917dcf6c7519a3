package demoregistry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openrdap/rdap"
)

// rdapURL is where the registry answers about a name.
func rdapURL(r *Registry, name string) string {
	return r.rdap[operatorOf[suffixOf(strings.ToLower(name))].name] + "domain/" + name
}

// get reads an answer without following redirects.
func get(t testing.TB, url string) (status int, header http.Header, body []byte) {
	t.Helper()
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       5 * time.Second,
	}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("GET %s: reading the body: %v", url, err)
	}
	return resp.StatusCode, resp.Header, body
}

// domain reads an answer about a domain with the decoder of openrdap.
func domain(t *testing.T, url string) *rdap.Domain {
	t.Helper()
	status, header, body := get(t, url)
	if status != http.StatusOK || header.Get("Content-Type") != rdapType {
		t.Fatalf("GET %s: got %d %s, want 200 %s", url, status, header.Get("Content-Type"), rdapType)
	}
	got, err := rdap.NewDecoder(body).Decode()
	d, ok := got.(*rdap.Domain)
	if err != nil || !ok {
		t.Fatalf("GET %s: got %T (%v), want a domain in %s", url, got, err, body)
	}
	return d
}

func event(d *rdap.Domain, action string) string {
	for _, e := range d.Events {
		if e.Action == action {
			return e.Date
		}
	}
	return ""
}

func byRole(d *rdap.Domain, role string) *rdap.Entity {
	for i := range d.Entities {
		if slices.Contains(d.Entities[i].Roles, role) {
			return &d.Entities[i]
		}
	}
	return nil
}

func TestRDAPOfRegisteredName(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for _, suffix := range []string{"org", "dev", "shop", "us", "co.uk", "fr", "ch", "ws", "test"} {
		name := "cobaltpine." + suffix
		rec, _ := r.record(name)
		d := domain(t, rdapURL(r, name))
		if d.LDHName != name || d.ObjectClassName != "domain" || d.Handle != rec.Handle {
			t.Errorf("%s: got %s %s %s", name, d.ObjectClassName, d.LDHName, d.Handle)
		}
		if !slices.Contains(d.Conformance, "rdap_level_0") {
			t.Errorf("%s: conformance %v lacks rdap_level_0", name, d.Conformance)
		}
		for action, want := range map[string]time.Time{"registration": rec.Created, "expiration": rec.Expires, "last changed": rec.Updated, "last update of RDAP database": noon} {
			if got := event(d, action); got != want.Format(time.RFC3339) {
				t.Errorf("%s: %s: got %q, want %v", name, action, got, want)
			}
		}
		by := byRole(d, "registrar")
		if by == nil || by.VCard.Name() != rec.Registrar.Name || by.PublicIDs[0].Identifier != rec.Registrar.IANAID || len(by.Entities) != 1 || by.Entities[0].VCard.Email() != rec.Registrar.AbuseEmail {
			t.Errorf("%s: registrar: got %+v, want %+v", name, by, rec.Registrar)
		}
		who := byRole(d, "registrant")
		if who == nil || who.VCard.Name() != rec.Registrant.Name || who.VCard.Email() != rec.Registrant.Email {
			t.Errorf("%s: registrant: got %+v, want %+v", name, who, rec.Registrant)
		}
		if len(d.Nameservers) != 2 || d.Nameservers[0].LDHName != rec.Nameservers[0].Host {
			t.Errorf("%s: name servers: got %+v, want %+v", name, d.Nameservers, rec.Nameservers)
		}
		if d.SecureDNS == nil || d.SecureDNS.DelegationSigned == nil || *d.SecureDNS.DelegationSigned != rec.Signed {
			t.Errorf("%s: secureDNS: got %+v, want signed %v", name, d.SecureDNS, rec.Signed)
		}
	}
}

func TestRDAPStates(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for _, c := range []struct {
		name, shows, status string
	}{
		{"oldharbor.io", "a deleted name", "redemption period"},
		{"fadingstar.app", "a name about to be free", "pending delete"},
		{"registry.xyz", "a reserved name", "reserved"},
		{"fault-whois-silent.broken.test", "a name of a fault of another protocol", "inactive"},
	} {
		d := domain(t, rdapURL(r, c.name))
		if !slices.Equal(d.Status, []string{c.status}) || len(d.Nameservers) > 0 {
			t.Errorf("%s shows %s: got status %v and %d name servers, want %q and none", c.name, c.shows, d.Status, len(d.Nameservers), c.status)
		}
	}
}

// TestRDAPRedaction reads the answer as plain JSON, since openrdap does not know RFC 9537.
func TestRDAPRedaction(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	_, _, body := get(t, rdapURL(r, "emberlane.org"))
	var d struct {
		Redacted []struct {
			Name                                struct{ Type string }
			PrePath, PostPath, PathLang, Method string
		}
	}
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Redacted) != len(redactions) {
		t.Errorf("redacted: got %d entries, want %d in %s", len(d.Redacted), len(redactions), body)
	}
	for _, f := range d.Redacted {
		pathOK := f.Method == "removal" && f.PrePath != "" && f.PostPath == "" || f.Method == "emptyValue" && f.PostPath != "" && f.PrePath == ""
		if f.Name.Type == "" || f.PathLang != "jsonpath" || !pathOK {
			t.Errorf("redaction: got %+v, want what RFC 9537, section 4.2, asks of its method", f)
		}
	}
	rec, _ := r.record("emberlane.org")
	for _, secret := range []string{rec.Registrant.Name, rec.Registrant.Organization, rec.Registrant.Email, rec.Registrant.Phone, rec.Registrant.Street} {
		if strings.Contains(string(body), secret) {
			t.Errorf("the answer holds %q", secret)
		}
	}
	if who := byRole(domain(t, rdapURL(r, "emberlane.org")), "registrant"); who == nil || who.VCard == nil {
		t.Errorf("registrant: got %+v, want one with a country", who)
	}
	if _, _, open := get(t, rdapURL(r, "cobaltpine.org")); strings.Contains(string(open), `"redacted":[`) {
		t.Error("cobaltpine.org: lists redactions, want none")
	}
}

func TestRDAPOfInternationalizedName(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for _, asked := range []string{"xn--bcher-kva.com", "XN--BCHER-KVA.com", "b%C3%BCcher.com"} {
		d := domain(t, r.rdap["meridian"]+"domain/"+asked)
		if d.LDHName != "xn--bcher-kva.com" || d.UnicodeName != "bücher.com" {
			t.Errorf("%s: got %s and %s", asked, d.LDHName, d.UnicodeName)
		}
	}
}

func TestThinRegistryLeadsToTheRegistrar(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	d := domain(t, rdapURL(r, "cobaltpine.com"))
	if who := byRole(d, "registrant"); who != nil {
		t.Errorf("the registry's registrant: got %+v, want none", who)
	}
	related := ""
	for _, l := range d.Links {
		if l.Rel == "related" && l.Type == rdapType {
			related = l.Href
		}
	}
	rec, _ := r.record("cobaltpine.com")
	who := byRole(domain(t, related), "registrant")
	if who == nil || who.VCard.Name() != rec.Registrant.Name {
		t.Errorf("the registrar's registrant at %s: got %+v, want %+v", related, who, rec.Registrant)
	}
	r.Fail(Registrar, Broken)
	if status, _, _ := get(t, related); status != http.StatusServiceUnavailable {
		t.Errorf("the failing registrar: got %d, want 503", status)
	}
	domain(t, rdapURL(r, "cobaltpine.com"))
}

func TestRDAPErrorsAreObjects(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	for _, c := range []struct {
		shows, url string
		status     int
	}{
		{"a free name", rdapURL(r, "quietmeadow.com"), 404},
		{"a name below a registered one", rdapURL(r, "www.cobaltpine.com"), 404},
		{"a name of another host", r.rdap["meridian"] + "domain/cobaltpine.org", 404},
		{"a name the registrar does not have", r.rdap[registrarName] + "domain/cobaltpine.org", 404},
		{"no name at all", r.rdap["meridian"] + "domain/a_b", 400},
		{"an address", r.rdap["meridian"] + "domain/192.0.2.1", 400},
		{"another class of object", r.rdap["meridian"] + "nameserver/ns1.example.com", 501},
	} {
		status, header, body := get(t, c.url)
		var e struct {
			Conformance []string `json:"rdapConformance"`
			ErrorCode   int      `json:"errorCode"`
			Title       string   `json:"title"`
			Description []string `json:"description"`
		}
		err := json.Unmarshal(body, &e)
		if err != nil || status != c.status || e.ErrorCode != c.status || e.Title == "" || len(e.Description) == 0 || header.Get("Content-Type") != rdapType {
			t.Errorf("%s: got %d %s %s, want an error object with %d", c.shows, status, header.Get("Content-Type"), body, c.status)
		}
	}
	if status, _, body := get(t, r.rdap["meridian"]+"help"); status != 200 || !strings.Contains(string(body), "notices") {
		t.Errorf("help: got %d %s", status, body)
	}
}

// TestRDAPFaults asks for the name of each fault once.
func TestRDAPFaults(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	type answer struct {
		status int
		header http.Header
		body   []byte // what came within half a second, at most 1 MiB
		err    error  // why the body ended, nil at its proper end
	}
	checks := map[Fault]func(answer) bool{
		BadRequest: func(a answer) bool { return a.status == 400 && json.Valid(a.body) },
		Denied:     func(a answer) bool { return a.status == 403 && json.Valid(a.body) },
		TooMany:    func(a answer) bool { return a.status == 429 && a.header.Get("Retry-After") == "20" },
		TooManyDate: func(a answer) bool {
			return a.status == 429 && a.header.Get("Retry-After") == "Sat, 21 Nov 2026 12:00:20 GMT"
		},
		Broken: func(a answer) bool { return a.status == 503 && a.body[0] == '<' },
		HTMLNotFound: func(a answer) bool {
			return a.status == 404 && strings.HasPrefix(a.header.Get("Content-Type"), "text/html")
		},
		ForeignNotFound: func(a answer) bool {
			return a.status == 302 && strings.HasPrefix(a.header.Get("Location"), r.rdap["alpine"]) || a.status == 302 && strings.HasPrefix(a.header.Get("Location"), r.rdap["hexagon"])
		},
		WrongName: func(a answer) bool {
			return a.status == 200 && strings.Contains(string(a.body), `"ldhName":"somebody-else.broken.test"`)
		},
		Truncated: func(a answer) bool {
			return a.status == 200 && a.err == nil && len(a.body) > 100 && !json.Valid(a.body)
		},
		Cut:     func(a answer) bool { return errors.Is(a.err, io.ErrUnexpectedEOF) },
		Junk:    func(a answer) bool { return a.status == 200 && a.err == nil && !json.Valid(a.body) },
		Deep:    func(a answer) bool { return a.status == 200 && strings.Count(string(a.body), "{") == 50_000 },
		Slow:    func(a answer) bool { return a.status == 200 && a.err != nil && len(a.body) > 0 && len(a.body) < 10 },
		Endless: func(a answer) bool { return a.status == 200 && len(a.body) == 1<<20 },
		RedirectLoop: func(a answer) bool {
			return a.status == 302 && a.header.Get("Location") == rdapURL(r, RedirectLoop.Name())
		},
		RedirectPrivate: func(a answer) bool {
			return a.status == 302 && strings.HasPrefix(a.header.Get("Location"), "http://169.254.169.254/")
		},
		RelatedPrivate: func(a answer) bool {
			return a.status == 200 && strings.Contains(string(a.body), `"href":"http://10.0.0.1/`)
		},
	}
	for f := range rdapFaults {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, rdapURL(r, f.Name()), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
			check := checks[f]
			if check == nil {
				t.Fatal("has no check")
			}
			if a := (answer{resp.StatusCode, resp.Header, body, err}); !check(a) {
				t.Errorf("got %d %v %.300q %v", a.status, a.header, a.body, a.err)
			}
		})
	}
}

func TestFailMarksNamesAndSuffixes(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	want := func(when, name string, want int) {
		t.Helper()
		if got, _, _ := get(t, rdapURL(r, name)); got != want {
			t.Errorf("%s: %s: got %d, want %d", when, name, got, want)
		}
	}
	r.Fail("Quietmeadow.com", TooMany, WhoisSilent)
	want("a name", "quietmeadow.com", 429)
	want("a name", "cobaltpine.com", 200)
	r.Fail("co.uk", Denied)
	want("a suffix", "cobaltpine.co.uk", 403)
	want("a suffix", "cobaltpine.uk", 200)
	r.Fail("cobaltpine.co.uk", Broken)
	want("a name before its suffix", "cobaltpine.co.uk", 503)
	r.Fail("broken.test", BadRequest)
	want("the name of a fault before its suffix", Broken.Name(), 503)
	r.Fail("co.uk")
	r.Fail("cobaltpine.co.uk")
	r.Fail("quietmeadow.com", WhoisSilent)
	want("restored", "cobaltpine.co.uk", 200)
	want("a fault of another protocol", "quietmeadow.com", 404)

	defer func() {
		if recover() == nil {
			t.Error("a fault that does not exist: got no panic")
		}
	}()
	r.Fail("a.com", "no-such-fault")
}

func TestEveryFaultIsPlayed(t *testing.T) {
	t.Parallel()
	for _, f := range Faults() {
		_, a := rdapFaults[f]
		_, b := whoisFaults[f]
		_, c := dnsFaults[f]
		if !a && !b && !c {
			t.Errorf("%s: no protocol plays it", f)
		}
	}
	if got, want := len(Faults()), len(rdapFaults)+len(whoisFaults)+len(dnsFaults); got != want {
		t.Errorf("Faults: got %d, want %d", got, want)
	}
}

func BenchmarkRDAP(b *testing.B) {
	r := start(b, Config{})
	op := operatorOf["org"]
	for b.Loop() {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.SetPathValue("name", "cobaltpine.org")
		r.rdapDomain(w, req, op)
	}
}
