package partner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/serve/middleware"
)

// The errors of a request come in the order of the contract.
func TestRefusalOrder(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	good := func() request { return s.get(root + "/availability?domain=brewhaven.example") }
	order := func() request { return s.order(orderBody) }
	live := s.credential(s.partner.ID, market.Live, "search,buy")
	revoked := s.credential(s.partner.ID, market.Sandbox, "search")
	if err := s.operator.RevokeCredential(t.Context(), revoked.key, "lost"); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(" ", 1<<20+1)
	for _, test := range []struct {
		name   string
		r      request
		status int
		code   fault.Code
	}{
		{"good", good(), 200, ""},
		{"HEAD is signed as HEAD", func() request { r := good(); r.method = "HEAD"; return r }(), 200, ""},
		{"4 KiB is taken as a body of a quote", s.post(root+"/quotes", large[:4<<10]), 400, fault.Validation},

		{"a body over the operation's limit comes before everything", s.post(root+"/quotes", large[:4<<10+1]).with(signature.HeaderKeyID, ""), 413, fault.PayloadTooLarge},
		{"an order may be longer than a quote", s.post(root+"/orders", large[:16<<10]).with(signature.HeaderIdempotencyKey, "k"), 400, fault.Validation},
		{"1 MiB is taken as a body where nothing is", s.post(root+"/nothing", large[:1<<20]), 404, fault.NotFound},
		{"a body over 1 MiB comes before everything", s.post(root+"/quotes", large).with(signature.HeaderKeyID, ""), 413, fault.PayloadTooLarge},
		{"no key id", good().with(signature.HeaderKeyID, ""), 401, fault.MissingCredentials},
		{"no key id, nor anything else", good().with(signature.HeaderKeyID, "").with(signature.HeaderNonce, "").with(signature.HeaderSignature, ""), 401, fault.MissingCredentials},
		{"no timestamp", good().with(signature.HeaderTimestamp, ""), 401, fault.MissingSignature},
		{"no nonce", good().with(signature.HeaderNonce, ""), 401, fault.MissingSignature},
		{"no signature", good().with(signature.HeaderSignature, ""), 401, fault.MissingSignature},
		{"no signature, and a bad timestamp", good().with(signature.HeaderSignature, "").with(signature.HeaderTimestamp, "x"), 401, fault.MissingSignature},
		{"a short nonce", func() request { r := good(); r.nonce = strings.Repeat("n", 15); return r }(), 401, fault.MissingSignature},
		{"the shortest nonce", func() request { r := good(); r.nonce = strings.Repeat("n", 16); return r }(), 200, ""},
		{"the longest nonce", func() request { r := good(); r.nonce = strings.Repeat("n", 128); return r }(), 200, ""},
		{"a long nonce", func() request { r := good(); r.nonce = strings.Repeat("n", 129); return r }(), 401, fault.MissingSignature},
		{"a nonce with a space", func() request { r := good(); r.nonce = "0123456789 0123456789"; return r }(), 401, fault.MissingSignature},
		{"a nonce beyond ASCII", func() request { r := good(); r.nonce = "0123456789-ä-0123456789"; return r }(), 401, fault.MissingSignature},

		{"300 s ago", func() request { r := good(); r.at = r.at.Add(-300 * time.Second); return r }(), 200, ""},
		{"300 s ahead", func() request { r := good(); r.at = r.at.Add(300 * time.Second); return r }(), 200, ""},
		{"301 s ago", func() request { r := good(); r.at = r.at.Add(-301 * time.Second); return r }(), 401, fault.InvalidTimestamp},
		{"301 s ahead", func() request { r := good(); r.at = r.at.Add(301 * time.Second); return r }(), 401, fault.InvalidTimestamp},
		{"milliseconds", func() request { r := good(); r.at = time.Unix(r.at.UnixMilli(), 0); return r }(), 401, fault.InvalidTimestamp},
		{"a fraction", good().with(signature.HeaderTimestamp, "1795262400.0"), 401, fault.InvalidTimestamp},
		{"a sign", good().with(signature.HeaderTimestamp, "+"+strconv.FormatInt(s.clock.Now().Unix(), 10)), 401, fault.InvalidTimestamp},
		{"no number", good().with(signature.HeaderTimestamp, "now"), 401, fault.InvalidTimestamp},
		{"a number too large", good().with(signature.HeaderTimestamp, strings.Repeat("9", 30)), 401, fault.InvalidTimestamp},
		{"a bad timestamp of an unknown key", good().with(signature.HeaderTimestamp, "1").with(signature.HeaderKeyID, "nw_sandbox_nobody"), 401, fault.InvalidTimestamp},

		{"a query that is not encoded", func() request { r := good(); r.query = "domain=%zz"; return r }(), 400, fault.Validation},
		{"an unknown key", good().with(signature.HeaderKeyID, "nw_sandbox_nobody"), 401, fault.InvalidSignature},
		{"a revoked key", good().signedBy(revoked), 401, fault.InvalidSignature},
		{"another's secret", good().signedBy(signer{live.key, s.key.secret}), 401, fault.InvalidSignature},
		{"an upper-case signature", good().with(signature.HeaderSignature, strings.ToUpper(signature.Sign("a", "b"))), 401, fault.InvalidSignature},
		{"a signature without a version", good().with(signature.HeaderSignature, strings.TrimPrefix(signature.Sign("a", "b"), "v1=")), 401, fault.InvalidSignature},

		{"an unknown path, unsigned", s.get(root+"/nothing").with(signature.HeaderSignature, "v1=00"), 401, fault.InvalidSignature},
		{"an unknown path", s.get(root + "/nothing"), 404, fault.NotFound},
		{"an unknown version", s.get("/api/partner/v2/orders"), 404, fault.NotFound},
		{"a path that would be cleaned", s.get(root + "//orders"), 404, fault.NotFound},
		{"a path with dots", s.get(root + "/x/../orders"), 404, fault.NotFound},
		{"a slash at the end", s.get(root + "/orders/"), 404, fault.NotFound},
		{"an escaped slash in a name", s.get(root + "/domains/a%2Fb.example"), 400, fault.Validation},
		{"an escaped letter in a path", s.get(root + "/%6Frders"), 200, ""},
		{"another method", func() request { r := s.get(root + "/orders"); r.method = "PATCH"; return r }(), 405, fault.MethodNotAllowed},
		{"OPTIONS", func() request { r := s.get(root + "/orders"); r.method = "OPTIONS"; return r }(), 405, fault.MethodNotAllowed},
		{"another method, unsigned", func() request {
			r := s.get(root + "/orders")
			r.method = "PATCH"
			return r.with(signature.HeaderSignature, "v1=00")
		}(), 401, fault.InvalidSignature},

		{"a missing scope comes before the body", order().signedBy(s.credential(s.partner.ID, market.Sandbox, "search")).with("Content-Type", "text/plain"), 403, fault.Forbidden},
		{"a body that is not sent as JSON", order().with("Content-Type", "text/plain"), 415, fault.UnsupportedMediaType},
		{"a compressed body", order().with("Content-Encoding", "gzip"), 415, fault.UnsupportedMediaType},
		{"a body that is no JSON", s.order(`{"domain":`), 400, fault.Validation},
		{"no body", s.order(""), 400, fault.Validation},
		{"parameters of a POST", func() request { r := order(); r.query = "a=1"; return r }(), 400, fault.Validation},
		{"an unknown parameter", s.get(root + "/availability?domain=a.example&x=1"), 400, fault.Validation},
		{"a repeated parameter", s.get(root + "/availability?domain=a.example&domain=b.example"), 400, fault.Validation},
		{"a semicolon in a parameter", s.get(root + "/domains/search?q=coffee;shop"), 200, ""},
		{"no idempotency key", order().with(signature.HeaderIdempotencyKey, ""), 400, fault.MissingIdempotencyKey},
		{"no idempotency key of a dry run", s.post(root+"/orders", `{"domain":"brewhaven.example","expected_price":9900,"dry_run":true}`), 400, fault.MissingIdempotencyKey},
		{"a long idempotency key", order().keyed(strings.Repeat("k", 256)), 400, fault.Validation},
		{"an idempotency key beyond ASCII", order().keyed("clé"), 400, fault.Validation},
		{"a long idempotency key of a quote", s.post(root+"/quotes", `{"domain":"brewhaven.example"}`).keyed(strings.Repeat("k", 256)), 400, fault.Validation},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.send(test.r)
			if test.r.method == "HEAD" {
				a.json = nil
			}
			if a.status != test.status || a.code() != test.code {
				t.Errorf("got %d %s, want %d %s", a.status, a.body, test.status, test.code)
			}
			if a.header.Get("X-Request-Id") == "" || a.status >= 400 && !strings.Contains(a.body, a.header.Get("X-Request-Id")) {
				t.Errorf("no request id: %v %s", a.header, a.body)
			}
			if strings.Contains(a.body, test.r.by.secret) {
				t.Errorf("the answer holds the secret: %s", a.body)
			}
		})
	}
}

