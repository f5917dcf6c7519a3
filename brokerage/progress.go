package brokerage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// ProgressPath is the path of progress pages; the token follows.
const ProgressPath = "/brokerage/"

// A token names a progress page: 128 random bits. The database holds its digest, by which it is found, and the token itself
// sealed, so that the partner can be shown the link again.
type token [16]byte

func newToken() (t token) {
	rand.Read(t[:])
	return t
}

func (t token) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

func (t token) digest() []byte {
	sum := sha256.Sum256(t[:])
	return sum[:]
}

// parseToken reads what String writes, in that spelling only.
func parseToken(text string) (t token, ok bool) {
	if len(text) != base64.RawURLEncoding.EncodedLen(len(t)) {
		return t, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return t, false
	}
	return token(raw), true
}

func tokenContext(caseID string) []byte { return []byte("brokerage progress\n" + caseID) }

// Sealed lists the column that holds the sealed tokens.
func Sealed() store.Sealed {
	return store.Sealed{
		Table: "brokerage_cases", Column: "token_sealed", Key: []string{"id"},
		Context: func(key []any) []byte { return tokenContext(fmt.Sprint(key[0])) },
	}
}

func (s *Service) progressURL(t token) string { return s.cfg.BaseURL + ProgressPath + t.String() }

// ProgressURL returns the progress link of a case, of whatever party. It fails with [sql.ErrNoRows] for an unknown case.
func (s *Service) ProgressURL(ctx context.Context, tx store.Tx, id string) (string, error) {
	var sealed []byte
	if err := tx.QueryRow(ctx, `SELECT token_sealed FROM brokerage_cases WHERE id = $1`, id).Scan(&sealed); err != nil {
		return "", err
	}
	raw, err := s.cfg.Keys.Open(sealed, tokenContext(id))
	if err != nil || len(raw) != len(token{}) {
		return "", fmt.Errorf("open the progress link of case %s: %w", id, err)
	}
	return s.progressURL(token(raw)), nil
}

// Progress is what the buyer's page shows of a case. It holds nothing about the owner or the partner.
type Progress struct {
	Domain   string // A-label form
	Status   State
	Price    money.Amount // agreed; zero: none yet
	Timeline []Step
	Offers   []Offer // of the buyer, the newest first
	MayOffer bool
	Currency string
	Test     bool // of the sandbox
}

// An Offer is what a buyer offers.
type Offer struct {
	At      time.Time
	Amount  money.Amount
	Message string
}

// Bounds of offers.
const (
	MaxOffers     = 20        // a case
	MaxOfferBurst = 5         // within OfferWindow
	OfferWindow   = time.Hour // by the real clock
)

// Progress finds the case of a token. It fails with [fault.NotFound] for anything that is not the token of a case.
func (s *Service) Progress(ctx context.Context, text string) (Progress, error) {
	t, ok := parseToken(text)
	if !ok {
		return Progress{}, errNoPage()
	}
	var p Progress
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		c, err := selectCaseOf(ctx, tx, t.digest())
		if err != nil {
			return err
		}
		p, err = progressOf(ctx, tx, c)
		return err
	})
	if store.IsNoRows(err) {
		return Progress{}, errNoPage()
	}
	return p, fault.Wrap("read a case for its buyer", err)
}

func errNoPage() error {
	return fault.New(fault.NotFound, "There is no such page").WithHint("open the link as you were sent it")
}

func progressOf(ctx context.Context, tx store.Tx, c Case) (Progress, error) {
	p := Progress{Domain: c.Domain, Status: c.Status, Currency: c.Currency, Test: c.Environment == sandbox}
	if c.Status == Agreed || c.Status == Completed {
		p.Price = c.price()
	}
	var err error
	if p.Timeline, err = selectSteps(ctx, tx, c.CaseID); err != nil {
		return Progress{}, err
	}
	for i := range p.Timeline {
		p.Timeline[i].Private = ""
	}
	if c.Tier != SelfServe {
		return p, nil
	}
	if p.Offers, err = selectOffers(ctx, tx, c.CaseID); err != nil {
		return Progress{}, err
	}
	p.MayOffer = c.takesOffers() && len(p.Offers) < MaxOffers
	return p, nil
}

