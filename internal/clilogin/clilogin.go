// Package clilogin signs a command-line user in: through the browser once, and from a token file afterwards.
//
// [Login.SignIn] finds the authorization server of a protected resource (RFC 9728, RFC 8414), registers there
// (RFC 7591), opens it in the user's browser and receives the response on loopback (RFC 8252, with PKCE and the issuer
// check of RFC 9207). Each resource has a token file with mode 0600. [Login.Token] returns the access token from there
// and refreshes it in time; [Login.Transport] adds it to requests.
//
// Refresh tokens work once; reusing one revokes the grant (RFC 9700, section 4.14.2). So a refresh holds a file lock that
// all processes share, reads the file again, and stores the successor before it returns a token.
//
// Errors contain no token, code or text of a server.
package clilogin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/namewharf/namewharf/fault"
)

// Limits of a sign-in.
const (
	signInTime  = 5 * time.Minute  // of a sign-in in the browser
	requestTime = 15 * time.Second // of one request to the authorization server
	lockTime    = 40 * time.Second // to wait for other processes, two of which may hang for requestTime
)

// early is how long before its expiry a token is refreshed, at most a quarter of its life, so that it stays valid during the
// caller's request.
const early = 2 * time.Minute

// ErrNotSignedIn says that there is no sign-in. Calls without a token are possible.
var ErrNotSignedIn = fault.Words("you are not signed in")

// Options configure [Open]. The zero value is usable.
type Options struct {
	Name      string            // client_name, for the consent page; empty: "Command line"
	Scopes    []string          // to request; empty: those that the resource names
	Hint      string            // how to sign in, for errors, such as `run "mcp login"`
	Transport http.RoundTripper // nil: http.DefaultTransport
	Now       func() time.Time  // nil: time.Now
}

// A Login is a sign-in to one protected resource. Its state is in its file: any number of Logins, in any number of
// processes, may share it. It is safe for concurrent use.
type Login struct {
	resource *url.URL
	options  Options
	file     file
	client   *http.Client
	timeout  time.Duration // of a sign-in
}

