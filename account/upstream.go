package account

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Provider is an upstream OpenID provider. The client that is registered there must have the redirect URI
// BaseURL + [CallbackPath](ID).
type Provider struct {
	ID           string // in URLs and in the database: lower-case letters, digits and hyphens; must not change
	Name         string // on the button
	Issuer       string // its discovery document is below /.well-known/openid-configuration
	ClientID     string
	ClientSecret string
	Scopes       []string // beyond openid and email
}

// CallbackPath is the path of a provider's redirect URI; its page calls [Accounts.FinishUpstream].
func CallbackPath(provider string) string { return "/signin/with/" + provider + "/callback" }

// A Button is a provider as a page shows it.
type Button struct{ ID, Name string }

// Limits towards providers.
const (
	upstreamTime = 10 * time.Second // one request
	upstreamBody = 1 << 20          // bytes of one answer
	discoverLife = 24 * time.Hour   // their documents change rarely
)

const upstreamKind = "upstream sign-in"

// An upstream is a provider in use.
type upstream struct {
	Provider
	client   *http.Client
	redirect string
	now      func() time.Time

	discovered *cache.Cache[struct{}, *oidc.Provider] // the one document
}

var providerID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func newUpstreams(cfg Config) ([]*upstream, error) {
	client := *cfg.HTTP
	client.Transport = bounded{client.Transport}
	var all []*upstream
	for _, p := range cfg.OIDC {
		issuer, err := url.Parse(p.Issuer)
		switch {
		case !providerID.MatchString(p.ID):
			return nil, errors.New("a provider's id must be lower-case letters, digits and hyphens")
		case slices.ContainsFunc(all, func(u *upstream) bool { return u.ID == p.ID }):
			return nil, fmt.Errorf("there are two providers %s", p.ID)
		case err != nil || issuer.Host == "" || issuer.Scheme != "https" && (issuer.Scheme != "http" || !loopback(issuer.Hostname())):
			return nil, fmt.Errorf("provider %s: the issuer must be an https address", p.ID)
		case p.ClientID == "":
			return nil, fmt.Errorf("provider %s: the client id is missing", p.ID)
		}
		if p.Name == "" {
			p.Name = p.ID
		}
		all = append(all, &upstream{
			Provider: p, client: &client, redirect: cfg.BaseURL + CallbackPath(p.ID), now: cfg.Now,
			discovered: cache.New(cache.Config[struct{}, *oidc.Provider]{Entries: 1, Now: cfg.Now}),
		})
	}
	return all, nil
}

// bounded limits the size of responses.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, upstreamBody), resp.Body}
	}
	return resp, err
}

// Providers lists the upstream providers for buttons.
func (a *Accounts) Providers() []Button {
	buttons := make([]Button, len(a.upstreams))
	for i, u := range a.upstreams {
		buttons[i] = Button{u.ID, u.Name}
	}
	return buttons
}

// An Identity is a person's account at a provider that is linked to an account here, and can sign in to it.
type Identity struct {
	Provider string // its id
	Name     string // of the provider; its id if it is no longer configured
	Subject  string // the person's ID at the provider
	Linked   time.Time
}

