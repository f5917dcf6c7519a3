package rest

import (
	"bufio"
	"net/http"
	"time"

	"github.com/namewharf/namewharf/serve/middleware"
)

const csvMedia = "text/csv"

// csvType is the media type of exports; the first line is a header (RFC 4180, section 3).
var csvType = []string{csvMedia + "; charset=utf-8; header=present"}

// wantsCSV reports whether the client asks for CSV rather than for JSON.
func wantsCSV(r *http.Request) bool {
	weight := middleware.Accepts(r, csvMedia)
	return weight > 0 && weight >= middleware.Accepts(r, "application/json")
}

// exportBuffer is how much of an export is collected before it is sent. What fails before that is an ordinary error answer.
const exportBuffer = 32 << 10

// export streams an answer as CSV. Where it fails later, the connection is aborted, so that the client does not take the text
// for complete.
func (e *endpoint) export(w http.ResponseWriter, r *http.Request, body []byte) {
	raw, err := e.signedInput(r, body)
	if err != nil {
		e.fail(w, r, err)
		return
	}
	s := &csvStream{w: w, control: http.NewResponseController(w), vary: e.vary}
	buffer := bufio.NewWriterSize(s, exportBuffer)
	if err = e.op.Export(r.Context(), raw, buffer); err == nil {
		err = buffer.Flush()
	}
	switch {
	case err == nil:
		s.begin()
	case !s.begun:
		e.fail(w, r, err)
	default:
		panic(http.ErrAbortHandler)
	}
}

// A csvStream is the body of an export. Its headers go out with the first bytes.
type csvStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	vary    []string
	begun   bool
}

func (s *csvStream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h["Content-Type"], h["Cache-Control"], h["Vary"] = csvType, private, s.vary
	h["Link"], h["X-Content-Type-Options"] = serviceDesc, noSniff
	s.w.WriteHeader(http.StatusOK)
}

func (s *csvStream) Write(b []byte) (int, error) {
	s.begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(stallAfter)) // not every writer has one
	return s.w.Write(b)
}
