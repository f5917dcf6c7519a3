package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// A Partner API is operations whose requests are signed.
type Partner struct {
	Set        *op.Set
	Signatures Signatures
}

// Signatures tell whose a request is.
type Signatures interface {
	// Verify holds a request against its signature, and returns the context in which it goes on for its caller. It looks
	// first at all that can be seen without the body, and asks for the SHA-256 of that last; a body of which keep says
	// that it cannot be good is read as long, and not kept. A *[fault.Error] is the sender's.
	Verify(r *http.Request, body func(keep bool) ([sha256.Size]byte, error)) (context.Context, error)

	// Admit lets a request that Verify let pass through once, and no more often than its caller may ask; the header
	// gets what is left of the limit. The operation is nil where the path or the method has none.
	Admit(r *http.Request, o *op.Op, h http.Header) error
}

// signedPrefix is the part of the paths where requests are signed, of unknown ones too.
const signedPrefix = "/api/partner/"

// signed handles requests for the operations of a [Partner]. It looks at a request in the order of the contract: size,
// headers, key, then the body and its signature, nonce and limit, and only then at path, method, scope and input.
type signed struct {
	*server
	signatures Signatures
	mux        *http.ServeMux
}

func (s *server) newSigned(p *Partner) *signed {
	mw := &signed{server: s, signatures: p.Signatures, mux: http.NewServeMux()}
	for path, methods := range byPath(p.Set.All()) {
		mw.mux.Handle(path, signedResource{mw, s.newResource(methods)})
	}
	mw.mux.HandleFunc("/", mw.nothing)
	return mw
}

func (mw *signed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !clean(r.URL.Path) {
		mw.nothing(w, r)
		return
	}
	mw.mux.ServeHTTP(w, r)
}

// enter lets a request in, or answers why not.
func (mw *signed) enter(w http.ResponseWriter, r *http.Request, o *op.Op) (entered *http.Request, body []byte, ok bool) {
	u := upload{mw: mw.mw, w: w, r: r, limit: op.MaxBody, kept: o != nil}
	if o != nil {
		u.limit = o.MaxBody
	}
	ctx, err := u.verify(mw.signatures)
	if err != nil {
		mw.turnAway(w, r, err, u.charged)
		return nil, nil, false
	}
	if u.charged {
		mw.mw.Refund(w, r, unsigned)
	}
	r = r.WithContext(ctx)
	middleware.Note(r.Context(), "", middleware.Partner)
	if err := mw.signatures.Admit(r, o, w.Header()); err != nil {
		mw.fail(w, r, err)
		return nil, nil, false
	}
	return r, u.body, true
}

// unsigned is what a request costs the address of its sender as long as its signature has not been seen to hold.
var unsigned = []op.Charge{{Class: op.Unsigned, Count: 1}}

// An upload is the body of a request whose sender is not known yet.
type upload struct {
	mw      *middleware.Stack
	w       http.ResponseWriter
	r       *http.Request
	limit   int64
	kept    bool // the path has an operation, which may need the body
	body    []byte
	charged bool // for the reading of it
}

func (u *upload) verify(s Signatures) (context.Context, error) {
	if u.r.ContentLength > u.limit { // before everything
		_, err := middleware.ReadBody(u.r, u.limit)
		return nil, err
	}
	return s.Verify(u.r, u.read)
}

// read reads the body and returns its digest. One that is large costs its sender before it is read, so that no client can
// have many of them read at once.
func (u *upload) read(keep bool) (digest [sha256.Size]byte, err error) {
	if u.r.ContentLength < 0 || u.r.ContentLength > middleware.SmallBody {
		if err := u.mw.Charge(u.w, u.r, unsigned); err != nil {
			return digest, err
		}
		u.charged = true
	}
	if keep && u.kept {
		u.body, err = middleware.ReadBody(u.r, u.limit)
		return sha256.Sum256(u.body), err
	}
	sum := sha256.New()
	err = middleware.SpillBody(sum, u.r, u.limit)
	sum.Sum(digest[:0])
	return digest, err
}

// turnAway answers a request whose signature does not hold. It costs the sender's address, since the credential that it
// names may not be the sender's.
func (mw *signed) turnAway(w http.ResponseWriter, r *http.Request, err error, charged bool) {
	if status := fault.From(err).Code.Status(); status < http.StatusInternalServerError && !charged {
		if limited := mw.mw.Charge(w, r, unsigned); limited != nil {
			err = limited
		}
	}
	mw.fail(w, r, err)
}

// nothing answers on unknown paths.
func (mw *signed) nothing(w http.ResponseWriter, r *http.Request) {
	if r, _, ok := mw.enter(w, r, nil); ok {
		mw.fail(w, r, fault.New(fault.NotFound, "there is nothing at this path").WithHint("see %s/openapi.json for the paths there are", mw.mw.BaseURL()))
	}
}

// A signedResource is a path below signedPrefix.
type signedResource struct {
	mw *signed
	*resource
}

func (res signedResource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := res.endpoints[r.Method]
	if e == nil {
		if r, _, ok := res.mw.enter(w, r, nil); ok {
			w.Header().Set("Allow", res.allow)
			res.fail(w, r, fault.New(fault.MethodNotAllowed, "this path does not take the method").WithHint("use %s", res.allow))
		}
		return
	}
	middleware.Note(r.Context(), e.op.Name, "")
	if r, body, ok := res.mw.enter(w, r, e.op); ok {
		if e.op.Exports() && wantsCSV(r) {
			e.export(w, r, body)
			return
		}
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
	raw, err := e.signedInput(r, body)
	if err != nil {
		return op.Answer{}, err
	}
	return e.op.Call(r.Context(), raw)
}

// signedInput is the input of a request whose caller has the scope for it.
func (e *endpoint) signedInput(r *http.Request, body []byte) ([]byte, error) {
	if err := op.CallerFrom(r.Context()).Need(e.op.Scope); err != nil {
		return nil, err
	}
	// A semicolon is a character like any other in a signed query, where net/url takes it for a mistake.
	query := strings.ReplaceAll(r.URL.RawQuery, ";", "%3B")
	return e.gather(r, query, func() ([]byte, error) { return e.signedBody(r, body) })
}

// signedBody is the body as JSON. One that has nothing to say may be left out.
func (e *endpoint) signedBody(r *http.Request, body []byte) ([]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 && len(e.op.In.Properties) == len(e.path) {
		return []byte("{}"), nil
	}
	return body, checkBody(r.Header)
}