// A header that is given twice is not there once.
func TestHeadersOnce(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	for _, name := range []string{signature.HeaderKeyID, signature.HeaderTimestamp, signature.HeaderNonce, signature.HeaderSignature} {
		r := s.get(root+"/orders").build(t.Context(), s.http.URL)
		r.Header.Add(name, r.Header.Get(name))
		if a, err := exchange(s.http.Client(), r); err != nil || a.code() != fault.MissingSignature {
			t.Errorf("%s twice: got %d %s, %v, want %s", name, a.status, a.body, err, fault.MissingSignature)
		}
	}
	r := s.order(orderBody).build(t.Context(), s.http.URL)
	r.Header.Add(signature.HeaderIdempotencyKey, "another")
	if a, err := exchange(s.http.Client(), r); err != nil || a.code() != fault.Validation {
		t.Errorf("%s twice: got %d %s, %v, want %s", signature.HeaderIdempotencyKey, a.status, a.body, err, fault.Validation)
	}
}

// A path is signed as it was sent, not as it would be cleaned: a signature over another spelling does not hold.
func TestPathAsSent(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	r := s.get(root + "/orders")
	signed := r.canonical()
	for _, path := range []string{root + "/%6Frders", root + "//orders", root + "/./orders"} {
		other := r.with(signature.HeaderSignature, signature.Sign(r.by.secret, signed))
		other.path = path
		s.want(other, 401, fault.InvalidSignature)
	}
}

