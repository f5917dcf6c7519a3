package oauthas

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/confusable"
	"github.com/namewharf/namewharf/store"
)

func TestRegistration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		a := d.post(registerPath, "application/json; charset=utf-8",
			`{"redirect_uris":["https://app.example/cb","cursor://x/cb"],"client_name":"Ember \u2013 <b>","scope":"openid","jwks":{},"x":[1],"software_id":"e"}`)
		if a.status != http.StatusCreated || a.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("got %d %v %s", a.status, a.header, a.body)
		}
		id := a.get("client_id")
		delete(a.json, "client_id")
		want := map[string]any{
			"client_id_issued_at": float64(d.clock.Now().Unix()), "client_name": "Ember – <b>",
			"redirect_uris":              []any{"https://app.example/cb", "cursor://x/cb"},
			"token_endpoint_auth_method": "none",
			"grant_types":                []any{"authorization_code", "refresh_token"},
			"response_types":             []any{"code"},
		}
		if id == "" || !reflect.DeepEqual(a.json, want) {
			t.Errorf("got %v, want %v", a.json, want)
		}
		c, err := d.client(t.Context(), id, netip.Addr{})
		if err != nil || c.name != "Ember – <b>" || len(c.redirects) != 2 || c.host != "" {
			t.Errorf("the client: got %+v, %v", c, err)
		}
	})
}

func TestRegistrationsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	good := `"redirect_uris":["https://app.example/cb"]`
	for _, c := range []struct {
		name, body string
		code       string // empty: accepted
	}{
		{"without a name", `{` + good + `}`, ""},
		{"null members", `{` + good + `,"client_name":null,"grant_types":null}`, ""},
		{"code alone", `{` + good + `,"grant_types":["authorization_code"],"response_types":["code"]}`, ""},
		{"more grant types", `{` + good + `,"grant_types":["authorization_code","refresh_token","implicit"]}`, ""},
		{"an explicit none", `{` + good + `,"token_endpoint_auth_method":"none"}`, ""},

		{"nothing", ``, errInvalidMetadata},
		{"no object", `["https://app.example/cb"]`, errInvalidMetadata},
		{"null", `null`, errInvalidMetadata},
		{"two objects", `{` + good + `}{}`, errInvalidMetadata},
		{"no redirects", `{}`, errInvalidRedirect},
		{"empty redirects", `{"redirect_uris":[]}`, errInvalidRedirect},
		{"a redirect as text", `{"redirect_uris":"https://app.example/cb"}`, errInvalidRedirect},
		{"a redirect as number", `{"redirect_uris":[1]}`, errInvalidRedirect},
		{"a bad redirect", `{"redirect_uris":["https://app.example/cb","javascript:alert(1)"]}`, errInvalidRedirect},
		{"redirects in other letters", `{"Redirect_URIs":["https://app.example/cb"]}`, errInvalidRedirect},
		{"eleven redirects", `{"redirect_uris":["https://app.example/cb"` + strings.Repeat(`,"https://app.example/cb"`, 10) + `]}`, errInvalidRedirect},
		{"a secret method", `{` + good + `,"token_endpoint_auth_method":"client_secret_basic"}`, errInvalidMetadata},
		{"other grant types", `{` + good + `,"grant_types":["client_credentials"]}`, errInvalidMetadata},
		{"other response types", `{` + good + `,"response_types":["token"]}`, errInvalidMetadata},
		{"our name", `{` + good + `,"client_name":"Namewharf"}`, errInvalidMetadata},
		{"a name as object", `{` + good + `,"client_name":{}}`, errInvalidMetadata},
		{"a name with an override", `{` + good + `,"client_name":"a\u202eb"}`, errInvalidMetadata},
		{"a long name", `{` + good + `,"client_name":"` + strings.Repeat("a", 101) + `"}`, errInvalidMetadata},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := d.post(registerPath, "application/json", c.body)
			if c.code == "" && a.status != http.StatusCreated || c.code != "" && (a.status != http.StatusBadRequest || a.get("error") != c.code) {
				t.Errorf("%s: got %d %s, want %q", c.body, a.status, a.body, c.code)
			}
		})
	}
	d.wantError("a form", d.post(registerPath, "application/x-www-form-urlencoded", "redirect_uris=x"), 400, errInvalidMetadata)
	d.wantError("too large", d.post(registerPath, "application/json", `{`+good+`,"x":"`+strings.Repeat("a", maxBody)+`"}`), 413, errInvalidMetadata)
}

func TestRegistrationFlood(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t, func(c *Config) { c.NoLimits = false })
	from := func(address string) answer {
		r := httptest.NewRequest(http.MethodPost, registerPath, strings.NewReader(`{"redirect_uris":["https://app.example/cb"]}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 1234).String()
		return d.do(r)
	}
	for i := range 20 {
		if a := from("192.0.2.1"); a.status != http.StatusCreated {
			t.Fatalf("registration %d: got %d %s", i+1, a.status, a.body)
		}
	}
	a := from("192.0.2.1")
	d.wantError("one over the burst", a, 429, errTooManyRequests)
	if got := a.header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After: got %q, want 60", got)
	}
	if a := from("192.0.2.2"); a.status != http.StatusCreated {
		t.Errorf("another address: got %d, want 201", a.status)
	}
	d.clock.advance(time.Minute)
	if a := from("192.0.2.1"); a.status != http.StatusCreated {
		t.Errorf("a minute later: got %d, want 201", a.status)
	}
	if a := from("192.0.2.1"); a.status != http.StatusTooManyRequests {
		t.Errorf("a second one a minute later: got %d, want 429", a.status)
	}
	accepted := 0
	for i := range 40 {
		if from(fmt.Sprintf("2001:db8::%x", i+1)).status == http.StatusCreated {
			accepted++
		}
	}
	if accepted != 20 {
		t.Errorf("40 registrations from one /64: got %d accepted, want 20", accepted)
	}
}

// A client whose name today's rules refuse is shown without a name.
func TestNamesOfEarlierClientsAreNotShown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *fixture) {
		for name, want := range map[string]string{"ɴᴀᴍᴇᴡʜᴀʀꜰ": "", "Gооgle": "", "Ember": "Ember"} {
			id := store.NewID("client")
			err := d.cfg.DB.Tx(t.Context(), func(tx store.Tx) error {
				return insertClient(t.Context(), tx, client{id: id, name: name, redirects: []string{appRedirect}}, d.cfg.Now())
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := d.Server.client(t.Context(), id, netip.Addr{})
			if err != nil || c.name != want {
				t.Errorf("%q: shown as %q, %v; want %q", name, c.name, err, want)
			}
		}
	})
}

func FuzzRegistration(f *testing.F) {
	f.Add([]byte(`{"redirect_uris":["https://app.example/cb"],"client_name":"Ember"}`))
	f.Add([]byte(`{"redirect_uris":null,"grant_types":[],"client_secret":1}`))
	s := &Server{rules: defaultRules(f), ownNames: []string{confusable.Skeleton(ownName)}}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, refusal := readMetadata(body)
		if refusal != nil {
			return
		}
		if s.checkMetadata(m) != nil {
			return
		}
		if len(m.Redirects) == 0 || len(m.Redirects) > maxRedirects {
			t.Fatalf("%s is accepted", body)
		}
		if !json.Valid(body) {
			t.Fatalf("%q is accepted", body)
		}
	})
}
