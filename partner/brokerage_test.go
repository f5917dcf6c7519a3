package partner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
)

func withBase(o *options) { o.BaseURL = "https://names.example" }

const caseBody = `{"domain":"%s","tier":"self_serve","buyer_email":"buyer@shop.example","budget":500001}`

// caseOf opens a case and returns it.
func (s *testServer) caseOf(domain string) (c brokerage.Case) {
	s.Helper()
	a := s.send(s.post(root+"/brokerage", fmt.Sprintf(caseBody, domain)))
	if a.status != http.StatusCreated {
		s.Fatalf("open a case: %d %s", a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &c); err != nil {
		s.Fatal(err)
	}
	return c
}

func TestBrokerage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		a := s.send(s.get(root + "/brokerage/eligibility?domain=active-acme.example"))
		if a.status != 200 || a.body != `{"domain":"active-acme.example","eligible":false,"reasons":["active_site"]}` {
			t.Errorf("eligibility: %d %s", a.status, a.body)
		}
		a = s.send(s.get(root + "/brokerage/eligibility?domain=brewhaven.example"))
		if a.status != 200 || a.body != `{"domain":"brewhaven.example","eligible":false,"reasons":["listed"]}` {
			t.Errorf("eligibility of a listed name: %d %s", a.status, a.body)
		}
		a = s.send(s.get(root + "/brokerage/eligibility?domain=parked-acme.example"))
		if a.status != 200 || a.body != `{"domain":"parked-acme.example","eligible":true,"reasons":[]}` {
			t.Errorf("eligibility of a parked name: %d %s", a.status, a.body)
		}
		c := s.caseOf("parked-acme.example")
		again := s.send(s.post(root+"/brokerage", fmt.Sprintf(caseBody, "parked-acme.example")))
		if again.status != http.StatusConflict || !strings.Contains(again.body, `"details":[{"field":"domain","reason":"open_case"}]`) {
			t.Errorf("a second case: %d %s", again.status, again.body)
		}
		for _, want := range []brokerage.State{brokerage.Contacted, brokerage.Negotiating, brokerage.Agreed, brokerage.Completed} {
			a := s.send(s.post(root+"/sandbox/brokerage/"+c.CaseID+"/advance", ""))
			if a.status != 200 || !strings.Contains(a.body, `"status":"`+string(want)+`"`) {
				t.Fatalf("advance to %s: %d %s", want, a.status, a.body)
			}
		}
		if a := s.send(s.post(root+"/sandbox/brokerage/"+c.CaseID+"/advance", "")); a.status != http.StatusConflict {
			t.Errorf("beyond the end: %d %s", a.status, a.body)
		}
		a = s.send(s.get(root + "/events"))
		want := `"data":{"case":{"case_id":"` + c.CaseID + `","domain":"parked-acme.example","tier":"self_serve","status":"COMPLETED","price_cents":500001,"partner_share_cents":15000,"currency":"USD"}}`
		if !strings.Contains(a.body, `"type":"brokerage.case_completed"`) || !strings.Contains(a.body, want) {
			t.Errorf("events: %s", a.body)
		}
		a = s.send(s.get(root + "/brokerage/" + c.CaseID))
		var read brokerage.Case
		if err := json.Unmarshal([]byte(a.body), &read); err != nil || read.ProgressURL != c.ProgressURL || len(read.Timeline) != 5 {
			t.Errorf("the case: %d %s", a.status, a.body)
		}
		a = s.send(s.get(root + "/brokerage?status=COMPLETED"))
		if a.status != 200 || !strings.Contains(a.body, c.CaseID) || strings.Contains(a.body, "progress_url") {
			t.Errorf("the list: %d %s", a.status, a.body)
		}
		day := s.clock.Now().UTC().Format(time.DateOnly)
		if a := s.send(s.get(root + "/brokerage?to=" + day)); a.status != 200 || strings.Contains(a.body, c.CaseID) {
			t.Errorf("the list before today: %d %s", a.status, a.body)
		}
	}, withBase)
}

// The progress link is in the first answer and in each repetition, and nowhere in the database.
func TestProgressLinkIsNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		r := s.post(root+"/brokerage", fmt.Sprintf(caseBody, "parked-acme.example")).keyed("one")
		first := s.send(r)
		r2 := s.post(root+"/brokerage", fmt.Sprintf(caseBody, "parked-acme.example")).keyed("one")
		second := s.send(r2)
		if first.status != 201 || second.status != 201 || first.body != second.body || second.header.Get("Idempotency-Replayed") != "true" {
			t.Fatalf("first %d %s, repeated %d %s", first.status, first.body, second.status, second.body)
		}
		var c brokerage.Case
		if err := json.Unmarshal([]byte(first.body), &c); err != nil {
			t.Fatal(err)
		}
		token := path.Base(c.ProgressURL)
		if len(token) != 22 {
			t.Fatalf("the token %q", token)
		}
		err := s.db.Read(t.Context(), func(tx store.Tx) error {
			for _, table := range []string{"partner_answers", "brokerage_cases", "brokerage_timeline", "audit_log", "events", "webhook_deliveries"} {
				rows, err := tx.Query(t.Context(), "SELECT * FROM "+table)
				if err != nil {
					return err
				}
				columns, _ := rows.Columns()
				for rows.Next() {
					values, to := make([]any, len(columns)), make([]any, len(columns))
					for i := range values {
						to[i] = &values[i]
					}
					if err := rows.Scan(to...); err != nil {
						return err
					}
					for i, v := range values {
						if b, ok := v.([]byte); ok {
							v = string(b)
						}
						if strings.Contains(fmt.Sprint(v), token) {
							t.Errorf("%s.%s holds the token", table, columns[i])
						}
					}
				}
				if err := rows.Err(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.log.String(), token) {
			t.Error("the log holds the token")
		}
	}, withBase)
}

