package oauthas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"
)

// A SessionRef identifies the session of a signed-in user. Zero: not signed in.
type SessionRef struct{ ID, AccountID string }

func (s SessionRef) signedIn() bool { return s.ID != "" && s.AccountID != "" }

// An AuthorizeRequest is a request to the authorization endpoint: the query of a GET, or the form of a POST.
type AuthorizeRequest struct {
	Params  url.Values
	Session SessionRef
	Method  string     // empty: GET
	From    netip.Addr // of the user's browser, whose quota pays for fetches of client documents
}

// A Decision is the response to the user's browser: an [ErrorPage], a [SignIn], a [Consent] or a [Redirect].
type Decision interface{ decision() }

// An ErrorPage tells the user that the application made a mistake. The page must not link or redirect to the application.
type ErrorPage struct {
	Status int
	Text   string        // a sentence or two for the user
	Detail string        // for the application's developer: an OAuth error code and its description; may be empty
	Retry  time.Duration // after which a retry may work; 0: not known
}

// SignIn asks the user to sign in and then to repeat the same request.
type SignIn struct{}

// A Consent is the content of the consent page, whose answer goes to [Server.Answer] within [InteractionLife].
type Consent struct {
	Interaction  string   // a one-time secret for the form
	ClientID     string   // the URL of a client metadata document, or an id of ours
	ClientName   string   // client_name, unverified; empty: it has none
	ClientHost   string   // of the client metadata document; empty: the client is registered
	RedirectURI  string   // receives the answer
	RedirectHost string   // its host and port in ASCII (an A-label is shown as such), or "scheme:" of an application
	FormAction   string   // a CSP source that form-action must name besides 'self'
	Scopes       []string // requested
	Resources    []string // requested
}

// A Redirect sends the browser to URL with 303.
type Redirect struct{ URL string }

func (ErrorPage) decision() {}
func (SignIn) decision()    {}
func (Consent) decision()   {}
func (Redirect) decision()  {}

var errUnknownClient = errors.New("unknown client")

// Authorize decides what to do with an authorization request (RFC 6749, section 4.1.1). A bad client or redirect URI is
// always an [ErrorPage]; other mistakes go to the client only if a user is signed in, so that a link cannot be used as an
// open redirect. It fails with [fault.RateLimited] for an account with very many requests; other errors are internal.
func (s *Server) Authorize(ctx context.Context, r AuthorizeRequest) (Decision, error) {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return ErrorPage{Status: http.StatusMethodNotAllowed, Text: "This address is for GET and POST."}, nil
	}
	id, once := param(r.Params, "client_id")
	if !once || id == "" {
		return badRequest("The application did not say who it is.", "client_id is needed once"), nil
	}
	c, err := s.client(ctx, id, r.From)
	if refusal, ok := errors.AsType[*documentError](err); ok {
		return refusal.page(), nil
	}
	if errors.Is(err, errUnknownClient) {
		return badRequest("This application is not known here. It may have to register again.", "client_id is unknown"), nil
	}
	if err != nil {
		return nil, err
	}
	redirect, problem := chooseRedirect(c, r.Params)
	if problem != "" {
		return badRequest(problem, "redirect_uri must be a registered one"), nil
	}
	req, refusal := checkRequest(s.audience, c, redirect, r.Params)
	if refusal != nil {
		if !r.Session.signedIn() {
			return badRequest("The application sent an invalid request.", refusal.code+": "+refusal.description), nil
		}
		req.RedirectURI = redirect
		return Redirect{req.errorURL(s.cfg.Issuer, refusal)}, nil
	}
	return s.requestConsent(ctx, req, r.Session)
}

func badRequest(text, detail string) ErrorPage {
	return ErrorPage{Status: http.StatusBadRequest, Text: text, Detail: detail}
}

// page returns the page about the error. The user can only wait, if anything.
func (e *documentError) page() ErrorPage {
	if e.status == 0 {
		return badRequest("The application's metadata document is not valid.", e.reason)
	}
	return ErrorPage{
		Status: e.status, Text: "The application's metadata document could not be read. Please try again in a moment.",
		Detail: e.reason, Retry: e.retry,
	}
}