// Identities lists the linked identities of the account, the oldest first.
func (a *Accounts) Identities(ctx context.Context, accountID string) ([]Identity, error) {
	var all []Identity
	err := a.db.Read(ctx, func(tx store.Tx) (err error) {
		all, err = a.identities(ctx, tx, accountID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return all, nil
}

func (a *Accounts) identities(ctx context.Context, tx store.Tx, accountID string) ([]Identity, error) {
	scan := func(rows *sql.Rows) (i Identity, err error) {
		var linked int64
		err = rows.Scan(&i.Provider, &i.Subject, &linked)
		i.Name, i.Linked = a.providerName(i.Provider), store.Time(linked)
		return i, err
	}
	return store.Collect(ctx, tx, scan, `SELECT provider, subject, created FROM account_identities WHERE account_id = $1 ORDER BY created, provider, subject`, accountID)
}

// Unlink removes a linked identity from the account of a session, which must pass [Accounts.StepUp]. Sessions stay. It
// fails with [fault.NotFound], and with [fault.Conflict] if it is the last way to sign in, see [Warned].
func (a *Accounts) Unlink(ctx context.Context, s Session, provider, subject string, warned Warned, from netip.Addr) error {
	if err := a.StepUp(s); err != nil {
		return err
	}
	if !plainText(provider) || !plainText(subject) {
		return fault.New(fault.NotFound, "there is no such link")
	}
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM account_identities WHERE provider = $1 AND subject = $2 AND account_id = $3`, provider, subject, s.AccountID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.NotFound, "there is no such link")
		}
		if err := a.afterRemoval(ctx, tx, s.AccountID, warned); err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: s.AccountID, At: a.now(), What: ProviderUnlinked, Detail: a.providerName(provider), From: from})
	})
	if err != nil {
		return fmt.Errorf("unlink an identity: %w", err)
	}
	a.mailNotice(s.Email, unlinkedMail)
	return nil
}

func (a *Accounts) providerName(id string) string {
	if u, err := a.upstream(id); err == nil {
		return u.Name
	}
	return id
}

// upstreamFlow is the state of a sign-in at a provider, which the browser holds, sealed.
type upstreamFlow struct {
	Provider string `json:"provider"`
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Account  string `json:"account,omitzero"` // of the person who links the provider to it
	Invite   string `json:"invite,omitzero"`
}

// BeginUpstream begins a sign-in at a provider: the caller redirects the browser to address and stores flow in a cookie
// until it returns. With a session, which must pass [Accounts.StepUp], the flow links the identity to the session's account
// and is valid only in that session. An invitation is used if an account has to be created. It fails with [fault.NotFound]
// for an unknown provider, and with [fault.Unavailable] if the provider does not answer.
func (a *Accounts) BeginUpstream(ctx context.Context, provider string, link Session, invite string) (address, flow string, err error) {
	if link.AccountID != "" {
		if err := a.StepUp(link); err != nil {
			return "", "", err
		}
	}
	return a.beginUpstream(ctx, provider, link, invite)
}

// BeginUpstreamAgain is [Accounts.BeginUpstream] for a step-up: max_age=0 asks the provider to authenticate the person again
// (OpenID Connect Core 1.0, section 3.1.2.1).
func (a *Accounts) BeginUpstreamAgain(ctx context.Context, provider string) (address, flow string, err error) {
	return a.beginUpstream(ctx, provider, Session{}, "", oauth2.SetAuthURLParam("max_age", "0"))
}

func (a *Accounts) beginUpstream(ctx context.Context, provider string, link Session, invite string, more ...oauth2.AuthCodeOption) (address, flow string, err error) {
	u, err := a.upstream(provider)
	if err != nil {
		return "", "", err
	}
	cfg, _, err := u.config(ctx)
	if err != nil {
		return "", "", err
	}
	f := upstreamFlow{
		Provider: u.ID, Account: link.AccountID, Invite: invite, Verifier: oauth2.GenerateVerifier(),
		State: base64.RawURLEncoding.EncodeToString(random(24)), Nonce: base64.RawURLEncoding.EncodeToString(random(24)),
	}
	flow, err = sealFlow(a.cfg.Keys, upstreamContext(link), a.now(), f)
	if err != nil {
		return "", "", err
	}
	more = append(more, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	return cfg.AuthCodeURL(f.State, more...), flow, nil
}

// upstreamContext is the associated data of a flow: the session whose account is to be linked, or none for a sign-in.
func upstreamContext(link Session) []byte { return flowContext(upstreamKind, link.AccountID, link.ID) }

func (a *Accounts) upstream(id string) (*upstream, error) {
	i := slices.IndexFunc(a.upstreams, func(u *upstream) bool { return u.ID == id })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "there is no such provider")
	}
	return a.upstreams[i], nil
}

// config returns the OAuth client and the ID token verifier of the provider's discovery document.
func (u *upstream) config(ctx context.Context) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	found, err := u.discovered.Load(ctx, struct{}{}, func(ctx context.Context) (*oidc.Provider, time.Time, error) {
		p, err := oidc.NewProvider(oidc.ClientContext(ctx, u.client), u.Issuer)
		return p, u.now().Add(discoverLife), err
	})
	if err != nil {
		return nil, nil, u.unavailable(err)
	}
	cfg := &oauth2.Config{
		ClientID: u.ClientID, ClientSecret: u.ClientSecret, RedirectURL: u.redirect,
		Endpoint: found.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID, "email"}, u.Scopes...),
	}
	return cfg, found.Verifier(&oidc.Config{ClientID: u.ClientID, Now: u.now}), nil
}

// unavailable is a fault that wraps its cause for the log.
func (u *upstream) unavailable(cause error) error {
	f := fault.New(fault.Unavailable, "%s does not answer as it should", u.Name).WithHint("try again, or sign in by other means").WithRetry(30 * time.Second)
	return fmt.Errorf("upstream %s: %w: %w", u.ID, f, cause)
}

// identity is the person that a provider's ID token names.
type identity struct {
	subject  string
	email    string // normalized
	verified bool
	signedIn time.Time // auth_time; zero: the provider does not say
}

// An UpstreamSignIn is a completed sign-in at a provider.
type UpstreamSignIn struct {
	Account

	// Authenticated is when the person authenticated at the provider; now, if the provider does not say. A browser may have
	// been signed in there for long, which does not prove who uses it now.
	Authenticated time.Time
}

// FinishUpstream completes a sign-in with the query of the provider's redirect; the caller starts a session for it by
// [Accounts.StartSessionSince]. The account is the one linked to the identity; or the one that the flow links; or the one
// with the e-mail address that the provider has verified, which it links; or a new one, if the sign-up mode permits. Present
// is the browser's session, zero without one. A flow is used up before the provider is asked.
//
// It fails with [fault.InvalidToken] on a flow that is expired, used, of another answer or of another session; with
// [fault.Forbidden] if the person or the provider declines, the address is not verified there, or sign-up is closed; with
// [fault.Conflict] if the identity is linked to another account; and with [fault.Unavailable].
func (a *Accounts) FinishUpstream(ctx context.Context, provider, flow string, query url.Values, present Session, from netip.Addr) (UpstreamSignIn, error) {
	f, err := openFlow[upstreamFlow](a.cfg.Keys, upstreamContext(present), a.now(), flow)
	if err != nil && present.ID != "" { // it may be a sign-in, which needs no session
		f, err = openFlow[upstreamFlow](a.cfg.Keys, upstreamContext(Session{}), a.now(), flow)
	}
	if err != nil {
		return UpstreamSignIn{}, err
	}
	if f.Data.Provider != provider || subtle.ConstantTimeCompare([]byte(f.Data.State), []byte(query.Get("state"))) != 1 {
		return UpstreamSignIn{}, fault.New(fault.InvalidToken, "this answer belongs to another attempt").WithHint("begin again")
	}
	u, err := a.upstream(provider)
	if err != nil {
		return UpstreamSignIn{}, err
	}
	if iss := query.Get("iss"); iss != "" && iss != u.Issuer { // RFC 9207, section 2.4
		return UpstreamSignIn{}, fault.New(fault.InvalidToken, "this answer comes from another provider").WithHint("begin again")
	}
	if err := a.db.Tx(ctx, func(tx store.Tx) error { return useNonce(ctx, tx, f.Nonce, f.Expires) }); err != nil {
		return UpstreamSignIn{}, fmt.Errorf("sign in at %s: %w", u.ID, err)
	}
	if query.Has("error") {
		return UpstreamSignIn{}, errDeclined(u)
	}
	who, err := u.redeem(ctx, query.Get("code"), f.Data)
	if err != nil {
		return UpstreamSignIn{}, err
	}
	var row accountRow
	var linked bool
	err = a.db.Tx(ctx, func(tx store.Tx) (err error) {
		row, linked, err = a.resolve(ctx, tx, u, who, f.Data, from)
		return err
	})
	if err != nil {
		return UpstreamSignIn{}, fmt.Errorf("sign in at %s: %w", u.ID, err)
	}
	if linked {
		a.mailNotice(row.Email, linkedMail)
	}
	signIn := UpstreamSignIn{row.Account, a.now()}
	if !who.signedIn.IsZero() && who.signedIn.Before(signIn.Authenticated) {
		signIn.Authenticated = who.signedIn
	}
	return signIn, nil
}

func errDeclined(u *upstream) error {
	return fault.New(fault.Forbidden, "the sign-in at %s was not completed", u.Name)
}

// redeem exchanges the code and checks the ID token.
func (u *upstream) redeem(ctx context.Context, code string, f upstreamFlow) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*upstreamTime)
	defer cancel()
	cfg, verifier, err := u.config(ctx)
	if err != nil {
		return identity{}, err
	}
	token, err := cfg.Exchange(oidc.ClientContext(ctx, u.client), code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.ErrorCode != "" { // err repeats the provider's answer
			err = errors.New("the token endpoint answers " + clean(refused.ErrorCode, 50))
		}
		return identity{}, u.unavailable(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return identity{}, u.unavailable(errors.New("no ID token"))
	}
	checked, err := verifier.Verify(ctx, raw)
	if err != nil {
		return identity{}, u.unavailable(err)
	}
	if subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(f.Nonce)) != 1 {
		return identity{}, u.unavailable(errors.New("the ID token is for another attempt"))
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // a boolean, or a text at some providers
		SignedIn int64  `json:"auth_time"`      // seconds
	}
	if err := checked.Claims(&claims); err != nil {
		return identity{}, u.unavailable(err)
	}
	who := identity{subject: checked.Subject, verified: claims.Verified == true || claims.Verified == "true"}
	if claims.SignedIn > 0 {
		who.signedIn = time.Unix(claims.SignedIn, 0).UTC()
	}
	if who.email, err = normalizeEmail(claims.Email); err != nil {
		who.email, who.verified = "", false
	}
	return who, nil
}

// resolve finds, links or creates the account of an identity. Linked says that it was linked to an existing account.
func (a *Accounts) resolve(ctx context.Context, tx store.Tx, u *upstream, who identity, f upstreamFlow, from netip.Addr) (row accountRow, linked bool, err error) {
	row, known, err := findIdentity(ctx, tx, u.ID, who.subject)
	if err != nil {
		return accountRow{}, false, err
	}
	if known && f.Account != "" && f.Account != row.ID {
		return accountRow{}, false, fault.New(fault.Conflict, "this account at %s belongs to another account here", u.Name)
	}
	if !known {
		if row, linked, err = a.linkIdentity(ctx, tx, u, who, f, from); err != nil {
			return accountRow{}, false, err
		}
	}
	if !row.Disabled.IsZero() {
		return accountRow{}, false, errDeclined(u)
	}
	return row, linked, addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignedIn, Detail: "at " + u.Name, From: from})
}

// linkIdentity links an identity to the account that the flow names, or to that of its e-mail address. Existed says that the
// account is not new.
func (a *Accounts) linkIdentity(ctx context.Context, tx store.Tx, u *upstream, who identity, f upstreamFlow, from netip.Addr) (row accountRow, existed bool, err error) {
	if existed = f.Account != ""; existed {
		row, err = a.mustFind(ctx, tx, f.Account)
	} else {
		row, existed, err = a.resolveEmail(ctx, tx, u, who, f, from)
	}
	if err != nil {
		return accountRow{}, false, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO account_identities (provider, subject, account_id, created) VALUES ($1, $2, $3, $4) ON CONFLICT (provider, subject) DO NOTHING`,
		u.ID, who.subject, row.ID, store.Micros(a.now()))
	if err != nil {
		return accountRow{}, false, fmt.Errorf("link an identity: %w", err)
	}
	return row, existed, addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: ProviderLinked, Detail: u.Name, From: from})
}

