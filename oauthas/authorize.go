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

// An AuthorizeRequest is what came to the authorization endpoint: the query of a GET, or the form of a POST.
type AuthorizeRequest struct {
	Params  url.Values
	Session SessionRef
	Method  string     // empty: GET
	From    netip.Addr // of the person's browser, to which the fetch of a client's document is charged
}

// A Decision is the response to the user's browser: an [ErrorPage], a [SignIn], a [Consent] or a [Redirect].
type Decision interface{ decision() }

// An ErrorPage tells the person that the application made a mistake. It must lead nowhere.
type ErrorPage struct {
	Status int
	Text   string        // a sentence or two for the person
	Detail string        // for the application's developer: an OAuth error code and its description; may be empty
	Retry  time.Duration // after which the same may work; 0: not known
}

// SignIn asks the person to sign in and then to come back with the same request.
type SignIn struct{}

// A Consent is the content of the consent page. [Server.Answer] takes the answer, within [InteractionLife].
type Consent struct {
	Interaction  string   // a one-time secret for the form
	ClientID     string   // its id; for a client with a document, the address of that
	ClientName   string   // what the client calls itself, unverified; empty: it does not say
	ClientHost   string   // whose document describes the client; empty: it registered itself
	RedirectURI  string   // where the answer goes
	RedirectHost string   // its host and port in ASCII (an A-label is shown as such), or "scheme:" of an application
	FormAction   string   // a CSP source that form-action must name besides 'self'
	Scopes       []string // what is asked for
	Resources    []string // where it holds
}

// A Redirect sends the browser to URL with 303.
type Redirect struct{ URL string }

func (ErrorPage) decision() {}
func (SignIn) decision()    {}
func (Consent) decision()   {}
func (Redirect) decision()  {}

var errUnknownClient = errors.New("unknown client")

// Authorize decides what to do with an authorization request (RFC 6749, section 4.1.1). Mistakes in client and
// redirect are always a page; later ones are sent to the client only when a user is signed in, so that a link cannot
// be used as an open redirect. An error is [fault.RateLimited], for an account that is asked very
// often, or ours.
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
			return badRequest("The application asked in a way that cannot be answered.", refusal.code+": "+refusal.description), nil
		}
		req.RedirectURI = redirect
		return Redirect{req.errorURL(s.cfg.Issuer, refusal)}, nil
	}
	return s.requestConsent(ctx, req, r.Session)
}

func badRequest(text, detail string) ErrorPage {
	return ErrorPage{Status: http.StatusBadRequest, Text: text, Detail: detail}
}

// page tells the person, who can do something about it only where that is to wait.
func (e *documentError) page() ErrorPage {
	if e.status == 0 {
		return badRequest("The application's description of itself cannot be used.", e.reason)
	}
	return ErrorPage{
		Status: e.status, Text: "The application's description of itself could not be read just now. Please try again in a moment.",
		Detail: e.reason, Retry: e.retry,
	}
}

// requestConsent returns the consent page of a valid request, the sign-in page without a session, or the answer where
// consent is remembered.
func (s *Server) requestConsent(ctx context.Context, req request, session SessionRef) (Decision, error) {
	switch {
	case !session.signedIn() && req.silent:
		return badRequest("The application wanted to go on without asking, but nobody is signed in.", "login_required: nobody is signed in"), nil
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
		return Redirect{req.errorURL(s.cfg.Issuer, &oauthError{errConsentRequired, "the person has to be asked"})}, nil
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

// reuseConsent answers a request from remembered consent. Without it, it returns neither a decision nor an error.
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
		return nil, fmt.Errorf("repeat consent: %w", err)
	}
	return d, nil
}

// Answer takes the person's answer to a [Consent]. The interaction is good once, in the session it was shown in; what
// is granted is what was shown, whatever else the form holds. An error is ours.
func (s *Server) Answer(ctx context.Context, interaction string, session SessionRef, allow bool) (Decision, error) {
	d := Decision(badRequest("This question was answered already, or too long ago. Please start again from the application.", ""))
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
			d = Redirect{req.errorURL(s.cfg.Issuer, &oauthError{errAccessDenied, "the person said no"})}
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

// issueCode sends the client a code for what the account allowed.
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

// client finds a client by its id for who asks from the address: the URL of its document, or an id that was given here.
// Errors are errUnknownClient, a *documentError, or ours.
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

// displayName is the name of a client that was stored, or none where it would not be taken any more.
func (s *Server) displayName(name string) string {
	if checkName(name, s.ownNames) != nil {
		return ""
	}
	return name
}

// plainID reports whether id has the form of one that [store.NewID] makes.
func plainID(id string) bool { return len(id) <= 64 && base64url(id) }
