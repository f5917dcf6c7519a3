// Package identity opens the services behind sign-in, for all programs: accounts, the authorization server and the
// portfolios of names.
package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tools"
)

// Settings are the flags of sign-in. Fill them by [Flags].
type Settings struct {
	Signup   *settings.Choice
	Extra    settings.List // protected resources on other servers
	Schemes  settings.List // of redirect URIs
	OIDC     string        // the file of upstream providers
	SMTP     string        // the URL of the mail server
	MailFrom string

	MaxRegistrations *settings.Count // of OAuth clients a day
}

// Flags defines the flags of sign-in.
func Flags(fs *flag.FlagSet) *Settings {
	s := &Settings{}
	s.Signup = settings.OneOf(fs, "signup", "who may sign up: open, invite or closed", string(account.Open), string(account.Invite), string(account.Closed))
	fs.Var(&s.Extra, "extra-resources", "`URLs` of resources elsewhere that take our tokens, such as that of mcp -http, separated by commas")
	fs.Var(&s.Schemes, "app-schemes", "`schemes` without a dot to which applications may be redirected (default cursor,vscode,vscode-insiders,windsurf)")
	fs.StringVar(&s.OIDC, "oidc", "", "TOML `file` with OpenID providers at which users may sign in")
	fs.StringVar(&s.SMTP, "smtp", "", "`URL` of the mail server, smtp://user:password@host:587 or smtps://…:465; without one mail goes to the log")
	fs.StringVar(&s.MailFrom, "mail-from", "", "`sender` of mail, e.g. \"Namewharf <signin@names.example>\"")
	s.MaxRegistrations = settings.CountOf(fs, "max-registrations-per-day", 10_000, "how `many` applications may register in a day, over all processes on the database")
	return s
}

// SignInPath is the path of the sign-in page.
const SignInPath = "/signin"

// Disabled lists the parts of sign-in that are not configured, a line each.
func (s *Settings) Disabled() (lines []string) {
	if s.SMTP == "" {
		lines = append(lines, "mail (-smtp): it goes to the log, links included: a reader of the log can sign in as anyone")
	}
	return lines
}

// Config configures [Open].
type Config struct {
	*Settings
	App       *app.App
	Issuer    string   // the public address of the service, without a slash at the end
	Resources []string // protected resources below the issuer, beside the issuer itself
	Unlimited bool     // no rate limits
	ClientIP  func(*http.Request) netip.Addr
	Logger    *slog.Logger
	Now       func() time.Time
}

// Services are the services of sign-in. Close them after the HTTP servers and before the app.
type Services struct {
	Accounts *account.Accounts
	OAuth    *oauthas.Server
	Names    *portfolio.Portfolio
	Mail     account.Mailer // nil: no mail server is configured
}

// Open opens the services. Its errors are one line for the operator.
func Open(ctx context.Context, cfg Config) (*Services, error) {
	a := cfg.App
	svc := &Services{Names: NewPortfolio(a, cfg.Logger)}
	accounts := account.Config{
		DB: a.DB, Keys: a.Keys, BaseURL: cfg.Issuer, Now: cfg.Now, Signup: account.Mode(cfg.Signup.Value), Logger: cfg.Logger, Unlimited: cfg.Unlimited,
		OnRevokeAll: func(ctx context.Context, tx store.Tx, accountID string) error {
			return svc.OAuth.RevokeAll(ctx, tx, accountID)
		},
		OnDelete: func(ctx context.Context, tx store.Tx, accountID string) error {
			if err := svc.Names.RemoveAll(ctx, tx, accountID); err != nil {
				return err
			}
			if err := referral.UnlinkAccount(ctx, tx, accountID); err != nil {
				return err
			}
			return svc.OAuth.RemoveAll(ctx, tx, accountID)
		},
		Holds: svc.Names.Holds,
	}
	var err error
	if accounts.Mail, err = cfg.mailer(a.Roots); err != nil {
		return nil, err
	}
	if accounts.OIDC, err = cfg.providers(); err != nil {
		return nil, err
	}
	svc.Mail = accounts.Mail
	accounts.VerifyFirst = accounts.Mail != nil // mail can confirm an address before its first sign-in
	if svc.Accounts, err = account.New(ctx, accounts); err != nil {
		return nil, err
	}
	svc.OAuth, err = oauthas.New(ctx, oauthas.Config{
		DB: a.DB, Now: cfg.Now, Issuer: cfg.Issuer, Resources: append(cfg.Resources, cfg.Extra...),
		Fetch: oauthas.DocumentClient(a.Allow, a.Roots), AllowedSchemes: cfg.Schemes, NoLimits: cfg.Unlimited, ClientIP: cfg.ClientIP,
		Registrations: oauthas.RegistrationLimit{PerDay: int(*cfg.MaxRegistrations)},
		Record:        svc.record(cfg.Logger), Logger: cfg.Logger,
	})
	if err != nil {
		svc.Accounts.Close()
		return nil, err
	}
	return svc, nil
}

