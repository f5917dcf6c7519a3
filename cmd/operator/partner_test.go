package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// The commands of a partner's life cycle, and their entries in the audit log.
func TestPartnerCommands(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	do := func(into any, args ...string) {
		t.Helper()
		out, _, err := operate(t, append(args, "-data", data, "-as", "ada", "-json")...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	var ignored any
	var made struct {
		ID string `json:"partner_id"`
	}
	do(&made, "partner", "create", "-name", "Example Registrar", "-review-limit-cents", "500000")
	var first, second struct {
		KeyID  string `json:"key_id"`
		Secret string
	}
	do(&first, "credential", "create", "-partner", made.ID, "-env", "sandbox", "-scopes", "buy,search")
	do(&second, "credential", "rotate", first.KeyID, "-overlap", "1h")
	if second.KeyID != first.KeyID || second.Secret == first.Secret || !strings.HasPrefix(second.Secret, "sk_sandbox_") {
		t.Errorf("rotate: got another key or the same secret: %s, %s", first.KeyID, second.KeyID)
	}
	do(&ignored, "partner", "terms", made.ID, "-service-bp", "1000")
	do(&ignored, "partner", "suspend", made.ID, "-reason", "unpaid")
	var partners []partnerRow
	do(&partners, "partner", "list")
	if len(partners) != 1 || partners[0].ReviewLimitCents != 500000 || partners[0].ServiceBP != 1000 || partners[0].Suspended.IsZero() {
		t.Errorf("partner list: got %+v, want one with its terms, suspended", partners)
	}
	do(&ignored, "partner", "resume", made.ID)
	do(&ignored, "credential", "revoke", first.KeyID, "-reason", "leaked")
	var credentials []credentialRow
	do(&credentials, "credential", "list", "-partner", made.ID)
	if len(credentials) != 1 || strings.Join(credentials[0].Scopes, " ") != "search buy" || credentials[0].Revoked.IsZero() {
		t.Errorf("credential list: got %+v, want one with its scopes in order, revoked", credentials)
	}
	var seeded listingReport
	do(&seeded, "sandbox", "seed")
	if seeded.Created == 0 || len(seeded.Bad) != 0 {
		t.Errorf("sandbox seed: got %+v", seeded)
	}
	do(&ignored, "domain", "flag", "brewhaven.example", "-reason", "a dispute")
	do(&ignored, "domain", "unflag", "brewhaven.example")
	var report struct{ Violations []any }
	do(&report, "ledger", "check")
	if report.Violations == nil || len(report.Violations) != 0 {
		t.Errorf("ledger check: got %v, want an empty list", report.Violations)
	}
	var records []struct {
		Actor, Action, Reason string
		Details               json.RawMessage
	}
	do(&records, "audit", "-limit", "100")
	recorded := map[string]string{}
	for _, r := range records {
		if r.Actor != "ada" {
			t.Errorf("%s was done by %q, want ada", r.Action, r.Actor)
		}
		recorded[r.Action] = r.Reason + string(r.Details)
	}
	for action, reason := range map[string]string{"partner.suspend": "unpaid", "credential.revoke": "leaked", "partner.terms": `"before":`, "credential.rotate": "1h"} {
		if got, ok := recorded[action]; !ok || !strings.Contains(got, reason) {
			t.Errorf("the audit log says %q of %s, %t; want %q", got, action, ok, reason)
		}
	}
}

func TestPartnerCommandsRefuse(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	for _, test := range []struct{ line, want string }{
		{"partner create", "-name is required"},
		{"partner create -name x -service-bp 10001", "service_bp must be"},
		{"partner terms prt_none -service-bp 1", "no such partner"},
		{"partner terms prt_none", "say what to change"},
		{"partner create -name x -review-limit-cents -5", "review_limit_cents must not be negative"},
		{"credential rotate nw_live_none -overlap -1h", "-overlap must not be negative"},
		{"order refund ord_none -dry-run", "order refund takes no -dry-run"},
		{"sandbox seed -env live", "sandbox seed takes no -env"},
		{"credential list -scopes buy", "credential list takes no -scopes; it takes -partner"},
		{"partner suspend prt_none", "no such partner"},
		{"credential create -partner prt_none -scopes buy", "-env must be"},
		{"credential create -env live -scopes buy", "-partner and -scopes are required"},
		{"credential create -env live -partner prt_none -scopes buy", "no such partner"},
		{"credential create -env live -partner prt_none -scopes steal", "scopes must be"},
		{"credential rotate nw_live_none", "no such credential"},
		{"credential revoke nw_live_none", "no such credential"},
		{"order show ord_none", "no such order"},
		{"order refund ord_none", "no such order"},
		{"order list -domain a..b", "-domain"},
		{"domain flag a..b", "the name"},
		{"webhook deliveries -env live", "-partner is required"},
		{"webhook redeliver dlv_none -partner prt_none -env live", "no"},
	} {
		t.Run(test.line, func(t *testing.T) {
			out, _, err := operate(t, append(strings.Fields(test.line), "-data", data)...)
			var refused usageError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || out != "" {
				t.Errorf("got %v, %q; want one line with %q", err, out, test.want)
			}
		})
	}
}
