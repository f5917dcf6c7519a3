package middleware

import (
	"context"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/namewharf/namewharf/op"
)

// A record is one request in progress. It is the request's context and its response writer in one allocation.
type accessRecord struct {
	context.Context
	http.ResponseWriter
	id        string
	header    [1]string // the id as a header value
	operation string
	caller    string
	status    int
	bytes     int64
	failed    bool // an error of ours has been logged
	asks      op.Caller
	body      body
}

type accessRecordKey struct{}

// Value finds the record itself, the caller, then the values of the context below.
func (r *accessRecord) Value(key any) any {
	switch key {
	case accessRecordKey{}:
		return r
	case op.CallerKey{}:
		return &r.asks
	}
	return r.Context.Value(key)
}

func accessRecordFrom(ctx context.Context) *accessRecord {
	r, _ := ctx.Value(accessRecordKey{}).(*accessRecord)
	return r
}

// RequestID is the id of the request that ctx belongs to; empty outside of [Stack.Wrap].
func RequestID(ctx context.Context) string {
	if r := accessRecordFrom(ctx); r != nil {
		return r.id
	}
	return ""
}

// The classes of callers in the log.
const (
	Anonymous = "anonymous"
	Account   = "account"
	Partner   = "partner"
)

// Note sets the operation and the class of caller for the access log and the metrics. Both come from small fixed sets; an
// empty one changes nothing. It must be called from the goroutine that serves the request.
func Note(ctx context.Context, operation, callerClass string) {
	r := accessRecordFrom(ctx)
	if r == nil {
		return
	}
	if operation != "" {
		r.operation = operation
	}
	if callerClass != "" {
		r.caller = callerClass
	}
}

// begin records the status with which the answer begins.
func (r *accessRecord) begin(status int) {
	r.status = status
	r.body.linger()
}

// WriteHeader sends the status and records it for the log.
func (r *accessRecord) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write sends and counts a part of the body.
func (r *accessRecord) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.begin(http.StatusOK)
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Flush sends what is buffered, if the connection can.
func (r *accessRecord) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		if r.status == 0 {
			r.begin(http.StatusOK)
		}
		f.Flush()
	}
}

// Unwrap lets [http.ResponseController] reach the connection.
func (r *accessRecord) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// NewRequestID returns 128 random bits in hexadecimal. It need not be secret, only different.
func NewRequestID() string {
	var raw [16]byte
	a, b := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		raw[i], raw[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	var text [32]byte
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// Wrap returns a handler around next that gives each request an id and the answer its X-Request-Id, has its body read
// within the budget of [Bodies], answers a panic as an internal error, and afterwards writes one line of the access log:
// id, class of caller, operation, status, bytes and time. Inside another Wrap it adds nothing, so that each transport can
// bring its own.
func (mw *Stack) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accessRecordFrom(r.Context()) != nil {
			next.ServeHTTP(w, r)
			return
		}
		begun := mw.cfg.Now()
		rec := &accessRecord{Context: r.Context(), ResponseWriter: w, id: NewRequestID(), operation: "none", caller: Anonymous}
		rec.header[0] = rec.id
		w.Header()["X-Request-Id"] = rec.header[:]
		end := mw.trace(rec, r)
		rec.Context = op.WithReporter(rec.Context, func(err error) { mw.Report(rec, err) })
		mw.cfg.Metrics.begin()
		defer func() {
			abort := mw.recovered(recover(), rec, r)
			rec.body.release()
			elapsed := mw.cfg.Now().Sub(begun)
			if rec.status == 0 {
				rec.begin(http.StatusOK) // what net/http sends for a handler that writes nothing
			}
			mw.cfg.Metrics.end(rec.operation, rec.status, elapsed)
			end()
			mw.log(rec, begun, elapsed)
			if abort {
				panic(http.ErrAbortHandler)
			}
		}()
		r = r.WithContext(rec)
		rec.body.open(mw, rec, r)
		if leave, ok := mw.enter(r); ok {
			defer leave()
			next.ServeHTTP(rec, r)
			return
		}
		mw.WriteError(rec, r, "", errCrowded(mw.cfg.PerAddress))
	})
}

// log writes the access line. It makes the record itself, which saves the look-up of the source line.
func (mw *Stack) log(rec *accessRecord, begun time.Time, elapsed time.Duration) {
	h := mw.cfg.Logger.Handler()
	if !h.Enabled(rec.Context, slog.LevelInfo) {
		return
	}
	line := slog.NewRecord(begun.Add(elapsed), slog.LevelInfo, "request", 0)
	line.AddAttrs(
		slog.String("id", rec.id),
		slog.String("caller", rec.caller),
		slog.String("operation", rec.operation),
		slog.Int("status", rec.status),
		slog.Int64("bytes", rec.bytes),
		slog.Float64("ms", float64(elapsed.Microseconds())/1000),
	)
	_ = h.Handle(rec.Context, line) // there is no other place to report a log that fails
}

// recovered answers for a handler that panicked. It reports whether the connection must be cut, because a part of
// another answer is already on its way or because the handler asks for it.
func (mw *Stack) recovered(cause any, rec *accessRecord, r *http.Request) (abort bool) {
	if cause == nil {
		return false
	}
	if cause == http.ErrAbortHandler {
		return true
	}
	begun := rec.status != 0
	// The cause may hold what the caller sent, so only where it happened is written down.
	mw.cfg.Logger.LogAttrs(rec.Context, slog.LevelError, "panic", slog.String("id", rec.id),
		slog.String("operation", rec.operation), slog.String("kind", kindOf(cause)), slog.String("stack", string(debug.Stack())))
	rec.failed = true
	if begun {
		rec.status = http.StatusInternalServerError
		return true
	}
	mw.WriteError(rec, r.WithContext(rec), "", errPanic)
	return false
}

func kindOf(cause any) string {
	if err, ok := cause.(interface{ RuntimeError() }); ok {
		if e, ok := err.(error); ok {
			return e.Error() // "index out of range [5] with length 3": numbers of ours
		}
	}
	return "panic of type " + typeName(cause)
}

// statusLabel is a status as a metric label, without an allocation for the usual ones.
func statusLabel(status int) string {
	if status == http.StatusOK {
		return "200"
	}
	return strconv.Itoa(status)
}
