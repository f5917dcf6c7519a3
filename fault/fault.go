// Package fault says how a request can fail: one table of codes, one error type.
//
// An error that the caller can act on is an [*Error]. Every other error is ours:
// a transport answers it as [Internal] without its text.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// A Code names a kind of failure on the wire. The set is closed: see [Codes].
type Code string

// The codes of the public and the partner API. [Codes] lists them with status and meaning.
const (
	Validation             Code = "validation_error"
	MissingIdempotencyKey  Code = "missing_idempotency_key"
	AuthenticationRequired Code = "authentication_required"
	InvalidToken           Code = "invalid_token"
	MissingCredentials     Code = "missing_credentials"
	MissingSignature       Code = "missing_signature_headers"
	InvalidTimestamp       Code = "invalid_timestamp"
	InvalidSignature       Code = "invalid_signature"
	ReplayDetected         Code = "replay_detected"
	Forbidden              Code = "forbidden"
	InsufficientScope      Code = "insufficient_scope"
	NotFound               Code = "not_found"
	MethodNotAllowed       Code = "method_not_allowed"
	RequestTimeout         Code = "request_timeout"
	Conflict               Code = "conflict"
	Gone                   Code = "gone"
	PayloadTooLarge        Code = "payload_too_large"
	UnsupportedMediaType   Code = "unsupported_media_type"
	PriceMismatch          Code = "price_mismatch"
	QuoteExpired           Code = "quote_expired"
	PaymentUnavailable     Code = "payment_unavailable"
	RateLimited            Code = "rate_limited"
	Internal               Code = "internal_error"
	Unavailable            Code = "unavailable"
)

// A Row is one line of the code table.
type Row struct {
	Code   Code
	Status int    // HTTP status
	Title  string // a short name of the kind, the same for every occurrence
	When   string // one sentence for the documentation
}

// rows is the one place where a code, its HTTP status and its meaning meet.
var rows = []Row{
	{Validation, http.StatusBadRequest, "Invalid request", "A field is missing, malformed, unknown or repeated; details name it."},
	{MissingIdempotencyKey, http.StatusBadRequest, "Idempotency key missing", "POST /orders without an Idempotency-Key header."},
	{AuthenticationRequired, http.StatusUnauthorized, "Sign-in required", "The request asks for something that only a signed-in caller may see or do."},
	{InvalidToken, http.StatusUnauthorized, "Invalid access token", "The bearer token is malformed, expired, revoked, or meant for another resource."},
	{MissingCredentials, http.StatusUnauthorized, "Credentials missing", "No X-Service-Key-Id header."},
	{MissingSignature, http.StatusUnauthorized, "Signature headers missing", "A signature header is missing, or the nonce is malformed."},
	{InvalidTimestamp, http.StatusUnauthorized, "Invalid timestamp", "The timestamp is not in Unix seconds or is more than 300 seconds away."},
	{InvalidSignature, http.StatusUnauthorized, "Invalid signature", "The signature does not match, or the key is not active."},
	{ReplayDetected, http.StatusUnauthorized, "Replay detected", "The nonce was used before."},
	{Forbidden, http.StatusForbidden, "Forbidden", "The caller is known but may not do this."},
	{InsufficientScope, http.StatusForbidden, "Insufficient scope", "The access token lacks the scope that the operation needs."},
	{NotFound, http.StatusNotFound, "Not found", "There is no such thing, or it is not the caller's."},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", "The path exists, the method does not; Allow lists those that do."},
	{RequestTimeout, http.StatusRequestTimeout, "Request timeout", "The body did not come in time, or came too slowly; the connection is closed."},
	{Conflict, http.StatusConflict, "Conflict", "The request contradicts the current state."},
	{Gone, http.StatusGone, "Gone", "What after_id names is older than the events that are kept."},
	{PayloadTooLarge, http.StatusRequestEntityTooLarge, "Payload too large", "The body is over the limit."},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", "The body is not JSON."},
	{PriceMismatch, http.StatusUnprocessableEntity, "Price mismatch", "The price sent differs from the current listing price."},
	{QuoteExpired, http.StatusUnprocessableEntity, "Quote expired", "The quote is older than 10 minutes."},
	{PaymentUnavailable, http.StatusUnprocessableEntity, "Payment unavailable", "A checkout where no payment provider is configured."},
	{RateLimited, http.StatusTooManyRequests, "Rate limit exceeded", "Wait for the seconds in Retry-After."},
	{Internal, http.StatusInternalServerError, "Internal error", "An unexpected error on our side; retry with exponential back-off."},
	{Unavailable, http.StatusServiceUnavailable, "Temporarily unavailable", "The service is starting, stopping or overloaded; retry after Retry-After."},
}

var byCode = func() map[Code]Row {
	m := make(map[Code]Row, len(rows))
	for _, r := range rows {
		m[r.Code] = r
	}
	return m
}()

// Codes returns the code table in the order of the documentation.
func Codes() []Row { return append([]Row(nil), rows...) }

