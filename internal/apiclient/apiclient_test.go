package apiclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/apiclient"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tools"
)

// described returns the public operations without implementations.
func described() *op.Set {
	set := tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
	return set
}

// serve serves h as a public API.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func call(ctx context.Context, t *testing.T, base, token, operation, in string) (op.Answer, error) {
	t.Helper()
	api, err := apiclient.New(base, token)
	if err != nil {
		t.Fatal(err)
	}
	return api.Call(ctx, described().Named(operation), []byte(in))
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, operation, in string
		token, path         string // path of the base URL
		want                string
	}{
		{"a body", "search_domain", `{"q":"büch er","tlds":["com","de"]}`, "", "", `POST /api/domain/search {"q":"büch er","tlds":["com","de"]}`},
		{"a query", "tld_registration_price", `{"tld":"co.uk","op":"renew"}`, "", "", `GET /api/pricing/tld?op=renew&tld=co.uk `},
		{"numbers and booleans in a query", "market_listings", `{"limit":5,"require_real_prices":true}`, "", "", `GET /api/market/listings?limit=5&require_real_prices=true `},
		{"signs in a query", "market_listings", `{"q":"a&b=c+d #e"}`, "", "", `GET /api/market/listings?q=a%26b%3Dc%2Bd+%23e `},
		{"a path", "tld_metadata", `{"tld":"рф"}`, "", "", `GET /api/tlds/%D1%80%D1%84/metadata `},
		{"a path that would lead elsewhere", "tld_metadata", `{"tld":"a/../b?c"}`, "", "", `GET /api/tlds/a%2F..%2Fb%3Fc/metadata `},
		{"no input", "batch_catalogue", `{}`, "", "", `GET /api/batch `},
		{"a base URL with a path and a slash", "tld_registration_price", `{"tld":"com"}`, "", "/names/", `GET /names/api/pricing/tld?tld=com `},
		{"a token", "tld_registration_price", `{"tld":"com"}`, "tok", "", `GET /api/pricing/tld?tld=com Bearer tok`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got string
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.Method + " " + r.RequestURI + " " + string(body) + r.Header.Get("Authorization")
				if r.Header.Get("Accept") != "application/json" || (len(body) > 0) != (r.Header.Get("Content-Type") == "application/json") {
					t.Errorf("headers %v", r.Header)
				}
				w.Header().Set("ETag", `W/"x"`)
				fmt.Fprintln(w, `{"ok":true}`)
			})
			answer, err := call(t.Context(), t, base+test.path, test.token, test.operation, test.in)
			if err != nil || string(answer.JSON) != `{"ok":true}` || answer.ETag != `W/"x"` || answer.Public {
				t.Errorf("got %+v, %v", answer, err)
			}
			if got != test.want {
				t.Errorf("sent %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		status     int
		header     string // Retry-After
		want       fault.Error
	}{
		{
			"a field at fault", `{"error":{"code":"validation_error","message":"q is required","request_id":"r","details":[{"field":"q","reason":"is required"}]}}`, 400, "",
			fault.Error{Code: fault.Validation, Detail: "q is required", Fields: []fault.Field{{Field: "q", Reason: "is required"}}},
		},
		{
			"a message with verbs", `{"error":{"code":"not_found","message":"100 %s of %d","request_id":"r"}}`, 404, "",
			fault.Error{Code: fault.NotFound, Detail: "100 %s of %d"},
		},
		{
			"over the limit", `{"error":{"code":"rate_limited","message":"slow down","request_id":"r"}}`, 429, "17",
			fault.Error{Code: fault.RateLimited, Detail: "slow down", Retry: 17 * time.Second},
		},
		{
			"no token", `{"error":{"code":"authentication_required","message":"sign in","request_id":"r"}}`, 401, "",
			fault.Error{Code: fault.AuthenticationRequired, Detail: "sign in"},
		},
		{"a page of HTML", `<html>secret</html>`, 502, "", fault.Error{Code: fault.Internal}},
		{"an error of somebody else's", `{"error":{"code":"teapot","message":"secret"}}`, 418, "", fault.Error{Code: fault.Internal}},
		{"an error that is a text", `{"error":"secret"}`, 400, "", fault.Error{Code: fault.Internal}},
		{"nothing", ``, 500, "", fault.Error{Code: fault.Internal}},
		{"an endless error", `{"error":{"code":"not_found","message":"` + strings.Repeat("secret", 100_000) + `"}}`, 404, "", fault.Error{Code: fault.Internal}},
		{"a redirect", ``, 302, "", fault.Error{Code: fault.Internal}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			answer, err := call(t.Context(), t, base, "", "search_domain", `{"q":"a"}`)
			if err == nil || answer.JSON != nil {
				t.Fatalf("got %+v, %v", answer, err)
			}
			got := fault.From(err)
			if got.Code != test.want.Code || got.Retry != test.want.Retry || got.Scope != test.want.Scope || fmt.Sprint(got.Fields) != fmt.Sprint(test.want.Fields) ||
				test.want.Detail != "" && got.Message() != test.want.Detail || strings.Contains(got.Message()+err.Error(), "secret") {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// A redirect could send the token to another server.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was followed, with %q", r.URL, r.Header.Get("Authorization"))
	})
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	if _, err := call(t.Context(), t, base, "tok", "search_domain", `{"q":"a"}`); !fault.Is(fault.From(err), fault.Internal) {
		t.Errorf("got %v, want an error of ours", err)
	}
}

func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(http.ResponseWriter){
		"HTML":        func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"nothing":     func(http.ResponseWriter) {},
		"half":        func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"q":`) },
		"cut":         func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); _, _ = io.WriteString(w, `{}`) },
		"far too big": func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"a":"`+strings.Repeat("a", 9<<20)+`"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) { write(w) })
			if answer, err := call(t.Context(), t, base, "", "search_domain", `{"q":"a"}`); !fault.Is(fault.From(err), fault.Internal) || answer.JSON != nil {
				t.Errorf("got %d bytes, %v; want an error of ours", len(answer.JSON), err)
			}
		})
	}
}

func TestAnAPIThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	_ = l.Close()
	_, err = call(t.Context(), t, base, "", "market_listings", `{"q":"hush-hush"}`)
	if f := fault.From(err); f.Code != fault.Unavailable || strings.Contains(f.Message()+err.Error(), "hush") || !strings.Contains(f.Hint, "-backend") {
		t.Errorf("got %v, want unavailable without what was asked", err)
	}
	asked := make(chan struct{})
	hold := make(chan struct{})
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-r.Context().Done():
		case <-hold:
		}
	})
	defer close(hold)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := call(ctx, t, slow, "", "search_domain", `{"q":"a"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who leaves: got %v, want context.Canceled", err)
	}
}

// A call to an API that never answers fails after 15 seconds.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		client, server := net.Pipe()
		defer server.Close()
		go func() { _, _ = io.Copy(io.Discard, server) }()
		api, err := apiclient.New("http://names.example", "")
		if err != nil {
			t.Fatal(err)
		}
		api.Dial(func(context.Context, string, string) (net.Conn, error) { return client, nil })
		_, err = api.Call(t.Context(), described().Named("search_domain"), []byte(`{"q":"a"}`))
		if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took != 15*time.Second {
			t.Errorf("got %v after %v, want unavailable after 15 s", err, took)
		}
	})
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	for base, good := range map[string]bool{
		"https://names.example": true, "http://127.0.0.1:8080/": true, "https://names.example/v1": true,
		"": false, "names.example": false, "ftp://names.example": false, "https://": false, "https://a?b": false, "https://a#b": false, "https://a b": false,
	} {
		if _, err := apiclient.New(base, ""); (err == nil) != good {
			t.Errorf("New(%q): %v", base, err)
		}
	}
}

