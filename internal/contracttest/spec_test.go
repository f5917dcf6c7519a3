package contracttest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tools"
)

// publicSet is the public operations as they are described; they are not called.
func publicSet() *op.Set {
	return tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
}

// The authorization server grants the scopes of the public operations, in the same order: its first is the default of both.
func TestScopes(t *testing.T) {
	t.Parallel()
	server, err := oauthas.New(t.Context(), oauthas.Config{DB: storetest.Open(t, store.Config{Dir: t.TempDir()}), Issuer: "https://names.example"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	var metadata struct {
		Scopes []string `json:"scopes_supported"`
	}
	body := fetch(t, server.Handler(), httptest.NewRequest("GET", "https://names.example/.well-known/oauth-authorization-server", nil))
	if err := json.Unmarshal(body, &metadata); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range publicSet().Guide().Scopes {
		want = append(want, s.Name)
	}
	if !slices.Equal(metadata.Scopes, want) {
		t.Errorf("the authorization server has the scopes %q, tools has %q: make scopes in oauthas/server.go the same", metadata.Scopes, want)
	}
}

// endpoints are section 4.2 of the specification and what the product adds to it.
var endpoints = []struct {
	method, path, name string
	batch, tool        bool
	scope              string
	limit              op.Class
}{
	{"POST", "/api/domain/search", "search_domain", true, true, "", op.Lookup},
	{"POST", "/api/domain/check", "check_domains", true, true, "", op.Lookup},
	{"POST", "/api/domain/suggest", "suggest_domains", true, true, "", op.Lookup},
	{"GET", "/api/pricing/compare", "compare_tld_prices", true, true, "", op.Read},
	{"POST", "/api/tools/whois", "whois_lookup", true, true, "", op.Lookup},
	{"GET", "/api/pricing/tld", "tld_registration_price", true, true, "", op.Read},
	{"GET", "/api/tlds/{tld}/metadata", "tld_metadata", true, true, "", op.Read},
	{"GET", "/api/tlds", "list_tlds", true, false, "", op.Read},
	{"GET", "/api/market/listings", "market_listings", true, true, "", op.Read},
	{"POST", "/api/domains", "add_domain", false, true, tools.ScopeDomains, op.Read},
	{"GET", "/api/domains", "list_domains", false, true, tools.ScopeDomains, op.Read},
	{"POST", "/api/domains/bulk/{op}", "bulk_domains", false, true, tools.ScopeDomains, op.Read},
	{"POST", "/api/batch", "batch_lookup", false, true, "", op.Read},
	{"GET", "/api/batch", "batch_catalogue", false, false, "", op.Read},
}

func TestSpecEndpoints(t *testing.T) {
	t.Parallel()
	set := publicSet()
	for _, e := range endpoints {
		o := set.Named(e.name)
		if o == nil {
			t.Errorf("no operation is named %s", e.name)
			continue
		}
		if o.Route.Method != e.method || o.Route.Path != e.path || o.Batch != e.batch || o.Tool != e.tool || o.Scope != e.scope || o.Limit != e.limit {
			t.Errorf("%s: got %s %s batch %v tool %v scope %q limit %s, want %+v", e.name, o.Route.Method, o.Route.Path, o.Batch, o.Tool, o.Scope, o.Limit, e)
		}
	}
	if got := len(set.All()); got != len(endpoints) {
		t.Errorf("the set holds %d operations, the table endpoints in this file %d: add a row for each operation", got, len(endpoints))
	}
}

// codes are section 7 of the specification with the statuses that it leaves open.
var codes = map[fault.Code]int{
	"validation_error": http.StatusBadRequest, "missing_idempotency_key": http.StatusBadRequest,
	"invalid_signature": http.StatusUnauthorized, "missing_credentials": http.StatusUnauthorized,
	"missing_signature_headers": http.StatusUnauthorized, "invalid_timestamp": http.StatusUnauthorized,
	"replay_detected": http.StatusUnauthorized, "authentication_required": http.StatusUnauthorized, "invalid_token": http.StatusUnauthorized,
	"forbidden": http.StatusForbidden, "insufficient_scope": http.StatusForbidden,
	"not_found": http.StatusNotFound, "method_not_allowed": http.StatusMethodNotAllowed, "conflict": http.StatusConflict, "gone": http.StatusGone,
	"request_timeout": http.StatusRequestTimeout, "payload_too_large": http.StatusRequestEntityTooLarge, "unsupported_media_type": http.StatusUnsupportedMediaType,
	"price_mismatch": http.StatusUnprocessableEntity, "quote_expired": http.StatusUnprocessableEntity, "payment_unavailable": http.StatusUnprocessableEntity,
	"rate_limited": http.StatusTooManyRequests, "internal_error": http.StatusInternalServerError, "unavailable": http.StatusServiceUnavailable,
}

func TestSpecCodes(t *testing.T) {
	t.Parallel()
	for _, row := range fault.Codes() {
		if codes[row.Code] != row.Status || row.Title == "" || row.When == "" {
			t.Errorf("%s: got %d, want %d, with a title and a meaning", row.Code, row.Status, codes[row.Code])
		}
	}
	if got := len(fault.Codes()); got != len(codes) {
		t.Errorf("the table of faults holds %d codes, want %d", got, len(codes))
	}
}

// limits are sections 4.2 and 8 of the specification, as far as they are numbers of the public API.
func TestSpecLimits(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]int{
		"batch size":                {batch.Max, 20},
		"names in a check":          {tools.MaxCheck, 200},
		"suffixes in a search":      {tools.MaxSuffixes, 30},
		"characters of a query":     {tools.MaxQuery, 253},
		"suffixes searched":         {len(tools.DefaultSuffixes), 12},
		"page":                      {tools.MaxPage, 100},
		"page when none is given":   {tools.DefaultPage, 25},
		"offset":                    {tools.MaxOffset, 10_000},
		"names looked up for ideas": {tools.MaxIdeas, 100},
		"seconds of ideas":          {int(tools.IdeaDeadline / time.Second), 3},
		"years of a comparison":     {tools.MaxYears, 10},
		"seconds of a search":       {int(tools.SearchDeadline / time.Second), 4},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %d, want %d", name, pair[0], pair[1])
		}
	}
}