// NewPortfolio returns the portfolio of an app.
func NewPortfolio(a *app.App, log *slog.Logger) *portfolio.Portfolio {
	return portfolio.New(portfolio.Config{
		DB: a.DB, Suffixes: a.Lookup.Suffixes(), DNS: a.Lookup, Registry: tools.RegistryOf(a.Lookup),
		Market: tools.MarketOf(a.Market, a.DB.Now), Logger: log,
	})
}

// Close closes the services.
func (svc *Services) Close() {
	svc.OAuth.Close()
	svc.Accounts.Close()
}

// grantEvents maps events of grants to entries of the account's security log.
var grantEvents = map[oauthas.EventKind]struct {
	event  account.Event
	detail string // added to the client's name
}{
	oauthas.GrantBegan:      {account.AppConnected, ""},
	oauthas.GrantRevoked:    {account.AppRevoked, ""},
	oauthas.CodeReplayed:    {account.AppRevoked, ", because a code was used twice"},
	oauthas.RefreshReplayed: {account.AppRevoked, ", because a refresh token was used twice"},
}

func (svc *Services) record(log *slog.Logger) func(context.Context, oauthas.Event) {
	return func(ctx context.Context, e oauthas.Event) {
		line := grantEvents[e.Kind]
		if err := svc.Accounts.Record(ctx, account.Entry{AccountID: e.Account, What: line.event, Detail: e.Client + line.detail}); err != nil {
			log.Error("an entry of the security log is lost", "error", err)
		}
	}
}

// mailer returns nil if no mail server is configured.
func (s *Settings) mailer(roots *x509.CertPool) (account.Mailer, error) {
	if s.SMTP == "" {
		return nil, nil
	}
	u, err := url.Parse(s.SMTP)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("-smtp must be a URL such as smtp://user:password@mail.example:587") // without the value: it may hold a password
	}
	config, port := account.SMTP{From: s.MailFrom, User: u.User.Username(), Roots: roots}, "587"
	config.Password, _ = u.User.Password()
	if u.Scheme == "smtps" {
		config.TLS, port = account.TLSImplicit, "465"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	config.Addr = net.JoinHostPort(u.Hostname(), port)
	mailer, err := account.NewSMTP(config)
	if err != nil {
		return nil, fmt.Errorf("-smtp, -mail-from: %w", err)
	}
	return mailer, nil
}

// providers reads the file of OpenID providers.
func (s *Settings) providers() ([]account.Provider, error) {
	if s.OIDC == "" {
		return nil, nil
	}
	var file struct {
		Provider []struct {
			ID           string
			Name         string
			Issuer       string
			ClientID     string   `toml:"client_id"`
			ClientSecret string   `toml:"client_secret"`
			Scopes       []string // beyond openid and email
		}
	}
	read, err := toml.DecodeFile(s.OIDC, &file)
	if err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("-oidc %s, line %d: %s", s.OIDC, parse.Position.Line, parse.Message)
		}
		return nil, fmt.Errorf("-oidc: %w", err)
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("-oidc %s: unknown key %s; a [[provider]] has id, name, issuer, client_id, client_secret and scopes", s.OIDC, unknown[0])
	}
	if len(file.Provider) == 0 {
		return nil, fmt.Errorf("-oidc %s: it names no [[provider]]", s.OIDC)
	}
	all := make([]account.Provider, len(file.Provider))
	for i, svc := range file.Provider {
		all[i] = account.Provider{ID: svc.ID, Name: svc.Name, Issuer: svc.Issuer, ClientID: svc.ClientID, ClientSecret: svc.ClientSecret, Scopes: svc.Scopes}
	}
	return all, nil
}