// resolveEmail finds or creates the account of an address that the provider has verified. It claims an unverified account,
// whose creator did not prove to own the address. Existed says that the account is not new.
func (a *Accounts) resolveEmail(ctx context.Context, tx store.Tx, u *upstream, who identity, f upstreamFlow, from netip.Addr) (row accountRow, existed bool, err error) {
	if !who.verified {
		return accountRow{}, false, fault.New(fault.Forbidden, "%s does not say that your e-mail address is verified", u.Name).WithHint("sign up by e-mail, then link the account")
	}
	row, found, err := findTx(ctx, tx, "email", who.email)
	if err != nil {
		return accountRow{}, false, err
	}
	if found {
		err := a.claim(ctx, tx, &row, from)
		return row, true, err
	}
	if a.cfg.Signup == Closed {
		return accountRow{}, false, fault.New(fault.Forbidden, "sign-up is closed").WithHint("ask the operator for an account")
	}
	if err := a.useInvite(ctx, tx, f.Invite); err != nil {
		return accountRow{}, false, err
	}
	if !a.cfg.Unlimited { // a retried transaction counts again, for which the limits are wide enough
		if err := a.limits.from(a.limits.signUps, from, "accounts were made from this address or its network"); err != nil {
			return accountRow{}, false, err
		}
	}
	if err := a.countAccount(ctx, tx, from); err != nil {
		return accountRow{}, false, err
	}
	row = a.newRow(who.email, "")
	row.Verified = true
	if _, err := insertAccount(ctx, tx, row, a.now()); err != nil {
		return accountRow{}, false, err
	}
	return row, false, addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignedUp, Detail: "at " + u.Name, From: from})
}

func (a *Accounts) mustFind(ctx context.Context, tx store.Tx, id string) (accountRow, error) {
	row, found, err := findTx(ctx, tx, "id", id)
	if err == nil && !found {
		err = errNoAccount()
	}
	return row, err
}

func findIdentity(ctx context.Context, tx store.Tx, provider, subject string) (accountRow, bool, error) {
	var id string
	err := tx.QueryRow(ctx, `SELECT account_id FROM account_identities WHERE provider = $1 AND subject = $2`, provider, subject).Scan(&id)
	if store.IsNoRows(err) {
		return accountRow{}, false, nil
	}
	if err != nil {
		return accountRow{}, false, fmt.Errorf("read an identity: %w", err)
	}
	return findTx(ctx, tx, "id", id)
}
