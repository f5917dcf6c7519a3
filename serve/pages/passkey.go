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

// A ceremony is what the script hands to the browser, and brings back.
type ceremony struct {
	Options json.RawMessage `json:"options"`
	Flow    string          `json:"flow"`
}

// A signature is what the browser made of a ceremony.
type signature struct {
	Flow       string          `json:"flow"`
	Credential json.RawMessage `json:"credential"`
	Name       string          `json:"name"`   // of a passkey that is added; comes at the beginning too
	Return     string          `json:"return"` // of a sign-in
}

// A destination is where the script goes next.
type destination struct {
	Location string `json:"location"`
}

func (p *Pages) beginPasskeySignIn(v *visit) (answer, error) {
	options, flow, err := p.accounts.BeginLogin(v.Context())
	return answer{json: ceremony{options, flow}}, err
}

func (p *Pages) finishPasskeySignIn(v *visit) (answer, error) {
	s, err := readSignature(v)
	if err != nil {
		return answer{}, err
	}
	who, err := p.accounts.FinishLogin(v.Context(), s.Flow, s.Credential, v.from)
	if err != nil {
		return answer{}, err
	}
	if err := p.enter(v, who.ID); err != nil {
		return answer{}, err
	}
	return answer{json: destination{ownPath(s.Return)}}, nil
}

func (p *Pages) beginPasskey(v *visit) (answer, error) {
	s, err := readSignature(v)
	if err != nil {
		return answer{}, err
	}
	options, flow, err := p.accounts.BeginRegister(v.Context(), v.session)
	if errors.Is(err, account.ErrStepUp) {
		return answer{json: destination{signInAgainFor(withQuery(passkeysPath, "name", s.Name))}}, nil
	}
	return answer{json: ceremony{options, flow}}, err
}

func (p *Pages) finishPasskey(v *visit) (answer, error) {
	s, err := readSignature(v)
	if err != nil {
		return answer{}, err
	}
	_, err = p.accounts.FinishRegister(v.Context(), v.session.AccountID, s.Flow, s.Credential, s.Name, v.from)
	return answer{json: destination{passkeysPath}}, err
}

func readSignature(v *visit) (signature, error) {
	var s signature
	if !isScript(v.Request) {
		return s, fault.New(fault.UnsupportedMediaType, "this takes JSON")
	}
	err := json.NewDecoder(v.Body).Decode(&s)
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return s, f
	}
	if err != nil {
		return s, fault.New(fault.Validation, "this cannot be read")
	}
	return s, nil
}

func (p *Pages) sendJSON(v *visit, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		p.mw.WriteError(v.w, v.Request, "", err)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text) // a browser that is gone cannot be told
}

// failJSON tells the script what failed, in words to be shown.
func (p *Pages) failJSON(v *visit, err error) {
	f := *p.mw.Expose(v.Context(), err)
	f.Detail, f.Hint = sentences(&f), ""
	p.sendJSON(v, statusOf(f.Code), middleware.NewFailure(&f, middleware.RequestID(v.Context())))
}

// script serves the one script.
func (p *Pages) script(w http.ResponseWriter, r *http.Request) {
	middleware.Note(r.Context(), "page", "")
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(scriptKeeps.Seconds())))
	h.Set("Content-Length", strconv.Itoa(len(passkeyScript)))
	_, _ = bytes.NewReader(passkeyScript).WriteTo(w)
}
