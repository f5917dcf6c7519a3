package partner

import (
	"errors"
	"net/http"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/ratelimit"
)

// The rate limit classes of the partner API.
const (
	ClassSearch    op.Class = "search"    // the inventory
	ClassWrite     op.Class = "write"     // every POST and PUT
	ClassReporting op.Class = "reporting" // the rest
)

// Quotas of a credential a minute (section 8 of the contract).
const (
	SearchQuota    = 60
	WriteQuota     = 20
	ReportingQuota = 30
)

var limits = map[op.Class]*ratelimit.Policy{
	ClassSearch:    newPolicy(ClassSearch, SearchQuota),
	ClassWrite:     newPolicy(ClassWrite, WriteQuota),
	ClassReporting: newPolicy(ClassReporting, ReportingQuota),
}

func newPolicy(class op.Class, quota int) *ratelimit.Policy {
	return ratelimit.NewPolicy(string(class), ratelimit.PerMinute(quota))
}

// Admit records the nonce of a request that passed [API.Verify] and draws a token from the rate limit of its operation, or
// of its method where the path has none. It writes the RateLimit fields into h. It fails with [fault.ReplayDetected] and
// [fault.RateLimited].
func (a *API) Admit(r *http.Request, o *op.Op, h http.Header) error {
	c := signedRequestFrom(r.Context())
	if c == nil {
		return errors.New("admit a request that was not verified")
	}
	drawn, err := a.admission.Admit(r.Context(), c.Caller.Key, c.nonce, c.expires, limits[classOf(r.Method, o)])
	if err != nil {
		return err
	}
	writeRateLimit(h, drawn)
	return errLimited(drawn)
}

// classOf returns the rate limit class of an operation, or of a method where o is nil.
func classOf(method string, o *op.Op) op.Class {
	switch {
	case o != nil:
		return o.Limit
	case method == http.MethodPost || method == http.MethodPut:
		return ClassWrite
	}
	return ClassReporting
}

// writeRateLimit writes the RateLimit fields of a draw, if there was one.
func writeRateLimit(h http.Header, d ratelimit.Draw) {
	if d.Policy != nil {
		ratelimit.WriteHeader(h, []ratelimit.Draw{d})
	}
}

// errLimited returns the error of a refused draw, nil for any other.
func errLimited(d ratelimit.Draw) error {
	if !d.Refused() {
		return nil
	}
	detail, hint := d.Reason()
	return fault.New(fault.RateLimited, "%s", detail).WithHint("%s", hint).WithRetry(d.Wait())
}