// On a signature that does not match, the sandbox shows what should have been signed, whether the key exists or not. LIVE
// never does.
func TestCanonicalStringIsShown(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	live := s.credential(s.partner.ID, market.Live, "search")
	shown := func(a answer) string {
		e, _ := a.json["error"].(map[string]any)
		text, _ := e["canonical_string"].(string)
		return text
	}
	base := s.get(root + "/availability?domain=a.example&b=it's")
	for _, key := range []string{s.key.key, "nw_sandbox_nobody"} {
		r := base.signedBy(signer{key, "wrong"})
		want := fmt.Sprintf("GET\n%s/availability\nb=it%%27s&domain=a.example\n%d\n%s\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", root, r.at.Unix(), r.nonce)
		if got := shown(s.want(r, 401, fault.InvalidSignature)); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{live.key, "nw_live_nobody", "nobody", "nw_sandboxed"} {
		if a := s.want(base.signedBy(signer{key, "wrong"}), 401, fault.InvalidSignature); strings.Contains(a.body, "canonical") || strings.Contains(a.body, "e3b0c4") {
			t.Errorf("%s: %s shows what should have been signed", key, a.body)
		}
	}
}

// Requests whose signature does not hold cost the sender's address, and nothing else: not the credential that they name,
// and not who sends well from the same address.
func TestUnsignedBudget(t *testing.T) {
	t.Parallel()
	s := openSQLite(t, limited, func(s *options) {
		s.limits = middleware.NewLimits(map[op.Class]middleware.Quota{op.Unsigned: {Anonymous: 120, SignedIn: 120}}, s.clock.Now)
	})
	bad := func() request { return s.get(root+"/orders").with(signature.HeaderSignature, "v1=00") }
	for i := range 120 {
		if a := s.send(bad()); a.code() != fault.InvalidSignature {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
	}
	for _, r := range []request{bad(), bad().with(signature.HeaderKeyID, ""), bad().with(signature.HeaderKeyID, "nobody")} {
		a := s.want(r, 429, fault.RateLimited)
		if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
			t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
		}
	}
	if a := s.ok(s.get(root+"/orders"), 200); !strings.HasPrefix(a.header.Get("RateLimit"), `"reporting";r=29;`) {
		t.Errorf("RateLimit: got %q, want the first draw", a.header.Get("RateLimit"))
	}
	s.clock.advance(time.Second)
	s.want(bad(), 401, fault.InvalidSignature)
}

// A secret is changed without a gap: for a while both sign.
func TestTwoSecrets(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	first := s.key
	issued, err := s.operator.RotateSecret(t.Context(), first.key, time.Hour)
	if err != nil || issued.KeyID != first.key {
		t.Fatal(issued.KeyID, err)
	}
	second := signer{issued.KeyID, issued.Secret}
	s.clock.advance(2 * credential.MaxAge)
	s.ok(s.get(root+"/orders").signedBy(first), 200)
	s.ok(s.get(root+"/orders").signedBy(second), 200)
	if _, err := s.operator.RotateSecret(t.Context(), first.key, time.Hour); !fault.Is(err, fault.Conflict) {
		t.Errorf("a third secret: %v, want %s", err, fault.Conflict)
	}
	s.clock.advance(time.Hour)
	s.want(s.get(root+"/orders").signedBy(first), 401, fault.InvalidSignature)
	s.ok(s.get(root+"/orders").signedBy(second), 200)
	if _, err := s.operator.RotateSecret(t.Context(), first.key, 0); err != nil {
		t.Fatal(err)
	}
	s.clock.advance(2 * credential.MaxAge)
	s.want(s.get(root+"/orders").signedBy(second), 401, fault.InvalidSignature)
}

// A credential that an operator suspends or revokes in another process is refused within two seconds.
func TestEndedSoon(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		r := func() request { return s.get(root + "/orders") }
		s.ok(r(), 200)
		if err := s.operator.Suspend(t.Context(), s.partner.ID, "unpaid"); err != nil {
			t.Fatal(err)
		}
		s.clock.advance(2 * time.Second)
		s.want(r(), 401, fault.InvalidSignature)
		if err := s.operator.Resume(t.Context(), s.partner.ID, ""); err != nil {
			t.Fatal(err)
		}
		s.clock.advance(2 * time.Second)
		s.ok(r(), 200)
		if err := s.operator.RevokeCredential(t.Context(), s.key.key, "lost"); err != nil {
			t.Fatal(err)
		}
		s.clock.advance(2 * time.Second)
		s.want(r(), 401, fault.InvalidSignature)
		if err := s.operator.RevokeCredential(t.Context(), s.key.key, "lost"); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked twice: %v", err)
		}
	})
}