// Status is the HTTP status of the code; 500 for a code that is not in the table.
func (c Code) Status() int {
	if r, ok := byCode[c]; ok {
		return r.Status
	}
	return http.StatusInternalServerError
}

// Title is the short name of the code's kind, the same for every occurrence (RFC 9457, section 3.1.3).
func (c Code) Title() string { return byCode[c].Title }

// A Field says what is wrong with one field of the input.
type Field struct {
	Field  string `json:"field" jsonschema:"the field at fault, with a dotted path and indexes in brackets"`
	Reason string `json:"reason" jsonschema:"what is wrong with it, or the value expected"`
}

// An Error is a failure that the caller can act on. Its texts never hold a rejected value, a secret,
// a token or a signature.
type Error struct {
	Code    Code
	Detail  string        // what went wrong, in plain words
	Hint    string        // what to do next; may be empty
	Fields  []Field       // the fields at fault, if any
	Retry   time.Duration // when to try again; zero: not known
	Scope   string        // the OAuth scope that would help, for [AuthenticationRequired] and [InsufficientScope]
	Signed  string        // what should have been signed, for [InvalidSignature] where partners try things out
	wrapped error
}

// New returns an error of the code with a formatted detail. An error among the arguments shows its text only where that
// was written for callers, by [Words] or a type with a method Public; what went wrong on our side is for [Error.WithCause].
func New(code Code, format string, args ...any) *Error {
	hide(args)
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Words is an error whose text is written for callers: it holds no rejected value, no secret and nothing of ours.
func Words(text string) error { return words(text) }

type words string

func (w words) Error() string { return string(w) }

// Public is the text for callers.
func (w words) Public() string { return string(w) }

// hide replaces errors among the arguments of a text for callers by what callers may know of them.
func hide(args []any) {
	for i, arg := range args {
		err, ok := arg.(error)
		if !ok {
			continue
		}
		args[i] = "a failure on our side"
		if shown, ok := errors.AsType[interface {
			error
			Public() string
		}](err); ok {
			args[i] = shown.Public()
		}
	}
}

// Invalid returns a [Validation] error about one field. The reason reads as the rest of a sentence that begins
// with the field: "is required", "must be at most 100".
func Invalid(field, reason string, args ...any) *Error {
	if len(args) > 0 {
		hide(args)
		reason = fmt.Sprintf(reason, args...)
	}
	return &Error{Code: Validation, Detail: field + " " + reason, Fields: []Field{{field, reason}}}
}

// WithHint returns a copy that tells the caller what to do next.
func (e Error) WithHint(format string, args ...any) *Error {
	hide(args)
	e.Hint = fmt.Sprintf(format, args...)
	return &e
}

// WithField returns a copy with one more field at fault.
func (e Error) WithField(field, reason string) *Error {
	e.Fields = append(append([]Field(nil), e.Fields...), Field{field, reason})
	return &e
}

// WithRetry returns a copy that says when to try again.
func (e Error) WithRetry(after time.Duration) *Error {
	e.Retry = after
	return &e
}

// WithCause returns a copy that wraps an error of ours, for [errors.Is] and the log. The caller never sees its text.
func (e Error) WithCause(err error) *Error {
	e.wrapped = err
	return &e
}

// WithSigned returns a copy that shows what should have been signed.
func (e Error) WithSigned(canonical string) *Error {
	e.Signed = canonical
	return &e
}

// WithScope returns a copy that names the OAuth scope that would help.
func (e Error) WithScope(scope string) *Error {
	e.Scope = scope
	return &e
}

// Error is the detail and the hint, as [Error.Message].
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message() }

// Message is the text for the caller: the detail, then the hint.
func (e *Error) Message() string {
	switch {
	case e.Hint == "":
		return e.Detail
	case e.Detail == "":
		return e.Hint
	}
	return e.Detail + "; " + e.Hint
}

// Unwrap returns the cause that [Error.WithCause] was given, if any.
func (e *Error) Unwrap() error { return e.wrapped }

// RetrySeconds is Retry in whole seconds, rounded up; 0 when it is not known.
func (e *Error) RetrySeconds() int {
	return int((e.Retry + time.Second - 1) / time.Second)
}

// From returns the [*Error] inside err, or an [Internal] error that hides err's text and wraps it for the log.
// A passed deadline becomes [Unavailable]. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: Unavailable, Detail: "the answer was not ready in time", Hint: "retry in a few seconds", Retry: 5 * time.Second, wrapped: err}
	}
	return &Error{Code: Internal, Detail: "something failed on our side", Hint: "retry with exponential back-off, and send us the request id if it lasts", wrapped: err}
}

// Is reports whether err is a fault of the code.
func Is(err error, code Code) bool {
	var f *Error
	return errors.As(err, &f) && f.Code == code
}

// Wrap says what was being done when err happened, for the log: "claim a name: " and its text. An [*Error] is returned as
// it is, because its text is for the caller. Wrap of nil is nil.
func Wrap(doing string, err error) error {
	if f := (*Error)(nil); err == nil || errors.As(err, &f) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
