package oauthas

import (
	"strings"
	"testing"
	"time"
)

func TestCheckCode(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	verifier, challenge := pkce()
	row := codeRow{client: "c", redirect: appRedirect, challenge: challenge, resource: mcpURL, expires: now.Add(time.Second)}
	good := redemption{client: "c", redirect: appRedirect, verifier: verifier}
	for _, c := range []struct {
		name   string
		change func(*codeRow, *redemption)
		want   outcome
		code   string
	}{
		{"good", func(*codeRow, *redemption) {}, accept, ""},
		{"without a redirect", func(_ *codeRow, r *redemption) { r.redirect = "" }, accept, ""},
		{"narrowed to a resource", func(_ *codeRow, r *redemption) { r.resources = []string{signedInURL} }, accept, ""},
		{"widened to a resource", func(_ *codeRow, r *redemption) { r.resources = []string{apiURL} }, refuse, errInvalidTarget},
		{"another client", func(_ *codeRow, r *redemption) { r.client = "d" }, countFailure, errInvalidGrant},
		{"another redirect", func(_ *codeRow, r *redemption) { r.redirect += "/" }, countFailure, errInvalidGrant},
		{"wrong verifier", func(_ *codeRow, r *redemption) { r.verifier = strings.Repeat("a", 43) }, countFailure, errInvalidGrant},
		{"the challenge as verifier", func(_ *codeRow, r *redemption) { r.verifier = challenge }, countFailure, errInvalidGrant},
		{"a short verifier", func(_ *codeRow, r *redemption) { r.verifier = verifier[:42] }, countFailure, errInvalidGrant},
		{"the last wrong try", func(row *codeRow, r *redemption) { row.tries = 4; r.client = "d" }, invalidate, errInvalidGrant},
		{"good after four wrong tries", func(row *codeRow, _ *redemption) { row.tries = 4 }, accept, ""},
		{"good after five wrong tries", func(row *codeRow, _ *redemption) { row.tries = 5 }, refuse, errInvalidGrant},
		{"expired", func(row *codeRow, _ *redemption) { row.expires = now }, refuse, errInvalidGrant},
		{"again", func(row *codeRow, _ *redemption) { row.used = now }, revoke, errInvalidGrant},
		{"again after it expired", func(row *codeRow, _ *redemption) { row.used, row.expires = now, now }, revoke, errInvalidGrant},
		{"again with a wrong verifier", func(row *codeRow, r *redemption) { row.used = now; r.verifier = strings.Repeat("a", 43) }, refuse, errInvalidGrant},
		{"again by another client", func(row *codeRow, r *redemption) { row.used = now; r.client = "d" }, refuse, errInvalidGrant},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row, r := row, good
			c.change(&row, &r)
			got, refusal := checkCode(row, r, now)
			if got != c.want || (refusal == nil) != (c.code == "") || refusal != nil && refusal.code != c.code {
				t.Errorf("got %v %v, want %v %s", got, refusal, c.want, c.code)
			}
		})
	}
}

func TestCheckRefresh(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	row := refreshRow{client: "c", scope: "pricing:read domains:write", resource: issuer, expires: now.Add(1), ends: now.Add(1)}
	for _, c := range []struct {
		name   string
		change func(*refreshRow, *renewal)
		grace  time.Duration
		unused bool
		want   outcome
		code   string
	}{
		{"good", func(*refreshRow, *renewal) {}, 0, false, accept, ""},
		{"narrower", func(_ *refreshRow, r *renewal) { r.scope, r.resources = "pricing:read", []string{apiURL} }, 0, false, accept, ""},
		{"wider scope", func(row *refreshRow, r *renewal) { row.scope, r.scope = "pricing:read", "domains:write" }, 0, false, refuse, errInvalidScope},
		{"wider resource", func(row *refreshRow, r *renewal) { row.resource, r.resources = mcpURL, []string{apiURL} }, 0, false, refuse, errInvalidTarget},
		{"another client", func(_ *refreshRow, r *renewal) { r.client = "d" }, 0, false, refuse, errInvalidGrant},
		{"another client again", func(row *refreshRow, r *renewal) { row.used = now; r.client = "d" }, 0, false, refuse, errInvalidGrant},
		{"expired", func(row *refreshRow, _ *renewal) { row.expires = now }, 0, false, refuse, errInvalidGrant},
		{"end of the grant", func(row *refreshRow, _ *renewal) { row.ends = now }, 0, false, refuse, errInvalidGrant},
		{"used", func(row *refreshRow, _ *renewal) { row.used = now }, 0, false, revoke, errInvalidGrant},
		{"used, no grace", func(row *refreshRow, _ *renewal) { row.used = now }, 0, true, revoke, errInvalidGrant},
		{"used within the grace", func(row *refreshRow, _ *renewal) { row.used = now.Add(-time.Second + 1) }, time.Second, true, reissue, ""},
		{"used at the end of the grace", func(row *refreshRow, _ *renewal) { row.used = now.Add(-time.Second) }, time.Second, true, revoke, errInvalidGrant},
		{"used within the grace, its successor too", func(row *refreshRow, _ *renewal) { row.used = now }, time.Second, false, revoke, errInvalidGrant},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row, r := row, renewal{client: "c"}
			c.change(&row, &r)
			got, refusal := checkRefresh(row, r, now, c.grace, c.unused)
			if got != c.want || (refusal == nil) != (c.code == "") || refusal != nil && refusal.code != c.code {
				t.Errorf("got %v %v, want %v %s", got, refusal, c.want, c.code)
			}
		})
	}
}

// FuzzCheckRefresh checks that an invalid token never issues tokens.
func FuzzCheckRefresh(f *testing.F) {
	f.Add("c", "c", "pricing:read", "pricing:read", apiURL, apiURL, int64(1), int64(1), int64(0), int64(0), false)
	// Without a grace, a token used by a process whose clock is ahead was accepted again.
	f.Add("c", "c", "pricing:read", "", apiURL, apiURL, int64(1), int64(25), int64(-50), int64(0), true)
	f.Fuzz(func(t *testing.T, owner, client, granted, scope, resource, asked string, expires, ends, used, grace int64, unused bool) {
		now := newClock().Now()
		row := refreshRow{
			client: owner, scope: granted, resource: resource,
			expires: now.Add(time.Duration(expires)), ends: now.Add(time.Duration(ends)),
		}
		if used != 0 {
			row.used = now.Add(-time.Duration(used))
		}
		r := renewal{client: client, scope: scope, resources: []string{asked}}
		v, refusal := checkRefresh(row, r, now, time.Duration(grace), unused)
		if (v == accept || v == reissue) != (refusal == nil) {
			t.Fatalf("verdict %v with %v", v, refusal)
		}
		if refusal != nil {
			return
		}
		if owner != client || expires <= 0 || ends <= 0 || !within(scope, granted) || !coversAny(resource, asked) {
			t.Fatalf("accepted: %+v for %+v", row, r)
		}
		if used != 0 && (v != reissue || !unused || grace <= 0) {
			t.Fatalf("a used token is accepted: %+v", row)
		}
	})
}