// Open returns the login for the resource, an https URL, or an http one on loopback, whose token file is in dir. It uses
// neither the file nor the network.
func Open(dir, resource string, options Options) (*Login, error) {
	u, err := checkURL(resource, true)
	if err != nil || u.RawQuery != "" || u.ForceQuery {
		return nil, errors.New("must be an https URL such as https://names.example, or an http one on loopback")
	}
	u = canonical(u)
	if options.Name == "" {
		options.Name = "Command line"
	}
	if options.Hint == "" {
		options.Hint = "sign in again"
	}
	if options.Transport == nil {
		options.Transport = http.DefaultTransport
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Login{
		resource: u, options: options, file: newFile(dir, u), timeout: signInTime,
		client: &http.Client{
			Transport: options.Transport, Timeout: requestTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// SignIn signs the user in: it writes the URL to out, for a browser opened by hand, and calls browse with it; nil is
// [OpenBrowser]. It returns when the tokens are in the file, after five minutes, or when ctx ends. It revokes the sign-in
// before. Its errors are sentences for the user.
func (l *Login) SignIn(ctx context.Context, browse func(url string) error, out io.Writer) error {
	if browse == nil {
		browse = OpenBrowser
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("there was no sign-in within %v", l.timeout))
	defer cancel()
	server, err := l.discover(ctx)
	if err != nil {
		return causeOf(ctx, fmt.Errorf("find the authorization server: %w", err))
	}
	landing, err := newCallbackServer(server.Issuer, server.IssParameter)
	if err != nil {
		return err
	}
	defer landing.close()
	id, err := l.register(ctx, server, landing.redirect)
	if err != nil {
		return causeOf(ctx, fmt.Errorf("register at %s: %w", server.Issuer, err))
	}
	config := oauth2.Config{
		ClientID: id, RedirectURL: landing.redirect, Scopes: server.scopes,
		Endpoint: oauth2.Endpoint{AuthURL: server.Authorization, TokenURL: server.Token, AuthStyle: oauth2.AuthStyleInParams},
	}
	verifier, resource := oauth2.GenerateVerifier(), oauth2.SetAuthURLParam("resource", l.resource.String())
	to := config.AuthCodeURL(landing.state, oauth2.S256ChallengeOption(verifier), resource)
	fmt.Fprintf(out, "Sign in with your browser. If it does not open, go to\n\n  %s\n\n", to)
	if err := browse(to); err != nil {
		fmt.Fprintln(out, "No browser could be opened; open the address yourself.")
	}
	code, err := landing.wait(ctx)
	if err != nil {
		return err
	}
	token, err := config.Exchange(l.oauthContext(ctx), code, oauth2.VerifierOption(verifier), resource)
	if err != nil {
		return causeOf(ctx, fmt.Errorf("exchange the code for tokens: %w", withoutDetails(err)))
	}
	return l.begin(ctx, record{
		Issuer: server.Issuer, TokenURL: server.Token, RevokeURL: server.Revocation, ClientID: id,
	}, token)
}

// begin stores the first tokens of a sign-in, and revokes those of the one before.
func (l *Login) begin(ctx context.Context, r record, token *oauth2.Token) error {
	r, err := l.update(r, token)
	if err != nil {
		return err
	}
	surely := context.WithoutCancel(ctx) // the tokens must be either stored or revoked
	unlock, err := l.file.lock(ctx)
	if err != nil {
		return errors.Join(err, l.revoke(surely, r))
	}
	defer unlock()
	before, _ := l.file.read() // a missing or damaged file is replaced
	if err := l.file.write(r); err != nil {
		return errors.Join(fmt.Errorf("store the tokens: %w", err), l.revoke(surely, r))
	}
	_ = l.revoke(surely, before) // on failure it still expires
	return nil
}

// Token returns an access token with at least two minutes left. It fails with [ErrNotSignedIn], a
// [fault.AuthenticationRequired], without a sign-in; with [fault.InvalidToken], until the next SignIn or SignOut, if the
// server has ended the sign-in or the file is damaged; and with [fault.Unavailable] if the token could not be refreshed.
func (l *Login) Token(ctx context.Context) (string, error) {
	r, err := l.read()
	if err != nil {
		return "", err
	}
	now := l.options.Now()
	if now.Before(r.Renew) {
		return r.Access, nil
	}
	token, err := l.Renew(ctx, r.Access)
	if err != nil && !fault.Is(err, fault.InvalidToken) && now.Before(r.Expires) {
		return r.Access, nil // the next call tries again
	}
	return token, err
}

// Renew returns another access token than the rejected one, with the errors of [Login.Token]. It ignores the end of ctx
// during the refresh, whose response holds the only valid refresh token.
func (l *Login) Renew(ctx context.Context, rejected string) (string, error) {
	unlock, err := l.file.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	r, err := l.read()
	if err != nil {
		return "", err
	}
	if r.Access != rejected && l.options.Now().Before(r.Renew) {
		return r.Access, nil // another process has refreshed it
	}
	if r.Refresh == "" {
		return "", l.end(r)
	}
	config := oauth2.Config{
		ClientID: r.ClientID, Endpoint: oauth2.Endpoint{TokenURL: r.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	token, err := config.TokenSource(l.oauthContext(context.WithoutCancel(ctx)), &oauth2.Token{RefreshToken: r.Refresh}).Token()
	if isFinal(err) {
		return "", l.end(r)
	}
	if err != nil {
		return "", fault.New(fault.Unavailable, "the access token for %s could not be refreshed: %s", l.resource.Host, fault.Words(withoutDetails(err).Error())).WithCause(err).
			WithHint("try again in a moment")
	}
	if r, err = l.update(r, token); err != nil {
		return "", err
	}
	if err := l.file.write(r); err != nil {
		return "", fmt.Errorf("store the refreshed tokens: %w", err)
	}
	return r.Access, nil
}

// SignOut deletes the file and revokes the tokens (RFC 7009). It fails if the revocation fails, but then too deletes the
// file. Without a sign-in it fails with [ErrNotSignedIn].
func (l *Login) SignOut(ctx context.Context) error {
	unlock, err := l.file.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.file.read()
	if errors.Is(err, errNoFile) {
		return ErrNotSignedIn
	}
	if removed := l.file.remove(); removed != nil {
		return fmt.Errorf("delete the tokens: %w", removed)
	}
	if err != nil {
		return fmt.Errorf("the file was deleted, but the sign-in may still be valid at %s: %w", l.resource.Host, err)
	}
	if err := l.revoke(ctx, r); err != nil {
		return fmt.Errorf("the tokens were deleted here, but not revoked at %s: %w", l.resource.Host, err)
	}
	return nil
}

// read returns the record in the file, if its tokens may be valid.
func (l *Login) read() (record, error) {
	r, err := l.file.read()
	switch {
	case errors.Is(err, errNoFile):
		return record{}, fault.New(fault.AuthenticationRequired, "%s", ErrNotSignedIn).WithCause(ErrNotSignedIn).WithHint("%s", l.options.Hint)
	case errors.Is(err, errDamaged):
		return record{}, fault.New(fault.InvalidToken, "%s", err).WithCause(err).WithHint("%s", l.options.Hint)
	case err != nil:
		return record{}, err
	case r.Access == "":
		return record{}, l.ended()
	}
	return r, nil
}

// end records that the sign-in has ended.
func (l *Login) end(r record) error {
	if err := l.file.write(record{Resource: r.Resource, Issuer: r.Issuer}); err != nil {
		return fmt.Errorf("delete ended tokens: %w", err)
	}
	return l.ended()
}

func (l *Login) ended() error {
	return fault.New(fault.InvalidToken, "the sign-in at %s has ended", l.resource.Host).WithHint("%s", l.options.Hint)
}

// update returns the record with the tokens of a token response.
func (l *Login) update(r record, token *oauth2.Token) (record, error) {
	if token.Type() != "Bearer" || !plainText(token.AccessToken, maxToken) || token.ExpiresIn <= 0 ||
		token.RefreshToken != "" && !plainText(token.RefreshToken, maxToken) {
		return record{}, errors.New("the answer of the token endpoint is not a bearer token with a lifetime")
	}
	now, life := l.options.Now(), time.Duration(token.ExpiresIn)*time.Second
	r.Resource, r.Access, r.Refresh = l.resource.String(), token.AccessToken, token.RefreshToken
	r.Expires = now.Add(life).UTC()
	r.Renew = r.Expires.Add(-min(early, life/4))
	return r, nil
}

// revoke ends the grant behind the record's tokens, if there are any.
func (l *Login) revoke(ctx context.Context, r record) error {
	if r.Refresh == "" || r.RevokeURL == "" {
		return nil
	}
	form := url.Values{"token": {r.Refresh}, "token_type_hint": {"refresh_token"}, "client_id": {r.ClientID}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("the revocation endpoint is not a URL")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := l.client.Do(request)
	if err != nil {
		return withoutDetails(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered with status %d", response.StatusCode)
	}
	return nil
}

// oauthContext makes x/oauth2 use our client.
func (l *Login) oauthContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, l.client)
}
