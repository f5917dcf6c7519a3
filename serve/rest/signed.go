package rest

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/door"
)

// A Partner API is operations whose requests are signed.
type Partner struct {
	Set        *op.Set
	Signatures Signatures
}

// Signatures tell whose a request is.
type Signatures interface {
	// Verify holds a request, with its whole body, against its signature, and returns the context in which it goes on
	// for its caller. A *[fault.Error] is the sender's.
	Verify(r *http.Request, body []byte) (context.Context, error)

	// Admit lets a request that Verify let pass through once, and no more often than its caller may ask; the header
	// gets what is left of the limit. The operation is nil where none stands at the path or takes the method.
	Admit(r *http.Request, o *op.Op, h http.Header) error
}

// signedPrefix is where requests are signed, whether something stands at their path or not.
const signedPrefix = "/api/partner/"

// signed is the door to the operations of a [Partner]. It looks at a request in the order of the contract: size,
// signature, nonce and limit, and only then at path, method, scope and input.
type signed struct {
	*server
	signatures Signatures
	mux        *http.ServeMux
}

func (s *server) newSigned(p *Partner) *signed {
	d := &signed{server: s, signatures: p.Signatures, mux: http.NewServeMux()}
	for path, methods := range byPath(p.Set.All()) {
		d.mux.Handle(path, signedResource{d, s.newResource(methods)})
	}
	d.mux.HandleFunc("/", d.nothing)
	return d
}

func (d *signed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !clean(r.URL.Path) {
		d.nothing(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// enter lets a request in, or answers why not.
func (d *signed) enter(w http.ResponseWriter, r *http.Request, o *op.Op) (entered *http.Request, body []byte, ok bool) {
	body, err := d.body(r)
	if err == nil {
		var ctx context.Context
		if ctx, err = d.signatures.Verify(r, body); err == nil {
			r = r.WithContext(ctx)
		}
	}
	if err != nil {
		d.turnAway(w, r, err)
		return nil, nil, false
	}
	door.Note(r.Context(), "", door.Partner)
	if err := d.signatures.Admit(r, o, w.Header()); err != nil {
		d.fail(w, r, err)
		return nil, nil, false
	}
	return r, body, true
}

// body reads the body, whatever it is, of a request that may have one.
func (d *signed) body(r *http.Request) ([]byte, error) {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ContentLength <= maxBody {
		return nil, nil
	}
	return readBody(r)
}

// turnAway answers a request whose signature does not hold. It costs the sender's address, since the credential that it
// names may not be the sender's.
func (d *signed) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	if status := fault.From(err).Code.Status(); status < http.StatusInternalServerError {
		if limited := d.door.Charge(w, r, []op.Charge{{Class: op.Unsigned, Count: 1}}); limited != nil {
			err = limited
		}
	}
	d.fail(w, r, err)
}

// nothing answers where no operation stands.
func (d *signed) nothing(w http.ResponseWriter, r *http.Request) {
	if r, _, ok := d.enter(w, r, nil); ok {
		d.fail(w, r, fault.New(fault.NotFound, "there is nothing at this path").WithHint("see %s/openapi.json for the paths there are", d.door.BaseURL()))
	}
}

// A signedResource is a path below signedPrefix.
type signedResource struct {
	door *signed
	*resource
}

func (res signedResource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := res.endpoints[r.Method]
	if e == nil {
		if r, _, ok := res.door.enter(w, r, nil); ok {
			w.Header().Set("Allow", res.allow)
			res.fail(w, r, fault.New(fault.MethodNotAllowed, "this path does not take the method").WithHint("use %s", res.allow))
		}
		return
	}
	door.Note(r.Context(), e.op.Name, "")
	if r, body, ok := res.door.enter(w, r, e.op); ok {
		answer, err := e.run(r, body)
		if err != nil {
			e.fail(w, r, err)
			return
		}
		e.answer(w, r, answer)
	}
}

// run is a request that was let in, from its scope to the answer.
func (e *endpoint) run(r *http.Request, body []byte) (op.Answer, error) {
	if err := op.CallerFrom(r.Context()).Need(e.op.Scope); err != nil {
		return op.Answer{}, err
	}
	// A semicolon is a character like any other in a signed query, where net/url takes it for a mistake.
	query := strings.ReplaceAll(r.URL.RawQuery, ";", "%3B")
	raw, err := e.gather(r, query, func() ([]byte, error) { return e.signedBody(r, body) })
	if err != nil {
		return op.Answer{}, err
	}
	return e.op.Call(r.Context(), raw)
}

// signedBody is the body as JSON. One that has nothing to say may be left out.
func (e *endpoint) signedBody(r *http.Request, body []byte) ([]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 && len(e.op.In.Properties) == len(e.path) {
		return []byte("{}"), nil
	}
	return body, checkBody(r.Header)
}
