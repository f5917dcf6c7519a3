package pages

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/serve/middleware"
)

//go:embed assets/passkey.js
var passkeyScript []byte

// passkeyOptions are the WebAuthn options for the browser, with the sealed flow.
type passkeyOptions struct {
	Options json.RawMessage `json:"options"`
	Flow    string          `json:"flow"`
}

// A passkeyResponse is the browser's answer to the WebAuthn options.
type passkeyResponse struct {
	Flow       string          `json:"flow"`
	Credential json.RawMessage `json:"credential"`
	Name       string          `json:"name"`   // of a passkey to add
	Return     string          `json:"return"` // return path of a sign-in
}

// A redirectTo is the page that the script opens next.
type redirectTo struct {
	Location string `json:"location"`
}

func (p *Pages) beginPasskeySignIn(req *request) (response, error) {
	options, flow, err := p.accounts.BeginLogin(req.Context())
	return response{json: passkeyOptions{options, flow}}, err
}

func (p *Pages) finishPasskeySignIn(req *request) (response, error) {
	s, err := readSignature(req)
	if err != nil {
		return response{}, err
	}
	who, err := p.accounts.FinishLogin(req.Context(), s.Flow, s.Credential, req.from)
	if err != nil {
		return response{}, err
	}
	if err := p.signInBrowser(req, who.ID); err != nil {
		return response{}, err
	}
	return response{json: redirectTo{localPath(s.Return)}}, nil
}

func (p *Pages) beginPasskey(req *request) (response, error) {
	s, err := readSignature(req)
	if err != nil {
		return response{}, err
	}
	options, flow, err := p.accounts.BeginRegister(req.Context(), req.session)
	if errors.Is(err, account.ErrStepUp) {
		return response{json: redirectTo{signInAgainURL(withQuery(passkeysPath, "name", s.Name))}}, nil
	}
	return response{json: passkeyOptions{options, flow}}, err
}

func (p *Pages) finishPasskey(req *request) (response, error) {
	s, err := readSignature(req)
	if err != nil {
		return response{}, err
	}
	_, err = p.accounts.FinishRegister(req.Context(), req.session.AccountID, s.Flow, s.Credential, s.Name, req.from)
	return response{json: redirectTo{passkeysPath}}, err
}

func readSignature(req *request) (passkeyResponse, error) {
	var s passkeyResponse
	if !isScript(req.Request) {
		return s, fault.New(fault.UnsupportedMediaType, "this requires JSON")
	}
	err := json.NewDecoder(req.Body).Decode(&s)
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return s, f
	}
	if err != nil {
		return s, fault.New(fault.Validation, "the request is not valid JSON")
	}
	return s, nil
}

func (p *Pages) sendJSON(req *request, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		p.mw.WriteError(req.w, req.Request, "", err)
		return
	}
	h := req.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	req.w.WriteHeader(status)
	_, _ = req.w.Write(text) // the connection may be closed
}

// failJSON sends an error to the script, with text for the user.
func (p *Pages) failJSON(req *request, err error) {
	f := *p.mw.Expose(req.Context(), err)
	f.Detail, f.Hint = sentences(&f), ""
	p.sendJSON(req, statusOf(f.Code), middleware.NewFailure(&f, middleware.RequestID(req.Context())))
}

// script serves passkey.js.
func (p *Pages) script(w http.ResponseWriter, r *http.Request) {
	middleware.Note(r.Context(), "page", "")
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(scriptMaxAge.Seconds())))
	h.Set("Content-Length", strconv.Itoa(len(passkeyScript)))
	_, _ = bytes.NewReader(passkeyScript).WriteTo(w)
}