// fakeTransport is a transport that adds the token, or fails.
type fakeTransport struct {
	token string
	err   error
}

func (v fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if v.err != nil {
		return nil, v.err
	}
	with := r.Clone(r.Context())
	with.Header.Set("Authorization", "Bearer "+v.token)
	return http.DefaultTransport.RoundTrip(with)
}

func TestTransportAddsTheToken(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%q", r.Header.Get("Authorization")) })
	ended := fault.New(fault.InvalidToken, "the sign-in has ended").WithHint("sign in again")
	for _, test := range []struct {
		name          string
		fakeTransport fakeTransport
		want          string
		err           error
	}{
		{"a token", fakeTransport{token: "tok"}, `"Bearer tok"`, nil},
		{"a sign-in that has ended", fakeTransport{err: ended}, "", ended},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			api, err := apiclient.NewVia(base, test.fakeTransport)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := api.Call(t.Context(), described().Named("search_domain"), []byte(`{"q":"a"}`))
			if string(answer.JSON) != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %s, %v; want %s, %v", answer.JSON, err, test.want, test.err)
			}
		})
	}
	api, err := apiclient.NewVia(base, fakeTransport{err: errors.New("no route")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Call(t.Context(), described().Named("search_domain"), []byte(`{"q":"a"}`)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("another failure of the transport: got %v, want unavailable", err)
	}
}