// Every field of every endpoint with what it does not take.
func TestBrokerageBadInput(t *testing.T) {
	t.Parallel()
	s := openSQLite(t, withBase)
	c := s.caseOf("parked-acme.example")
	for body, field := range map[string]string{
		`{"tier":"managed","buyer_email":"a@b.example","budget":1}`:                                                     "domain",
		`{"domain":"","tier":"managed","buyer_email":"a@b.example","budget":1}`:                                         "domain",
		`{"domain":"not a name","tier":"managed","buyer_email":"a@b.example","budget":1}`:                               "domain",
		`{"domain":"example","tier":"managed","buyer_email":"a@b.example","budget":1}`:                                  "domain",
		`{"domain":"shop.parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":1}`:                    "domain",
		`{"domain":"127.0.0.1","tier":"managed","buyer_email":"a@b.example","budget":1}`:                                "domain",
		`{"domain":"parked-b.example","buyer_email":"a@b.example","budget":1}`:                                          "tier",
		`{"domain":"parked-b.example","tier":"gold","buyer_email":"a@b.example","budget":1}`:                            "tier",
		`{"domain":"parked-b.example","tier":"managed","budget":1}`:                                                     "buyer_email",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"nobody","budget":1}`:                              "buyer_email",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":5,"budget":1}`:                                     "buyer_email",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example"}`:                                    "budget",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":0}`:                         "budget",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":1e2}`:                       "budget",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":"1"}`:                       "budget",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":99999999999999999999}`:      "budget",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":1,"currency":"usd dollar"}`: "currency",
		`{"domain":"parked-b.example","tier":"managed","buyer_email":"a@b.example","budget":1,"status":"AGREED"}`:       "status",
	} {
		a := s.send(s.post(root+"/brokerage", body))
		if a.status != 400 || !strings.Contains(a.body, `"field":"`+field) {
			t.Errorf("%s: got %d %s, want a fault of %s", body, a.status, a.body, field)
		}
	}
	for target, want := range map[string]int{
		"/brokerage/eligibility": 400, "/brokerage/eligibility?domain=": 400, "/brokerage/eligibility?domain=a b": 400,
		"/brokerage/eligibility?domain=a.example&more=1": 400, "/brokerage?status=DONE": 400, "/brokerage?from=yesterday": 400,
		"/brokerage?to=2026-13-01": 400, "/brokerage?limit=0": 400, "/brokerage?limit=101": 400, "/brokerage?cursor=AAAA": 400,
		"/brokerage/bkc_nothing": 404,
	} {
		target = strings.ReplaceAll(target, " ", "%20")
		if a := s.send(s.get(root + target)); a.status != want {
			t.Errorf("%s: got %d %s, want %d", target, a.status, a.body, want)
		}
	}
	// Another partner, the other environment, and credentials without the scope.
	for what, by := range map[string]signer{
		"another partner": s.another(market.Sandbox, "broker,report"), "LIVE": s.credential(s.partner.ID, market.Live, "broker,report"),
	} {
		if a := s.send(s.get(root + "/brokerage/" + c.CaseID).signedBy(by)); a.status != 404 {
			t.Errorf("%s sees the case: %d %s", what, a.status, a.body)
		}
		if a := s.send(s.get(root + "/brokerage").signedBy(by)); a.status != 200 || strings.Contains(a.body, c.CaseID) {
			t.Errorf("%s lists the case: %d %s", what, a.status, a.body)
		}
		if a := s.send(s.post(root+"/sandbox/brokerage/"+c.CaseID+"/close", "").signedBy(by)); a.status != 404 {
			t.Errorf("%s closes the case: %d %s", what, a.status, a.body)
		}
	}
	if a := s.send(s.post(root+"/brokerage", `{"domain":"acme.com","tier":"managed","buyer_email":"a@b.example","budget":1}`).
		signedBy(s.credential(s.partner.ID, market.Live, "broker"))); a.status != 409 || !strings.Contains(a.body, "undetermined") {
		t.Errorf("a case of LIVE without a registry: %d %s", a.status, a.body)
	}
}
