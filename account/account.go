// Package account holds user accounts: sign-up, sign-in, sessions and the security log.
//
// A person proves who they are by a password, a passkey, an account at an upstream OpenID provider, or by reading mail
// at their address. Each way returns an [Account], and the caller starts a session for it. Answers and their timing do
// not reveal whether an address has an account, except to a person who has proved to own the address.
//
// Passwords are stored as Argon2id hashes, session tokens and one-time tokens as SHA-256. None of them is logged.
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// An Account is a user account.
type Account struct {
	ID       string
	Email    string    // lower case, the domain in A-label form
	Verified bool      // the person has proved to receive mail at Email
	Created  time.Time // UTC
	Disabled time.Time // when the operator disabled it; zero: it may sign in
}

// A Mode says who may sign up.
type Mode string

// The sign-up modes.
const (
	Open   Mode = "open"   // anyone
	Invite Mode = "invite" // with an invitation from the operator
	Closed Mode = "closed" // the operator creates accounts
)

// ParseMode parses the value of a flag.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Open, Invite, Closed:
		return m, nil
	}
	return "", errors.New("the sign-up mode must be open, invite or closed")
}

// Config configures [New]. DB and BaseURL are required.
type Config struct {
	DB      *store.DB
	Keys    store.Sealer     // seal the state that browsers hold; all processes share them. Nil: random keys of this process
	BaseURL string           // prefix of links, and the origin of passkeys; https unless on loopback
	Now     func() time.Time // nil: time.Now
	Signup  Mode             // empty: Open
	Mail    Mailer           // nil: LogMail
	OIDC    []Provider       // upstream providers, in the order of their buttons
	HTTP    *http.Client     // towards upstream providers; nil: a client with limits
	Logger  *slog.Logger     // nil: nothing is logged

	// VerifyFirst refuses a sign-in by password until the person has followed the link in the mail. Without it, anyone
	// can sign up with the address of somebody else.
	VerifyFirst bool

	// Hashers is how many passwords are hashed at once, 19 MiB each; 0: 2, some 80 sign-ins a second. Uncollected
	// garbage takes about as much memory again.
	Hashers int

	Unlimited bool // no throttle on sign-in and no quota on mail: for tests on loopback

	// Audit records, in the transaction of the change, what the operator does to accounts; nil: not recorded.
	Audit Auditor

	// OnDelete is called in the transaction that removes an account, so that other packages remove their data about it. It
	// fails with [fault.Conflict] if something in progress needs the account, which then stays. It may be nil.
	OnDelete func(ctx context.Context, tx store.Tx, accountID string) error

	// Holds reports whether an unconfirmed account holds something, such as a name, and so must not be removed. It may be
	// nil.
	Holds func(ctx context.Context, tx store.Tx, accountID string) (bool, error)

	// OnRevokeAll is called in the transaction that ends all sessions of an account because its credentials changed, so
	// that its grants end too. It may be nil.
	OnRevokeAll func(ctx context.Context, tx store.Tx, accountID string) error
}

// An Auditor records who did what.
type Auditor interface {
	Record(ctx context.Context, tx store.Tx, action, subject string, details map[string]any) error
}

// audit records an action, if there is an auditor.
func (a *Accounts) audit(ctx context.Context, tx store.Tx, action, subject string) error {
	if a.cfg.Audit == nil {
		return nil
	}
	return a.cfg.Audit.Record(ctx, tx, action, subject, nil)
}

// Accounts are the accounts of one database. It is safe for concurrent use.
type Accounts struct {
	cfg       Config
	db        *store.DB
	now       func() time.Time
	log       *slog.Logger
	hasher    *hasher
	throttle  *throttle
	mails     bool // mail is sent, not written to the log
	limits    *quotas
	passkeys  *webauthn.WebAuthn // nil: the base URL has no host name
	upstreams []*upstream

	mailQueue *queue // mail, with look-ups whose duration must not show in the answer
	logQueue  *queue // entries of the security log that are written in the background
}

