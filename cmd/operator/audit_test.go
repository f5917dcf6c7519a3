package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/partnercli"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tools"
)

// reading are the commands that change nothing in the store.
var reading = []string{
	"listing list", "listing show", "account list", "account show", "partner list", "partner show", "credential list", "order list", "order show", "settlement list", "settlement show", "payout list", "brokerage list", "brokerage show", "webhook deliveries", "ledger check", "audit",
	"payment list", "payment show", "key list", "dev buy", "dev sign", "dev listen", "dev trigger", "dev zone", "db backup", "db check", "zone list", "zone verify",
}

// partnerService serves the partner API on a store.
func partnerService(t *testing.T, db *store.DB, data string) (base string, api *partner.API) {
	t.Helper()
	m, err := market.New(t.Context(), market.Config{DB: db, Lexicon: words.English()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	keys, err := new(app.Config).Keys(nothing, data, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	api, err = partner.New(t.Context(), partner.Config{
		DB: db, Keys: keys, Market: m, NoLimits: true, Webhooks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	server := httptest.NewServer(rest.New(rest.Config{
		Middleware: middleware.New(middleware.Config{BaseURL: "http://127.0.0.1", Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler)}),
		Set:        tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now}),
		Version:    "test", Partner: &rest.Partner{Set: api.Set(), Signatures: api},
	}))
	t.Cleanup(server.Close)
	return server.URL, api
}

// Every command that changes something leaves a line in the audit log. A command that is neither here nor among those
// that read fails the test.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	known := map[string]string{"DATA": data} // what later commands need of earlier ones
	secrets := []string{"nine blue harbours at dawn"}
	done := map[string]bool{}
	var db *store.DB

	// did runs a command, whose words in capitals are looked up, and fails unless it leaves these lines.
	did := func(line string, want ...string) (out string) {
		t.Helper()
		before := map[string]bool{}
		if db != nil {
			for _, l := range auditLines(t, db) {
				before[l.ID] = true
			}
		}
		args := strings.Fields(line + " -data DATA -as ada -reason because -json")
		for i, a := range args {
			if v, ok := known[a]; ok {
				args[i] = v
			}
		}
		done[wordsOf(meant(t, args...))] = true
		out, _, err := operateWith(t, secrets[0]+"\n", args...)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if db == nil {
			db = openStore(t, data)
		}
		var got []string
		for _, l := range auditLines(t, db) {
			if before[l.ID] {
				continue
			}
			got = append(got, l.Action)
			if l.Actor != "ada" || l.Reason != "because" || l.At.IsZero() || !json.Valid(l.Details) {
				t.Errorf("%s: got %+v, want the actor ada and the reason because", line, l)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the audit log has %q more, want %q", line, got, want)
		}
		return out
	}
	learn := func(out, key, name string) {
		t.Helper()
		var answer map[string]any
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		known[name], _ = answer[key].(string)
		if known[name] == "" {
			t.Fatalf("no %s in %s", key, out)
		}
	}

	did("db migrate", "db.migrate")
	known["CSV"], known["PRICES"] = write(t, "good.csv", good), write(t, "p.csv", "suffix,register,as_of\ncom,1234,2026-11-01\n")
	did("listing import CSV -env live", "listing.import")
	did("listing import CSV -env live -dry-run")
	did("pricing import PRICES", "pricing.import")
	known["ZONE"], known["LOGIN"] = write(t, "quarry.txt", "ember\nlantern\n"), write(t, "login", "ada\nczds-password\n")
	known["CZDS"] = zoneService(t)
	did("zone build ZONE -tld quarry", "zone.build")
	did("zone fetch -tld quarry -czds-login LOGIN -czds-url CZDS", "zone.fetch")
	did("zone fetch -tld quarry -czds-login LOGIN -czds-url CZDS") // has not changed
	secrets = append(secrets, "czds-password", "czds-token")
	did("account create -email ada@names.example", "account.create")
	did("account disable ada@names.example", "account.disable")
	did("account disable ada@names.example") // is disabled
	did("account enable ada@names.example", "account.enable")
	did("account enable ada@names.example")
	secrets = append(secrets, token.FindString(did("account link -email ada@names.example", "account.link")))
	secrets = append(secrets, token.FindString(did("account invite", "account.invite")))
	learn(did("partner create -name P", "partner.create"), "partner_id", "PARTNER")
	did("partner terms PARTNER -service-bp 1000", "partner.terms")
	did("partner approve PARTNER", "partner.approve")
	did("partner approve PARTNER") // is approved
	did("listing remove brewhaven.com -env live", "listing.remove")
	did("partner suspend PARTNER", "partner.suspend")
	did("partner resume PARTNER", "partner.resume")
	issued := did("credential create -partner PARTNER -env sandbox -scopes buy,webhook,search,broker,embed", "credential.create")
	learn(issued, "key_id", "KEY")
	learn(issued, "secret", "SECRET")
	did("sandbox seed", "sandbox.seed")

	base, api := partnerService(t, db, data)
	client, err := partnercli.NewClient(base, partnercli.Credential{KeyID: known["KEY"], Secret: known["SECRET"]})
	if err != nil {
		t.Fatal(err)
	}
	const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	send(t, client, "PUT", "/api/partner/webhooks", fmt.Sprintf(`{"url":"http://127.0.0.1:9/token-in-the-path","secret":%q}`, hookSecret))
	if l := auditLines(t, db)[0]; l.Actor != "partner "+known["PARTNER"] || l.Action != "webhook.register" || strings.Contains(string(l.Details), "token-in") {
		t.Errorf("the partner's webhook: got %+v", l)
	}
	for i, name := range []string{"FIRST", "SECOND", "THIRD"} {
		domain := []string{"brewhaven.example", "amberbay.example", "boldbay.example"}[i]
		answer := send(t, client, "POST", "/api/partner/v1/quotes", fmt.Sprintf(`{"domain":%q}`, domain))
		learn(answer, "quote_id", "QUOTE")
		learn(send(t, client, "POST", "/api/partner/v1/orders", fmt.Sprintf(`{"quote_id":%q}`, known["QUOTE"])), "public_id", name)
	}
	did("order hold FIRST", "order.hold")
	did("order clear FIRST", "order.clear")
	did("order start-transfer FIRST", "order.start-transfer")
	did("order confirm-transfer FIRST", "order.confirm-transfer")
	month := time.Now().UTC().Format("2006-01")
	did("settlement run -env sandbox -force -dry-run -period " + month)
	known["STATEMENT"] = regexp.MustCompile("stl_[0-9a-z]+").FindString(did("settlement run -env sandbox -force -period "+month, "settlement.close"))
	did("settlement run -env sandbox -force -period " + month) // is settled
	did("settlement mark-paid STATEMENT -reference wire-1", "settlement.mark-paid")
	accrue(t, db, known["PARTNER"], "bkc_1")
	did("payout create -partner PARTNER -env sandbox -dry-run")
	payout := regexp.MustCompile("pay_[0-9a-z]+")
	known["PAYOUT"] = payout.FindString(did("payout create -partner PARTNER -env sandbox", "payout.create"))
	did("payout create -partner PARTNER -env sandbox") // nothing is left
	did("payout fail PAYOUT", "payout.fail")
	known["PAYOUT"] = payout.FindString(did("payout create -partner PARTNER -env sandbox", "payout.create"))
	did("payout mark-paid PAYOUT -reference wire-2", "payout.mark-paid")
	did("partner affiliate -partner PARTNER -email ada@names.example", "partner.affiliate")
	const caseBody = `{"domain":"parked-acme.example","tier":"managed","buyer_email":"buyer@example.com","budget":500000}`
	learn(send(t, client, "POST", "/api/partner/v1/brokerage", caseBody), "case_id", "CASE")
	did("brokerage contact CASE -env sandbox", "brokerage.contact")
	did("brokerage negotiate CASE -env sandbox", "brokerage.negotiate")
	did("brokerage agree CASE -env sandbox -price-cents 450000", "brokerage.agree")
	did("brokerage complete CASE -env sandbox", "brokerage.complete")
	did("payout create -partner PARTNER -env sandbox", "payout.create") // of the share
	learn(send(t, client, "POST", "/api/partner/v1/brokerage", caseBody), "case_id", "CASE")
	did("brokerage close CASE -env sandbox", "brokerage.close")
	for _, line := range []string{"brokerage list -env sandbox", "brokerage show CASE -env sandbox"} {
		did(line)
	}
	did("order cancel SECOND", "order.cancel")
	did("order refund THIRD", "order.refund")
	session := send(t, client, "POST", "/api/partner/v1/checkout-session", `{"domain":"brightbay.example","return_url":"https://shop.example/a","cancel_url":"https://shop.example/b"}`)
	known["PAYMENT"] = payAtCheckout(t, api, session)
	did("payment list")
	did("payment show PAYMENT")
	did("payment dispute PAYMENT", "payment.disputed")
	did("payment chargeback PAYMENT", "order.charge-back")
	did("domain flag boldcraft.example", "domain.flag")
	did("domain flag boldcraft.example") // is flagged
	did("domain unflag boldcraft.example", "domain.unflag")
	var deliveries []struct {
		ID string `json:"delivery_id"`
	}
	if err := json.Unmarshal([]byte(did("webhook deliveries -partner PARTNER -env sandbox")), &deliveries); err != nil || len(deliveries) == 0 {
		t.Fatalf("deliveries: %v, %v", deliveries, err)
	}
	known["DELIVERY"] = deliveries[0].ID
	did("webhook redeliver DELIVERY -partner PARTNER -env sandbox", "webhook.redeliver")
	learn(did("credential rotate KEY", "credential.rotate"), "secret", "SECOND_SECRET")
	did("credential revoke KEY", "credential.revoke")
	for _, line := range []string{"partner list", "credential list", "order list", "order show FIRST", "settlement list", "settlement show STATEMENT", "payout list", "ledger check", "audit", "db check"} {
		did(line)
	}
	did("key rotate", "key.reseal", "key.rotate")
	did("key list")
	known["COPY"] = filepath.Join(t.TempDir(), "copy.db")
	did("db backup COPY")
	did("account delete ada@names.example", "account.delete")
	restored := t.TempDir()
	if _, _, err := operate(t, "db", "restore", known["COPY"], "-data", restored, "-as", "ada"); err != nil {
		t.Fatal(err)
	}
	done["db restore"] = true
	if l := auditLines(t, openStore(t, restored))[0]; l.Actor != "ada" || l.Action != "db.restore" {
		t.Errorf("db restore: got %+v", l)
	}

	for _, c := range leaves(new(program).root()) {
		words := wordsOf(c)
		if !done[words] && !slices.Contains(reading, words) && c.GroupID != "more" && c.Parent().GroupID != "more" {
			t.Errorf("%s is not in this test: does it change something?", words)
		}
	}
	secrets = append(secrets, known["SECRET"], known["SECOND_SECRET"], hookSecret, "token-in-the-path")
	for _, l := range auditLines(t, db) {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if secret == "" || strings.Contains(string(text), secret) {
				t.Errorf("a secret (%d bytes) stands in %s", len(secret), l.Action)
			}
		}
	}
}

// token is the token of a link.
var token = regexp.MustCompile(`nw_[A-Za-z0-9_-]{20,}`)

func auditLines(t *testing.T, db *store.DB) []audit.Line {
	t.Helper()
	lines, err := audit.Lines(t.Context(), db, audit.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// send signs a request and fails the test unless it succeeds.
func send(t *testing.T, client *partnercli.Client, method, target, body string) string {
	t.Helper()
	answer, err := client.Do(t.Context(), partnercli.Request{Method: method, Target: target, Body: []byte(body), IdempotencyKey: store.NewID("idem")})
	if err != nil || answer.Status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s, %v", method, target, answer.Status, answer.Body, err)
	}
	return string(answer.Body)
}

// A command that fails leaves no line.
func TestWhatFailsIsNotAudited(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	db := openStore(t, data)
	for _, line := range []string{
		"listing import " + write(t, "mixed.csv", mixed) + " -env live", "account link -email nobody@names.example",
		"partner suspend prt_none", "domain flag a..b", "order cancel ord_none",
	} {
		if _, _, err := operate(t, append(strings.Fields(line), "-data", data)...); err == nil {
			t.Errorf("%s: got no error", line)
		}
	}
	if lines := auditLines(t, db); len(lines) != 1 || lines[0].Action != "db.migrate" {
		t.Errorf("got %+v, want that of the store's beginning", lines)
	}
}

func TestAuditFilters(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	openStore(t, data)
	for _, line := range []string{"domain flag one.example -as ada", "domain unflag one.example -as bob", "partner create -name P -as bob"} {
		if _, _, err := operate(t, append(strings.Fields(line), "-data", data)...); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		flags string
		want  []string
	}{
		{"", []string{"partner.create", "domain.unflag", "domain.flag", "db.migrate"}},
		{"-actor bob", []string{"partner.create", "domain.unflag"}},
		{"-action domain", []string{"domain.unflag", "domain.flag"}},
		{"-action domain.flag -subject one.example", []string{"domain.flag"}},
		{"-since 1d -limit 1", []string{"partner.create"}},
		{"-since 2199-01-01", nil},
	} {
		out, _, err := operate(t, append(strings.Fields("audit -json "+c.flags), "-data", data)...)
		var lines []struct{ Action string }
		if err != nil || json.Unmarshal([]byte(out), &lines) != nil {
			t.Fatalf("%s: %v: %s", c.flags, err, out)
		}
		var got []string
		for _, l := range lines {
			got = append(got, l.Action)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("audit %s: got %q, want %q", c.flags, got, c.want)
		}
	}
	out, _, err := operate(t, "audit", "-data", data)
	if err != nil || !strings.Contains(out, "domain.unflag") || !strings.Contains(out, `"name":"P"`) {
		t.Errorf("the table: %s, %v", out, err)
	}
	for _, bad := range []string{"-since yesterday", "-since -1h", "-since 5w", "-limit 0", "-limit 1001"} {
		if _, _, err := operate(t, append(strings.Fields("audit "+bad), "-data", data)...); err == nil || !strings.Contains(err.Error(), strings.Fields(bad)[0]) {
			t.Errorf("audit %s: got %v", bad, err)
		}
	}
}

// accrue gives a partner a share of a brokerage case in the sandbox, which can be paid out at once.
func accrue(t *testing.T, db *store.DB, partner, brokerageCase string) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx store.Tx) error {
		_, err := ledger.Accrue(t.Context(), tx, ledger.Commission{
			Owner: ledger.Owner{Partner: partner, Environment: "SANDBOX"}, Source: ledger.Brokerage, Case: brokerageCase,
			Amount: money.USD(1234), At: time.Now(),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// payAtCheckout pays a checkout session by a card that may be disputed, and returns the id of the captured payment.
func payAtCheckout(t *testing.T, api *partner.API, session string) string {
	t.Helper()
	var made struct {
		URL string `json:"checkout_url"`
	}
	if err := json.Unmarshal([]byte(session), &made); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(made.URL)
	if err != nil {
		t.Fatal(err)
	}
	svc, token := api.Checkout(), u.Query().Get("pt")
	page, err := svc.View(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = svc.Pay(t.Context(), token, checkout.Form{Offer: page.Offer, Email: "buyer@example.com"}); err != nil {
		t.Fatal(err)
	}
	id := path.Base(page.Page)
	if _, err := api.TestPayments().Pay(t.Context(), id, testprovider.Card{Number: "4000000000000259", Expiry: "12/34", CVC: "123"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if p, err := svc.Payments().Advance(t.Context(), id); err == nil && p.State == payment.Captured && p.Todo == payment.ToNothing {
			return id
		}
	}
	t.Fatal("the payment is not captured")
	return ""
}