// requestConsent returns the consent page of a valid request, the sign-in page without a session, or the redirect with the
// code if consent is remembered.
func (s *Server) requestConsent(ctx context.Context, req request, session SessionRef) (Decision, error) {
	switch {
	case !session.signedIn() && req.silent:
		return badRequest("The application requested access without a page, but you are not signed in.", "login_required: no user is signed in"), nil
	case !session.signedIn():
		return SignIn{}, nil
	}
	if err := s.limits.interaction(session.AccountID); err != nil {
		return nil, err
	}
	if req.rememberable() && !req.asked {
		d, err := s.reuseConsent(ctx, req, session.AccountID)
		if d != nil || err != nil {
			return d, err
		}
	}
	if req.silent {
		return Redirect{req.errorURL(s.cfg.Issuer, &oauthError{errConsentRequired, "the user has to consent"})}, nil
	}
	id := newSecret(interactionPrefix)
	text, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode an authorization request: %w", err)
	}
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		if err := trimInteractions(ctx, tx, digestOf(session.ID), maxInteractions-1); err != nil {
			return err
		}
		return insertInteraction(ctx, tx, digestOf(id), digestOf(session.ID), session.AccountID, req.ClientID, string(text),
			s.cfg.Now().Add(InteractionLife))
	})
	if err != nil {
		return nil, fmt.Errorf("store an interaction: %w", err)
	}
	to := targetOf(req.RedirectURI)
	return Consent{
		Interaction: id, ClientID: req.ClientID, ClientName: req.ClientName, ClientHost: req.Host,
		RedirectURI: req.RedirectURI, RedirectHost: to.display, FormAction: to.origin,
		Scopes: strings.Fields(req.Scope), Resources: strings.Fields(req.Resource),
	}, nil
}

// reuseConsent issues a code by remembered consent. Without that, it returns neither a decision nor an error.
func (s *Server) reuseConsent(ctx context.Context, req request, account string) (d Decision, err error) {
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		d = nil
		agreed, err := hasConsent(ctx, tx, req, account, s.cfg.Now())
		if agreed {
			d, err = s.issueCode(ctx, tx, req, account)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reuse consent: %w", err)
	}
	return d, nil
}

// Answer takes the user's answer to a [Consent]. The interaction works once, in the session in which the page was shown. It
// grants what the page showed, whatever else the form holds. Errors are internal.
func (s *Server) Answer(ctx context.Context, interaction string, session SessionRef, allow bool) (Decision, error) {
	d := Decision(badRequest("This page has expired or was answered already. Please start again from the application.", ""))
	if !session.signedIn() || !wellFormed(interaction, interactionPrefix) {
		return d, nil
	}
	err := s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		text, err := takeInteraction(ctx, tx, digestOf(interaction), digestOf(session.ID), session.AccountID, s.cfg.Now())
		if store.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var req request
		if err := json.Unmarshal([]byte(text), &req); err != nil {
			return err
		}
		if !allow {
			d = Redirect{req.errorURL(s.cfg.Issuer, &oauthError{errAccessDenied, "the user denied access"})}
			return nil
		}
		if req.rememberable() {
			if err := rememberConsent(ctx, tx, req, session.AccountID, s.cfg.Now().Add(GrantLife)); err != nil {
				return err
			}
		}
		d, err = s.issueCode(ctx, tx, req, session.AccountID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("answer an interaction: %w", err)
	}
	return d, nil
}

// issueCode stores a code and returns the redirect that sends it to the client.
func (s *Server) issueCode(ctx context.Context, tx store.Tx, req request, account string) (Decision, error) {
	code := newSecret(codePrefix)
	err := insertCode(ctx, tx, digestOf(code), codeRow{
		grant: store.NewID("grant"), account: account, client: req.ClientID, clientName: req.ClientName,
		redirect: req.RedirectURI, challenge: req.Challenge, scope: req.Scope, resource: req.Resource,
		expires: s.cfg.Now().Add(CodeLife),
	})
	if err != nil {
		return nil, err
	}
	return Redirect{req.answerURL(s.cfg.Issuer, url.Values{"code": {code}})}, nil
}

// client finds a client by its id: the URL of its metadata document, or the id of a registration. The fetch of a document
// counts for the address from. Errors are errUnknownClient, a *documentError, or internal.
func (s *Server) client(ctx context.Context, id string, from netip.Addr) (client, error) {
	if strings.HasPrefix(id, "https://") {
		return s.documents.client(ctx, id, from)
	}
	if !plainID(id) {
		return client{}, errUnknownClient
	}
	var c client
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		c, err = selectClient(ctx, tx, id)
		return err
	})
	if store.IsNoRows(err) {
		return client{}, errUnknownClient
	}
	if err != nil {
		return client{}, fmt.Errorf("look up a client: %w", err)
	}
	c.name = s.displayName(c.name)
	return c, nil
}

// displayName returns the stored name of a client, or none if today's rules refuse it.
func (s *Server) displayName(name string) string {
	if checkName(name, s.ownNames) != nil {
		return ""
	}
	return name
}

// plainID reports whether id may come from [store.NewID].
func plainID(id string) bool { return len(id) <= 64 && base64url(id) }