// takesOffers reports whether the buyer may make one as the case stands.
func (c Case) takesOffers() bool {
	return c.Tier == SelfServe && (c.Status == Open || c.Status == Contacted || c.Status == Negotiating)
}

// Offer records an offer of the buyer who has the token, and tells it in the timeline, without the message. The same offer twice
// in a row is one. It fails with [fault.NotFound] as [Service.Progress] does, with [fault.Validation] on amount or message,
// with [fault.Conflict] where the case takes no offers, and with [fault.RateLimited].
func (s *Service) Offer(ctx context.Context, text string, cents int64, message string) error {
	t, ok := parseToken(text)
	if !ok {
		return errNoPage()
	}
	message = strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n")) // as forms send line feeds
	switch {
	case cents < 1 || cents > money.MaxCents:
		return fault.Invalid("amount", "must be an amount such as 1200 or 1200.50")
	case utf8.RuneCountInString(message) > MaxNote || !plainText(message, true):
		return fault.Invalid("message", "must be at most %d characters without control characters", MaxNote)
	}
	var environment string
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		c, err := selectCaseOf(ctx, tx, t.digest())
		environment = c.Environment
		return err
	})
	if store.IsNoRows(err) {
		return errNoPage()
	}
	if err != nil {
		return fmt.Errorf("read a case for its buyer: %w", err)
	}
	err = s.cfg.Tx(ctx, environment, func(tx store.Tx) error { return s.offer(ctx, tx, t, cents, message) })
	return fault.Wrap("record an offer", err)
}

func (s *Service) offer(ctx context.Context, tx store.Tx, t token, cents int64, message string) error {
	c, err := selectCaseOf(ctx, tx, t.digest())
	if err != nil {
		return err
	}
	if !c.takesOffers() {
		return fault.New(fault.Conflict, "This case takes no offers now")
	}
	now, err := s.cfg.Clock(ctx, tx, c.Party())
	if err != nil {
		return err
	}
	made, err := selectOffers(ctx, tx, c.CaseID)
	switch {
	case err != nil:
		return err
	case len(made) > 0 && made[0].Amount.Cents == cents && made[0].Message == message:
		return nil
	case len(made) >= MaxOffers:
		return fault.New(fault.Conflict, "This case has had %d offers, which is the most it takes", MaxOffers)
	}
	recent, err := offersSince(ctx, tx, c.CaseID, s.cfg.DB.Now().Add(-OfferWindow))
	if err != nil {
		return err
	}
	if recent >= MaxOfferBurst && !s.cfg.NoLimits {
		return fault.New(fault.RateLimited, "These are many offers in a short time").WithHint("make the next one later").WithRetry(OfferWindow)
	}
	version, at, err := touchCase(ctx, tx, c.CaseID, now)
	if err != nil {
		return err
	}
	amount := money.Amount{Cents: cents, Currency: c.Currency}
	if err := insertOffer(ctx, tx, c.CaseID, Offer{At: at, Amount: amount, Message: message}); err != nil {
		return err
	}
	if err := insertStep(ctx, tx, c.CaseID, version, Step{At: at, Status: c.Status, Note: "The buyer offered " + amount.String() + "."}); err != nil {
		return err
	}
	return s.cfg.Audit.Record(ctx, tx, Actor{Name: "buyer of " + c.CaseID}, "brokerage.offer", c.CaseID, map[string]any{"amount": amount.String()})
}

// Offers are what the buyer of a case offered, the newest first, for operators.
func (s *Service) Offers(ctx context.Context, id string) (all []Offer, err error) {
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = selectOffers(ctx, tx, id)
		return err
	})
	return all, fault.Wrap("read offers", err)
}
