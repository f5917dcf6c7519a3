package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
)

func TestFromHidesWhatIsOurs(t *testing.T) {
	t.Parallel()
	secret := errors.New("password is hunter2")
	f := fault.From(fmt.Errorf("open vault: %w", secret))
	if f.Code != fault.Internal || f.Code.Status() != http.StatusInternalServerError || f.Message() == "" || errors.Is(f, secret) == false {
		t.Errorf("got %+v, want an internal error that wraps the cause for the log", f)
	}
	if got := f.Message(); got != "something failed on our side; retry with exponential back-off, and send us the request id if it lasts" {
		t.Errorf("the message is %q", got)
	}
	if f := fault.From(nil); f != nil {
		t.Errorf("From(nil) = %v", f)
	}
	if f := fault.From(fmt.Errorf("wait: %w", context.DeadlineExceeded)); f.Code != fault.Unavailable || f.RetrySeconds() != 5 {
		t.Errorf("a passed deadline: %+v", f)
	}
	known := fault.New(fault.Conflict, "sold already")
	if f := fault.From(fmt.Errorf("order: %w", known)); f != known {
		t.Errorf("a fault inside: %+v", f)
	}
}

func TestCopiesDoNotShare(t *testing.T) {
	t.Parallel()
	first := fault.Invalid("a", "must be at most %d", 5)
	second := first.WithField("b", "is required").WithHint("mend both").WithRetry(1500 * time.Millisecond).WithScope("s")
	if len(first.Fields) != 1 || first.Hint != "" || first.Retry != 0 || first.Scope != "" {
		t.Errorf("the first changed: %+v", first)
	}
	if second.Message() != "a must be at most 5; mend both" || second.RetrySeconds() != 2 || len(second.Fields) != 2 {
		t.Errorf("got %+v, %q", second, second.Message())
	}
}

// An error of the database stood in the message of a 409.
func TestCausesAreNotShown(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("ERROR: could not serialize access, relation %q (SQLSTATE 40001)", "orders")
	wrapped := fmt.Errorf("keep an answer: %w", cause)
	for name, f := range map[string]*fault.Error{
		"as an argument":      fault.New(fault.Conflict, "another request: %v", cause),
		"wrapped":             fault.New(fault.Conflict, "another request: %s", wrapped),
		"quoted":              fault.New(fault.Conflict, "another request: %q", cause),
		"of a field":          fault.Invalid("domain", "is %v", cause),
		"in a hint":           fault.New(fault.Conflict, "no").WithHint("repeat after %v", wrapped),
		"as a cause":          fault.New(fault.Conflict, "another request").WithCause(wrapped),
		"of what we know not": fault.From(wrapped),
	} {
		if text := fmt.Sprint(f.Message(), f.Fields, f); strings.Contains(text, "SQLSTATE") || strings.Contains(text, "orders") || strings.Contains(text, "serialize") {
			t.Errorf("%s: it is shown: %s", name, text)
		}
	}
}

func TestCauseIsKept(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.Unavailable, "no answer").WithCause(io.ErrUnexpectedEOF).WithHint("wait")
	if !errors.Is(f, io.ErrUnexpectedEOF) || f.Error() != "unavailable: no answer; wait" {
		t.Errorf("got %v", f)
	}
	if !fault.Is(fmt.Errorf("x: %w", f), fault.Unavailable) || fault.Is(f, fault.NotFound) || fault.Is(io.EOF, fault.NotFound) {
		t.Error("Is is wrong about codes")
	}
}

// Texts that were written for callers are shown, however deep they are.
func TestWordsAreShown(t *testing.T) {
	t.Parallel()
	told := fault.Words("the time is over")
	f := fault.New(fault.Unavailable, "DNS did not tell: %s", fmt.Errorf("ask 192.0.2.1: %w", told))
	if f.Message() != "DNS did not tell: the time is over" {
		t.Errorf("got %q", f.Message())
	}
	if f := fault.Invalid("domain", "%s", told); f.Message() != "domain the time is over" || f.Fields[0].Reason != "the time is over" {
		t.Errorf("got %+v", f)
	}
}

func TestUnknownCodesAreOurs(t *testing.T) {
	t.Parallel()
	if got := fault.Code("nonsense").Status(); got != http.StatusInternalServerError {
		t.Errorf("got %d", got)
	}
}

func ExampleInvalid() {
	err := fault.Invalid("limit", "must be at most %d", 100).WithHint("page with cursor instead")
	fmt.Println(err.Code.Status(), err.Message())
	// Output: 400 limit must be at most 100; page with cursor instead
}
