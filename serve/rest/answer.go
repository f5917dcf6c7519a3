package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/op"
)

// cacheControl is the Cache-Control field of a public answer of o.
func cacheControl(o *op.Op) string {
	switch {
	case o.Effect != op.Reads || o.Route.Method != http.MethodGet:
		return "no-store"
	case o.MaxAge <= 0:
		return "no-cache"
	}
	return fmt.Sprintf("public, max-age=%d", int(o.MaxAge/time.Second))
}

var repeated = []string{"true"}

// answer sends a result.
func (e *endpoint) answer(w http.ResponseWriter, r *http.Request, a op.Answer) {
	h := w.Header()
	h["Vary"] = e.vary
	control := private
	if a.Public {
		control = e.public
	}
	h["Cache-Control"] = control
	status := e.op.Route.Status
	if a.Status != 0 {
		status = a.Status
	}
	if a.Repeated {
		h["Idempotency-Replayed"] = repeated
	}
	e.send(w, r, status, representation{body: a.JSON, etag: a.ETag, mediaType: jsonType, shared: a.Public})
}

// A representation is a body with its metadata (RFC 9110, section 3.2).
type representation struct {
	body      []byte
	etag      string // strong, of the body as it is
	mediaType []string
	shared    bool // its compressed form is worth keeping: it is public and may be asked for again
}

// send answers with the representation, or that the client has it already, compressed as the client accepts it. Vary
// and Cache-Control are the caller's part.
func (s *server) send(w http.ResponseWriter, r *http.Request, status int, p representation) {
	h := w.Header()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		// Weak, since one validator is used for every content coding of the same answer (RFC 9110, section 8.8.1).
		h["Etag"] = []string{"W/" + p.etag}
		if matches(r.Header["If-None-Match"], p.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h["Link"], h["X-Content-Type-Options"] = serviceDesc, noSniff
	body := p.body
	if coding := negotiate(r.Header["Accept-Encoding"]); coding != identity && len(body) >= minPacked {
		body = s.packed.pack(coding, p)
		h["Content-Encoding"] = codingNames[coding]
	}
	h["Content-Type"] = p.mediaType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// matches reports whether an If-None-Match header names the entity, compared weakly (RFC 9110, section 13.1.2).
func matches(headers []string, etag string) bool {
	for _, list := range headers {
		for list = strings.TrimLeft(list, " \t,"); list != ""; list = strings.TrimLeft(list, " \t,") {
			if list[0] == '*' {
				return true
			}
			list = strings.TrimPrefix(list, "W/")
			if list[0:min(1, len(list))] != `"` {
				break // not an entity tag, and nothing behind it can be trusted to be one
			}
			end := strings.IndexByte(list[1:], '"')
			if end < 0 {
				break
			}
			if list[:end+2] == etag {
				return true
			}
			list = list[end+2:]
		}
	}
	return false
}
