package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// An answer is the answer to one request over HTTP: what mcp-go writes to, and the carrier of what it calls.
//
// It turns into a stream of events with the first notification. mcp-go has a way to do that too, a channel that a
// goroutine empties, but the last notification and the result race there and now and then the notification is lost.
type answer struct {
	guard    *Guard
	w        http.ResponseWriter
	r        *http.Request // with the caller in its context
	resource string
	id       json.RawMessage // of the JSON-RPC request

	charged bool // the request has cost something

	mu       sync.Mutex // notifications come from several goroutines
	events   bool       // the answer is a stream of events, and has begun
	status   int        // with which mcp-go begins to answer; 0: it has not
	replaced func()     // answers instead of mcp-go; nil: nothing does
	content  []byte     // the answer of a tool, which mcp-go's result has a gap for; nil: none
	text     string     // the same for readers of text
}

var (
	_ server.HTTPResponseWriter = (*answer)(nil)
	_ carrier                   = (*answer)(nil)
)

// result leaves mcp-go a result without content to encode, and fills the gap when it writes. Given the content, mcp-go
// would read and copy it three times over, for a third of the time that a call takes.
func (a *answer) result(raw []byte, text string) *mcp.CallToolResult {
	a.content, a.text = raw, text
	if bytes.ContainsAny(raw, "\n\r\t") { // between tokens; ours never holds any, that of a remote service may
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err == nil {
			a.content = b.Bytes()
		}
	}
	return &mcp.CallToolResult{}
}

// gap is how mcp-go encodes a result without content. An id cannot hold it: its quotes would be escaped.
var gap = []byte(`"content":[]`)

// fill puts an answer in the gap of a message: as text, and as JSON.
func fill(message, content []byte, text string) []byte {
	before, after, ok := bytes.Cut(message, gap)
	if !ok {
		panic("mcp: mcp-go wrote a result without a list of content")
	}
	b := make([]byte, 0, len(message)+len(content)+len(text)+len(text)/8+64)
	b = append(b, before...)
	b = append(b, `"content":[{"type":"text","text":`...)
	b = appendQuoted(b, text)
	b = append(b, `}],"structuredContent":`...)
	b = append(b, content...)
	return append(b, after...)
}

// appendQuoted appends valid UTF-8 as a JSON string (RFC 8259, section 7).
func appendQuoted(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	b = append(b, text[from:]...)
	return append(b, '"')
}

// identify has nothing to do: the guard knows who calls.
func (a *answer) identify(ctx context.Context) (context.Context, error) { return ctx, nil }

func (a *answer) charge(charges []op.Charge) error {
	a.charged = true
	return a.guard.mw.Charge(a.w, a.r, charges)
}

func (a *answer) settle(charges, unused []op.Charge) {
	a.guard.mw.Settle(a.w, a.r, charges, unused)
}

// chargeOnce draws one call of the cheap class for a request that has not cost anything yet.
func (a *answer) chargeOnce() error {
	if a.charged {
		return nil
	}
	return a.charge([]op.Charge{{Class: op.Read, Count: 1}})
}

func (a *answer) expose(err error) *fault.Error { return a.guard.mw.Expose(a.r.Context(), err) }

func (a *answer) requestID() string { return middleware.RequestID(a.r.Context()) }

func (a *answer) refuse(f *fault.Error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events {
		return false
	}
	a.replaced = func() { a.error(f) }
	return true
}

func (a *answer) fail(failure responseError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := http.StatusOK
	if mcp.IsModernProtocol(a.r.Header.Get(mcp.HeaderProtocolVersion)) && failure.Code != mcp.INTERNAL_ERROR {
		status = http.StatusBadRequest // the protocol of 2026-07-28 gives the codes of bad requests this status
	}
	if !a.events {
		a.replaced = func() { a.failure(status, failure) }
	}
}

// notify sends a notification as an event. A client that does not take events gets none.
func (a *answer) notify(method string, params any) {
	event, err := json.Marshal(newNotification(method, params))
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.events {
		if a.status != 0 || a.replaced != nil || middleware.Accepts(a.r, "text/event-stream") == 0 {
			return
		}
		a.events = true
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		a.w.WriteHeader(http.StatusOK)
	}
	a.event(event)
}

func (a *answer) event(data []byte) {
	var b bytes.Buffer
	b.Grow(len(data) + 32)
	b.WriteString("event: message\ndata: ")
	b.Write(bytes.TrimSuffix(data, []byte("\n")))
	b.WriteString("\n\n")
	_, _ = a.w.Write(b.Bytes()) // the client may be gone
	a.flush()
}

func (a *answer) flush() {
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// Header is the header that mcp-go sets. Once the answer is a stream its header is on the way.
func (a *answer) Header() http.Header { return a.w.Header() }

// WriteHeader begins the answer, unless it has begun as a stream or something else is answered.
func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
	if over := a.chargeOnce(); over != nil { // the protocol refused a call before its tool could charge it
		a.replaced = func() { a.error(over) }
	}
	switch {
	case a.replaced != nil:
		a.replaced()
	case a.events, a.content != nil: // on its way, or to come with the length of what is written
	default:
		a.w.WriteHeader(status)
	}
}

// Write takes one message of mcp-go: the body of the answer, or one more event of the stream.
func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.replaced != nil:
		return len(p), nil
	case a.content != nil:
		message := fill(p, a.content, a.text)
		if a.events {
			a.event(message)
			return len(p), nil
		}
		a.w.Header().Set("Content-Length", strconv.Itoa(len(message)))
		a.w.WriteHeader(a.status)
		_, err := a.w.Write(message)
		return len(p), err
	case a.events:
		a.event(p)
		return len(p), nil
	}
	return a.w.Write(p)
}

// Flush sends what is buffered.
func (a *answer) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flush()
}

// CanStream reports that events reach the client as they happen.
func (a *answer) CanStream() bool {
	_, ok := a.w.(http.Flusher)
	return ok
}
