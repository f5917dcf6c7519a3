package contracttest

import (
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// partnerAPI is the partner API on an empty store.
func partnerAPI(t *testing.T) *partner.API {
	t.Helper()
	db := storetest.Open(t, store.Config{Dir: t.TempDir()})
	m, err := market.New(t.Context(), market.Config{DB: db, Lexicon: words.English()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	keys, err := seal.Parse(seal.NewText())
	if err != nil {
		t.Fatal(err)
	}
	api, err := partner.New(t.Context(), partner.Config{DB: db, Keys: keys, Market: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api
}

// partnerEndpoints are section 4.1 of the specification, as far as it is built, and what the product adds to it.
var partnerEndpoints = []struct {
	method, path, name string
	scope              string
	limit              op.Class
	idempotency        op.Idempotency
}{
	{"GET", "/api/partner/v1/domains/search", "partner_search_domains", "search", "search", op.None},
	{"GET", "/api/partner/v1/domains/{name}", "partner_get_domain", "search", "search", op.None},
	{"GET", "/api/partner/v1/availability", "partner_availability", "search", "search", op.None},
	{"GET", "/api/partner/v1/pricing", "partner_pricing", "search", "search", op.None},
	{"POST", "/api/partner/v1/quotes", "partner_create_quote", "buy", "write", op.Optional},
	{"POST", "/api/partner/v1/orders", "partner_create_order", "buy", "write", op.Required},
	{"GET", "/api/partner/v1/orders", "partner_list_orders", "buy", "reporting", op.None},
	{"GET", "/api/partner/v1/orders/{public_id}", "partner_get_order", "buy", "reporting", op.None},
	{"GET", "/api/partner/v1/settlements", "partner_list_settlements", "buy", "reporting", op.None},
	{"GET", "/api/partner/v1/settlements/{settlement_id}", "partner_get_settlement", "buy", "reporting", op.None},
	{"GET", "/api/partner/v1/transactions", "partner_list_transactions", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/payouts", "partner_list_payouts", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/me/commissions", "partner_my_commissions", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/me/payouts", "partner_my_payouts", "report", "reporting", op.None},
	{"POST", "/api/partner/v1/refunds", "partner_create_refund", "buy", "write", op.Optional},
	{"POST", "/api/partner/v1/checkout-session", "partner_create_checkout", "embed", "write", op.Optional},
	{"GET", "/api/partner/v1/checkout-session/{session_id}", "partner_get_checkout", "embed", "reporting", op.None},
	{"GET", "/api/partner/v1/brokerage", "partner_list_cases", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/brokerage/eligibility", "partner_brokerage_eligibility", "broker", "search", op.None},
	{"POST", "/api/partner/v1/brokerage", "partner_create_case", "broker", "write", op.Optional},
	{"GET", "/api/partner/v1/brokerage/{case_id}", "partner_get_case", "broker", "reporting", op.None},
	{"POST", "/api/partner/v1/links", "partner_create_link", "refer", "write", op.Optional},
	{"GET", "/api/partner/v1/links", "partner_list_links", "refer", "reporting", op.None},
	{"GET", "/api/partner/v1/me/clicks", "partner_referral_clicks", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/me/sales", "partner_referred_sales", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/analytics", "partner_analytics", "report", "reporting", op.None},
	{"GET", "/api/partner/v1/events", "partner_list_events", "webhook", "reporting", op.None},
	{"PUT", "/api/partner/webhooks", "partner_put_webhook", "webhook", "write", op.None},
	{"GET", "/api/partner/webhooks", "partner_get_webhook", "webhook", "reporting", op.None},
	{"DELETE", "/api/partner/webhooks", "partner_delete_webhook", "webhook", "reporting", op.None},
	{"POST", "/api/partner/webhooks/test", "partner_test_webhook", "webhook", "write", op.Optional},
	{"GET", "/api/partner/webhooks/deliveries", "partner_list_deliveries", "webhook", "reporting", op.None},
	{"POST", "/api/partner/webhooks/deliveries/{id}/redeliver", "partner_redeliver", "webhook", "write", op.Optional},
	{"POST", "/api/partner/v1/sandbox/clock", "partner_advance_clock", "buy", "write", op.Optional},
	{"POST", "/api/partner/v1/sandbox/orders/{public_id}/{play}", "partner_play_order", "buy", "write", op.Optional},
	{"POST", "/api/partner/v1/sandbox/brokerage/{case_id}/{play}", "partner_play_case", "broker", "write", op.Optional},
}

func TestSpecPartner(t *testing.T) {
	t.Parallel()
	set := partnerAPI(t).Set()
	for _, e := range partnerEndpoints {
		o := set.Named(e.name)
		if o == nil {
			t.Errorf("no operation is named %s", e.name)
			continue
		}
		if o.Route.Method != e.method || o.Route.Path != e.path || o.Scope != e.scope || o.Limit != e.limit || o.Idempotency != e.idempotency || o.Batch || o.Tool {
			t.Errorf("%s: got %s %s scope %q limit %s idempotency %d batch %v tool %v, want %+v",
				e.name, o.Route.Method, o.Route.Path, o.Scope, o.Limit, o.Idempotency, o.Batch, o.Tool, e)
		}
	}
	if got := len(set.All()); got != len(partnerEndpoints) {
		t.Errorf("the set holds %d operations, the table partnerEndpoints in this file %d: add a row for each operation", got, len(partnerEndpoints))
	}
	for _, o := range publicSet().All() {
		if set.Named(o.Name) != nil {
			t.Errorf("%s is the name of two operations", o.Name)
		}
	}
}

// Limits of the partner API: sections 3, 5.1, 6.1 and 8 of the specification, and what fills its gaps.
func TestSpecPartnerLimits(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]int{
		"searches a minute":                {partner.SearchQuota, 60},
		"writes a minute":                  {partner.WriteQuota, 20},
		"reports a minute":                 {partner.ReportingQuota, 30},
		"results of a search":              {partner.MaxResults, 5},
		"seconds of skew":                  {int(signature.MaxSkew / time.Second), 300},
		"minutes of a quote":               {int(sale.QuoteLife / time.Minute), 10},
		"days of a checkout session":       {int(checkout.SessionLife / (24 * time.Hour)), 7},
		"days of an answer":                {int(partner.AnswerLife / (24 * time.Hour)), 30},
		"orders a page":                    {sale.MaxPage, 100},
		"orders a page when none is given": {sale.DefaultPage, 25},
		"events a page":                    {event.MaxPage, 100},
		"events a page when none is given": {event.DefaultPage, 50},
		"characters of a secret, least":    {event.MinSecret, 16},
		"characters of a secret, most":     {event.MaxSecret, 256},
		"hours of an old secret":           {int(event.SecretGrace / time.Hour), 24},
		"service's commission":             {int(credential.DefaultTerms().Rates.Service), 1500},
		"partner's commission":             {int(credential.DefaultTerms().Rates.Partner), 1000},
		"broker's share":                   {int(credential.DefaultTerms().Rates.Broker), 2000},
		"referral share":                   {int(credential.DefaultTerms().Rates.Referral), 500},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %d, want %d", name, pair[0], pair[1])
		}
	}
	if credential.MaxAge > 2*time.Second {
		t.Errorf("a revocation is seen within %v, want 2 s", credential.MaxAge)
	}
}
