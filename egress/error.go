package egress

import (
	"context"
	"errors"
	"net"
	"time"
)

// A Code is the kind of an [Error].
type Code string

// The codes of [Error].
const (
	Refused   Code = "refused"   // the address, the port, the scheme or the URL is not allowed; nothing was sent
	Busy      Code = "busy"      // no slot was free in time; nothing was sent
	Timeout   Code = "timeout"   // a time limit passed
	TooLarge  Code = "too_large" // the reply is over its limit
	Truncated Code = "truncated" // the reply ended before it was complete
	Redirect  Code = "redirect"  // too many redirects, or one that is not followed
	Network   Code = "network"   // no connection, or it failed
)

// An Error is why an exchange failed. Its text holds neither addresses nor text of the server.
type Error struct {
	Code  Code
	Note  string        // a short explanation
	Retry time.Duration // when to try again; 0: not known
	Cause error         // may contain text of the server: use it with errors.Is and errors.As, do not print it
}

func (e *Error) Error() string {
	if e.Note == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Note
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func fail(code Code, note string) *Error { return &Error{Code: code, Note: note} }

var (
	// ErrAddress is the cause of errors about an address or port that is not allowed.
	ErrAddress = errors.New("the address or port is not allowed")
	// ErrUnresolved is the cause of errors about a host name without an address.
	ErrUnresolved = errors.New("the host name does not resolve")
)

// Wrap returns err as an [*Error]: the one that err wraps, else one with the code [Refused], [Timeout] or [Network].
func Wrap(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var n net.Error
	switch {
	case errors.Is(err, ErrAddress):
		return notAllowed()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &n) && n.Timeout():
		return &Error{Code: Timeout, Cause: err}
	}
	return &Error{Code: Network, Cause: err}
}

func notAllowed() *Error { return &Error{Code: Refused, Note: ErrAddress.Error(), Cause: ErrAddress} }
