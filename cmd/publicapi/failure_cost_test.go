package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/oauthtest"
)

// until429 sends a request until it is refused for its rate, and says how many were not. It fails after most of them.
func (s *site) until429(t *testing.T, most int, send func() reply) (before int, refused reply) {
	t.Helper()
	for n := range most {
		if r := send(); r.StatusCode == http.StatusTooManyRequests {
			if r.Header.Get("Retry-After") == "" {
				t.Errorf("429 without Retry-After: %s", r.text)
			}
			return n, r
		}
	}
	t.Errorf("%d requests were not refused", most)
	return most, reply{}
}

// A client that guesses codes, refresh tokens and client ids, or floods the endpoints with malformed requests, is throttled; one that
// comes from elsewhere is not.
func TestFailuresOfSignInAreCharged(t *testing.T) {
	t.Parallel()
	s := open(t, "-trusted-proxies", "127.0.0.0/8")
	const form = "application/x-www-form-urlencoded"
	guess := strings.Repeat("A", 43)
	for i, test := range []struct {
		name, method, path, body, kind string
	}{
		{"a wrong code", "POST", "/api/oauth/token", url.Values{"grant_type": {"authorization_code"}, "client_id": {"x"}, "code": {"nw_ac_" + guess}, "code_verifier": {guess}}.Encode(), form},
		{"a bad refresh token", "POST", "/api/oauth/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {"x"}, "refresh_token": {"nw_rt_" + guess}}.Encode(), form},
		{"another grant", "POST", "/api/oauth/token", "grant_type=password&client_id=x", form},
		{"nothing", "POST", "/api/oauth/token", "", form},
		{"what is no form", "POST", "/api/oauth/token", "{}", "application/json"},
		{"revoking a token that there is not", "POST", "/api/oauth/revoke", "token=nw_rt_" + guess, form},
		{"revoking nothing", "POST", "/api/oauth/revoke", "", form},
		{"an unknown client", "GET", "/oauth/authorize?response_type=code&client_id=client_x", "", ""},
		{"a page without a session", "GET", "/account", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			send := func(from string) reply {
				headers := []string{"X-Forwarded-For", from}
				if test.kind != "" {
					headers = append(headers, "Content-Type", test.kind)
				}
				return s.do(t, test.method, test.path, test.body, headers...)
			}
			n, _ := s.until429(t, 400, func() reply { return send(fmt.Sprintf("192.0.2.%d", i+1)) })
			if test.method == "POST" && n > 150 {
				t.Errorf("%d failures before the first refusal", n)
			}
			if r := send(fmt.Sprintf("198.51.100.%d", i+1)); r.StatusCode == http.StatusTooManyRequests {
				t.Errorf("from elsewhere: got %d %s", r.StatusCode, r.text)
			}
		})
	}
}

// Who makes no mistakes is not held up by those of others behind the same address until they are many, and a grant cannot
// be refreshed without end.
func TestRefreshingWithoutEndIsLimited(t *testing.T) {
	t.Parallel()
	s := open(t, "-trusted-proxies", "127.0.0.0/8")
	oauth := s.oauth(t)
	person := oauth.SignedInUser()
	app := oauth.NewClient()
	var passes []oauthtest.Tokens
	for range 2 {
		passes = append(passes, person.Tokens(app, nil))
	}
	refresh := func(p *oauthtest.Tokens, from string) reply {
		r := s.do(t, "POST", "/api/oauth/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {app.ID}, "refresh_token": {p.Refresh}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", from)
		if r.StatusCode == http.StatusOK {
			p.Refresh = as[struct {
				Refresh string `json:"refresh_token"`
			}](t, r).Refresh
		}
		return r
	}
	n := 0
	before, refused := s.until429(t, 200, func() reply { n++; return refresh(&passes[0], fmt.Sprintf("192.0.2.%d", n)) })
	if before < 60 || !strings.Contains(refused.text, "too_many_requests") {
		t.Errorf("%d refreshes, then %s; want 60", before, refused.text)
	}
	if r := refresh(&passes[1], "192.0.2.1"); r.StatusCode != http.StatusOK {
		t.Errorf("another grant: got %d %s", r.StatusCode, r.text)
	}
}

// A thousand names in one call cost what they cost one by one.
func TestManyNamesCostWhatSingleOnesDo(t *testing.T) {
	t.Parallel()
	s := open(t)
	oauth := s.oauth(t)
	app := oauth.NewClient()
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"name-%d.org"`, i)
		}
		return `{"domains":[` + b.String()[1:] + `]`
	}
	cost := func(path, body, class string, quota int) int {
		t.Helper()
		r := s.asks(t, "POST", path, body, oauth.SignedInUser().Tokens(app, nil).Access) // with a quota of its own
		if r.StatusCode >= 400 {
			t.Errorf("%s: got %d %s", path, r.StatusCode, r.text)
		}
		return quota - left(r, class)
	}
	for _, op := range []struct{ name, more string }{
		{"list", `,"params":{"priceCents":100}}`},
		{"set_price", `,"params":{"priceCents":100}}`},
		{"unlist", "}"},
		{"remove", "}"},
		{"refresh", `,"dry_run":true}`},
		{"verify", "}"},
	} {
		for _, n := range []int{1, 1000} {
			if got := cost(mine+"/bulk/"+op.name, names(n)+op.more, "read", 1500); got != n {
				t.Errorf("%s of %d names: costs %d, want as many", op.name, n, got)
			}
		}
	}
	// What asks DNS or a registry costs look-ups too, one for each ten names, as a check does.
	for _, op := range []string{"verify", "refresh"} {
		if got := cost(mine+"/bulk/"+op, names(1000)+"}", "lookup", 300); got != 100 {
			t.Errorf("%s of 1000 names: costs %d look-ups, want 100", op, got)
		}
	}
	// More suffixes than the usual twelve cost a search more than one look-up.
	var tlds []string
	for i := range 30 {
		tlds = append(tlds, fmt.Sprintf(`"s%d.test"`, i))
	}
	for n, want := range map[int]int{1: 1, 12: 1, 13: 2, 24: 2, 25: 3, 30: 3} {
		if got := cost(search, `{"q":"cobaltpine","tlds":[`+strings.Join(tlds[:n], ",")+`]}`, "lookup", 300); got != want {
			t.Errorf("a search under %d suffixes: costs %d, want %d", n, got, want)
		}
	}
}
