package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/ratelimit"
)

// A Failure is the body of every error answer.
type Failure struct {
	Error Problem `json:"error"`
}

// A Problem says what failed, in words for the caller.
type Problem struct {
	Code      fault.Code    `json:"code"`
	Message   string        `json:"message"`
	RequestID string        `json:"request_id"`
	Details   []fault.Field `json:"details,omitempty"`
	Signed    string        `json:"canonical_string,omitempty"`
}

// A detailed problem is the same as RFC 9457 has it.
type detailed struct {
	Type      string        `json:"type"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Detail    string        `json:"detail"`
	Code      fault.Code    `json:"code"`
	RequestID string        `json:"request_id"`
	Details   []fault.Field `json:"details,omitempty"`
	Signed    string        `json:"canonical_string,omitempty"`
}

var errPanic = errors.New("panic")

// StatusClientGone is what the log shows for a caller who left before the answer.
const StatusClientGone = 499

// WriteError answers with err as the caller may see it: the error body, or a problem document where the request
// prefers application/problem+json. It sets the status, Retry-After, and for a missing, bad or insufficient token the
// challenge of the resource. An error of ours is logged here, once. Nothing may have been written before.
func (mw *Stack) WriteError(w http.ResponseWriter, r *http.Request, resource string, err error) {
	f := mw.Expose(r.Context(), err)
	status := f.Code.Status()
	if f.Code == fault.Internal && r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		status = StatusClientGone
	}
	h := w.Header()
	for _, name := range []string{"Content-Encoding", "Etag", "Last-Modified", "Content-Length"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	ratelimit.WriteRetryAfter(h, f.Retry)
	if resource != "" && challenged(f.Code) {
		h.Set("Www-Authenticate", mw.Challenge(resource, f))
	}
	body := mw.encode(r, h, f)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// Expose returns what the caller may see of err, and logs it with the request id if it is ours. A transport that answers
// errors in another form than WriteError does calls it exactly once for each.
func (mw *Stack) Expose(ctx context.Context, err error) *fault.Error {
	f := fault.From(err)
	if f.Code != fault.Internal {
		return f
	}
	rec := accessRecordFrom(ctx)
	if rec != nil && rec.failed || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return f
	}
	if rec != nil {
		rec.failed = true
	}
	mw.Report(ctx, err)
	return f
}

// Report logs an error of ours that does not fail the request. Operations reach it with [op.Report].
func (mw *Stack) Report(ctx context.Context, err error) {
	mw.cfg.Logger.LogAttrs(ctx, slog.LevelError, "internal error", slog.String("id", RequestID(ctx)), slog.String("error", err.Error()))
}

func (mw *Stack) encode(r *http.Request, h http.Header, f *fault.Error) []byte {
	id := RequestID(r.Context())
	if wantsProblem(r) {
		h.Set("Content-Type", "application/problem+json")
		return marshal(detailed{
			Type: mw.cfg.BaseURL + "/docs#" + string(f.Code), Title: f.Code.Title(), Status: f.Code.Status(),
			Detail: f.Message(), Code: f.Code, RequestID: id, Details: f.Fields, Signed: f.Signed,
		})
	}
	h.Set("Content-Type", "application/json")
	return marshal(NewFailure(f, id))
}

// NewFailure is the error body of f for the request of that id.
func NewFailure(f *fault.Error, id string) Failure {
	return Failure{Problem{Code: f.Code, Message: f.Message(), RequestID: id, Details: f.Fields, Signed: f.Signed}}
}

func marshal(v any) []byte {
	b, err := op.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("middleware: encoding an error: %v", err)) // strings and numbers alone
	}
	return append(b, '\n')
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