// New returns the accounts of a database and starts the background workers for mail and for the log of failures.
// The caller ends them with [Accounts.Close]. It fails on a base URL or a provider that cannot work;
// it does not call the providers.
func New(ctx context.Context, cfg Config) (*Accounts, error) {
	mails := cfg.Mail != nil
	cfg, base, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	a := &Accounts{
		cfg:      cfg,
		db:       cfg.DB,
		now:      cfg.Now,
		log:      cfg.Logger,
		mails:    mails,
		hasher:   newHasher(cfg.Hashers, fullCost),
		throttle: newThrottle(),
		limits:   newQuotas(),
	}
	if a.passkeys, err = relyingParty(base); err != nil {
		return nil, fmt.Errorf("accounts: passkeys: %w", err)
	}
	if a.upstreams, err = newUpstreams(cfg); err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	a.mailQueue = newQueue(mailWorkers, mailTime)
	a.logQueue = newQueue(1, logTime) // one, so that entries keep their order
	return a, nil
}

// complete checks a configuration and fills in the defaults.
func (c Config) complete() (Config, *url.URL, error) {
	base, err := parseBase(c.BaseURL)
	if err != nil {
		return Config{}, nil, err
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Signup, err = ParseMode(string(cmp.Or(c.Signup, Open))); err != nil {
		return Config{}, nil, err
	}
	c.Hashers = cmp.Or(max(c.Hashers, 0), defaultHashers)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Keys == nil {
		c.Keys = seal.Random()
	}
	if c.Mail == nil {
		c.Mail = LogMail(c.Logger)
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: upstreamTime}
	}
	return c, base, nil
}

// Close finishes the queued mail and log entries, for at most 5 seconds, and stops the workers. Call nothing after it.
func (a *Accounts) Close() {
	a.mailQueue.close()
	a.logQueue.close()
	for _, u := range a.upstreams {
		u.discovered.Wait()
	}
}

// parseBase reads the base URL. Plain http is allowed on loopback only.
func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(s)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the base URL must be an absolute address without query and fragment")
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !loopback(base.Hostname())) {
		return nil, errors.New("the base URL must be https, or http on loopback")
	}
	return base, nil
}

// loopback reports whether the host is this machine, by name or address.
func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && address.IsLoopback()
}

// Account returns the account with the id. It fails with [fault.NotFound].
func (a *Accounts) Account(ctx context.Context, id string) (Account, error) {
	row, err := a.find(ctx, "id", id)
	return row.Account, err
}

// Find returns the account with the e-mail address. It fails with [fault.NotFound]. Only the operator may use it: a
// visitor must not learn which addresses have accounts.
func (a *Accounts) Find(ctx context.Context, email string) (Account, error) {
	email, err := normalizeEmail(email)
	if err != nil {
		return Account{}, err
	}
	row, err := a.find(ctx, "email", email)
	return row.Account, err
}

// Create makes an account for the operator, whatever the sign-up mode; its address counts as verified. It fails with
// [fault.Conflict] where the address has one, and with [fault.Validation] on a bad address or password.
func (a *Accounts) Create(ctx context.Context, email, password string) (Account, error) {
	email, err := normalizeEmail(email)
	if err != nil {
		return Account{}, err
	}
	hash, err := a.hashNew(ctx, email, password, netip.Addr{})
	if err != nil {
		return Account{}, err
	}
	row := a.newRow(email, hash)
	row.Verified = true
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		if fresh, err := insertAccount(ctx, tx, row, a.now()); err != nil || !fresh {
			return cmp.Or(err, error(fault.New(fault.Conflict, "the e-mail address has an account already")))
		}
		if err := addEntry(ctx, tx, Entry{AccountID: row.ID, At: row.Created, What: SignedUp, Detail: "by the operator"}); err != nil {
			return err
		}
		return a.audit(ctx, tx, "account.create", row.ID)
	})
	if err != nil {
		return Account{}, fmt.Errorf("create an account: %w", err)
	}
	return row.Account, nil
}

// newRow is an account about to be stored.
func (a *Accounts) newRow(email, hash string) accountRow {
	now := a.now().UTC()
	return accountRow{
		Account:  Account{ID: store.NewID("acc"), Email: email, Created: now.Truncate(time.Microsecond)},
		password: hash,
		handle:   random(32),
	}
}