// digestOf is a body as [API.Verify] asks for it.
func digestOf(body []byte) func(bool) ([sha256.Size]byte, error) {
	return func(bool) ([sha256.Size]byte, error) { return sha256.Sum256(body), nil }
}

// Nothing that is sent makes the verification fail, and nothing unsigned gets through.
func FuzzVerify(f *testing.F) {
	s := openSQLite(f)
	f.Add("GET", root+"/orders", "a=%20", s.key.key, "1795262400", "0123456789abcdef", "v1=00", []byte("{}"))
	f.Add("post", "/", "%zz", "nw_live_x", "-1", "\x00", "", []byte(nil))
	f.Fuzz(func(t *testing.T, method, path, query, key, at, nonce, sig string, body []byte) {
		r := httptest.NewRequest("GET", "/", bytes.NewReader(body))
		r.Method, r.URL.Path, r.URL.RawQuery, r.RequestURI = method, path, query, path+"?"+query
		r.Header = http.Header{signature.HeaderKeyID: {key}, signature.HeaderTimestamp: {at}, signature.HeaderNonce: {nonce}, signature.HeaderSignature: {sig}}
		if ctx, err := s.api.Verify(r, digestOf(body)); err == nil || ctx != nil || fault.From(err).Code == fault.Internal {
			t.Errorf("%v, %v", ctx, err)
		}
	})
}

// A request that was not verified is not admitted, and no operation runs without a caller.
func TestUnverifiedRequests(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	if err := s.api.Admit(httptest.NewRequest("GET", "/", nil), nil, http.Header{}); err == nil {
		t.Error("admitted")
	}
	for _, o := range s.api.Set().All() {
		if _, err := o.Call(context.Background(), o.Example); err == nil {
			t.Errorf("%s runs without a caller", o.Name)
		}
	}
}
