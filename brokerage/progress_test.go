package brokerage_test

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

func tokenOf(c brokerage.Case) string { return path.Base(c.ProgressURL) }

func unlimited(cfg *brokerage.Config) { cfg.NoLimits = true }

func TestProgress(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		c := f.mustOpen("parked-acme.example", brokerage.SelfServe)
		f.mustAct(c.CaseID, toAgreed(90_000)[:2]...)
		for _, cents := range []int64{50_000, 60_000} {
			if err := f.Offer(f.Context(), tokenOf(c), cents, "  It is\r\nfor my shop. "); err != nil {
				f.Fatal(err)
			}
		}
		p, err := f.Progress(f.Context(), tokenOf(c))
		if err != nil {
			f.Fatal(err)
		}
		text := fmt.Sprintf("%+v", p)
		for _, secret := range []string{"prt_", "registrant", "9 000", "buyer@", c.CaseID} {
			if strings.Contains(text, secret) {
				f.Errorf("the progress page tells %q: %s", secret, text)
			}
		}
		if !p.MayOffer || p.Domain != "parked-acme.example" || !p.Test || len(p.Offers) != 2 || p.Offers[0].Amount != (money.Amount{Cents: 60_000, Currency: "EUR"}) ||
			p.Offers[0].Message != "It is\nfor my shop." || p.Timeline[len(p.Timeline)-1].Note != "The buyer offered 600.00 EUR." {
			f.Errorf("progress %+v", p)
		}
		f.mustAct(c.CaseID, brokerage.Change{Action: brokerage.Agree, PriceCents: 90_000})
		if p, err = f.Progress(f.Context(), tokenOf(c)); err != nil || p.MayOffer || p.Price.Cents != 90_000 {
			f.Errorf("after the agreement: %+v, %v", p, err)
		}
		f.wantCode("an offer after the agreement", f.Offer(f.Context(), tokenOf(c), 1, ""), fault.Conflict)
		managed := f.mustOpen("parked-two.example", brokerage.Managed)
		f.wantCode("an offer in a managed case", f.Offer(f.Context(), tokenOf(managed), 1, ""), fault.Conflict)
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		c := f.mustOpen("parked-acme.example", brokerage.SelfServe)
		good := tokenOf(c)
		if len(good) != 22 {
			f.Errorf("a token of %d characters, want 22 for 128 bits", len(good))
		}
		last := good[:21] + string("AQgw"[(strings.IndexByte("AQgw", good[21])+1)%4])
		for what, text := range map[string]string{
			"none": "", "short": good[:21], "long": good + "A", "another": last, "the id": c.CaseID, "padded": good + "==", "spaces": " " + good[1:],
			"the digest's length": strings.Repeat("A", 43), "another spelling of the end": good[:21] + string(good[21]+1),
		} {
			_, err := f.Progress(f.Context(), text)
			f.wantCode(what, err, fault.NotFound)
			f.wantCode("an offer with "+what, f.Offer(f.Context(), text, 100, ""), fault.NotFound)
		}
		// The database holds the token nowhere in clear, not even as bytes.
		var raw []byte
		err := f.db.Read(f.Context(), func(tx store.Tx) error {
			var digest, sealed []byte
			err := tx.QueryRow(f.Context(), `SELECT token_digest, token_sealed FROM brokerage_cases WHERE id = $1`, c.CaseID).Scan(&digest, &sealed)
			raw = append(append([]byte{}, digest...), sealed...)
			return err
		})
		if err != nil || bytes.Contains(raw, []byte(good)) || len(raw) < 32+16 {
			f.Errorf("the token is stored in clear: %v", err)
		}
		if err := f.db.Tx(f.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(f.Context(), `UPDATE brokerage_cases SET token_sealed = $1`, raw[:40])
			return err
		}); err != nil {
			f.Fatal(err)
		}
		if _, err := f.Case(f.Context(), ada, c.CaseID); err == nil || strings.Contains(err.Error(), good) {
			f.Errorf("a case whose token cannot be opened: %v", err)
		}
	})
}

func TestOffersAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		c := f.mustOpen("parked-acme.example", brokerage.SelfServe)
		for what, x := range map[string]struct {
			cents   int64
			message string
		}{
			"nothing":             {0, ""},
			"less than nothing":   {-5, ""},
			"all there is":        {money.MaxCents + 1, ""},
			"a long message":      {1, strings.Repeat("é", brokerage.MaxNote+1)},
			"control characters":  {1, "a\x00b"},
			"an escape sequence":  {1, "\x1b[2J"},
			"text that turns":     {1, "a\u202eb"},
			"bytes that are none": {1, "a\xffb"},
		} {
			f.wantCode(what, f.Offer(f.Context(), tokenOf(c), x.cents, x.message), fault.Validation)
		}
		for i := range brokerage.MaxOfferBurst {
			f.wantCode("an offer", f.Offer(f.Context(), tokenOf(c), int64(100+i), "<script>alert(1)</script>"), "")
			f.wantCode("the same again", f.Offer(f.Context(), tokenOf(c), int64(100+i), "<script>alert(1)</script>"), "")
		}
		f.wantCode("one more in the hour", f.Offer(f.Context(), tokenOf(c), 1000, ""), fault.RateLimited)
	})
	each(t, func(f *fixture) {
		c := f.mustOpen("parked-acme.example", brokerage.SelfServe)
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() { f.Offer(f.Context(), tokenOf(c), int64(100+i), "") })
		}
		all.Wait()
		for i := range 30 {
			f.Offer(f.Context(), tokenOf(c), int64(1000+i), "")
		}
		offers, err := f.Offers(f.Context(), c.CaseID)
		if err != nil || len(offers) != brokerage.MaxOffers {
			f.Errorf("%d offers, %v, want %d", len(offers), err, brokerage.MaxOffers)
		}
		p, err := f.Progress(f.Context(), tokenOf(c))
		if err != nil || p.MayOffer || len(p.Timeline) != brokerage.MaxOffers+1 {
			f.Errorf("after all offers: may %v, %d steps, %v", p.MayOffer, len(p.Timeline), err)
		}
		f.wantCode("one more", f.Offer(f.Context(), tokenOf(c), 5, ""), fault.Conflict)
	}, unlimited)
}
