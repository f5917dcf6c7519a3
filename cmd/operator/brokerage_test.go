package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// openCase opens a case as a running service would.
func (s *testStore) openCase(partner, domain string) (c brokerage.Case, offer func(cents int64, message string)) {
	s.Helper()
	file := filepath.Join(s.flags[1], seal.FileName)
	if len(s.flags) > 2 {
		file = s.flags[3]
	}
	keys, err := seal.Load(file, nil)
	if err != nil {
		s.Fatal(err)
	}
	cases := wiring.New(wiring.Config{
		DB: s.db, Keys: keys, Now: time.Now, Logger: slog.New(slog.DiscardHandler), BaseURL: "https://names.example",
		Author: func(event.Stream) audit.Author { return audit.Author{} },
	}).Cases
	err = s.db.Tx(s.Context(), func(tx store.Tx) (err error) {
		c, err = cases.Open(s.Context(), tx, brokerage.Party{Partner: partner, Environment: "SANDBOX"}, brokerage.Request{
			Domain: fqdn.MustParse(domain), Tier: brokerage.SelfServe, BuyerEmail: "buyer@shop.example", Budget: money.USD(90_000),
		}, time.Now())
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return c, func(cents int64, message string) {
		s.Helper()
		if err := cases.Offer(context.Background(), c.ProgressURL[strings.LastIndexByte(c.ProgressURL, '/')+1:], cents, message); err != nil {
			s.Fatal(err)
		}
	}
}

func TestBrokerageCommands(t *testing.T) {
	t.Parallel()
	eachStore(t, func(s *testStore) {
		var made struct {
			ID string `json:"partner_id"`
		}
		s.do(&made, "partner create -name Broker")
		c, offer := s.openCase(made.ID, "parked-acme.example")
		offer(50_000, "for\nmy shop")
		var rows []caseRow
		if s.do(&rows, "brokerage list"); len(rows) != 0 {
			s.Errorf("cases of LIVE: %+v", rows)
		}
		if s.do(&rows, "brokerage list -env sandbox -status open"); len(rows) != 1 || rows[0].CaseID != c.CaseID || rows[0].Partner != made.ID {
			s.Errorf("cases of the sandbox: %+v", rows)
		}
		var one caseRow
		s.do(&one, "brokerage contact "+c.CaseID+" -env sandbox -note registrant -public-note written")
		if one.Status != brokerage.Contacted || one.Timeline[2].Note != "written" || one.Timeline[2].Private != "registrant" {
			s.Errorf("contact: %+v", one)
		}
		s.do(&one, "brokerage negotiate "+c.CaseID)
		s.refused("brokerage agree "+c.CaseID, "-price-cents is required")
		s.refused("brokerage close "+c.CaseID, "-reason is required")
		s.refused("brokerage contact "+c.CaseID+" -env live", "the case is of sandbox")
		if _, _, err := operate(s.T, append([]string{"brokerage", "complete", c.CaseID}, s.flags...)...); err == nil || !strings.Contains(err.Error(), "NEGOTIATING, which does not allow complete") {
			s.Errorf("complete too early: %v", err)
		}
		s.do(&one, "brokerage agree "+c.CaseID+" -price-cents 88888")
		s.do(&one, "brokerage complete "+c.CaseID+" -reason contract")
		if one.Status != brokerage.Completed || one.PriceCents != 88_888 || one.PartnerShareCents != 2_667 { // 20 % of 133.33
			s.Errorf("complete: %+v", one)
		}
		s.do(&one, "brokerage show "+c.CaseID)
		if one.BuyerEmail != "buyer@shop.example" || len(one.Offers) != 1 || one.Offers[0].Message != "for\nmy shop" || one.ProgressURL != "" {
			s.Errorf("show: %+v", one)
		}
		if got := s.table("brokerage show " + c.CaseID); !strings.Contains(got, "for?my shop") || strings.Contains(got, "/brokerage/") {
			s.Errorf("the table: %s", got)
		}
		var lines []audit.Line
		s.do(&lines, "audit -action brokerage -subject "+c.CaseID)
		var actions []string
		for _, l := range lines {
			actions = append(actions, l.Action)
		}
		if got := strings.Join(actions, " "); got != "brokerage.complete brokerage.agree brokerage.negotiate brokerage.contact brokerage.offer brokerage.open" ||
			cmp.Or(lines[0].Reason, "-") != "contract" {
			s.Errorf("the audit log: %s, %+v", got, lines[0])
		}
	})
}

func TestAffiliateCommand(t *testing.T) {
	t.Parallel()
	eachStore(t, func(s *testStore) {
		var made struct {
			ID string `json:"partner_id"`
		}
		s.do(&made, "partner create -name Referrer")
		var ignored any
		s.do(&ignored, "account create -email ada@names.example")
		s.refused("partner affiliate -partner "+made.ID, "-partner and -email are required")
		s.do(&ignored, "partner affiliate -partner "+made.ID+" -email ADA@names.example")
		for line, want := range map[string]string{
			"partner affiliate -partner prt_none -email ada@names.example":        "there is no such partner",
			"partner affiliate -partner " + made.ID + " -email bob@names.example": "no such account",
		} {
			if _, _, err := operate(s.T, append(strings.Fields(line), s.flags...)...); err == nil || !strings.Contains(err.Error(), want) {
				s.Errorf("%s: %v, want %q", line, err, want)
			}
		}
		linked := func() (n int) {
			s.Helper()
			if err := s.db.Read(s.Context(), func(tx store.Tx) error {
				return tx.QueryRow(s.Context(), `SELECT COUNT(*) FROM referral_affiliates`).Scan(&n)
			}); err != nil {
				s.Fatal(err)
			}
			return n
		}
		if n := linked(); n != 1 {
			s.Errorf("%d affiliates", n)
		}
		s.do(&ignored, "account delete ada@names.example")
		if n := linked(); n != 0 {
			s.Errorf("%d affiliates after the account was deleted", n)
		}
	})
}
