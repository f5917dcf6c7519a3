package middleware

import (
	"errors"
	"io"
	"math/bits"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
)

// SmallBody is the part of each body that is not counted in the budget: about as much as the connection itself takes. A body
// of that size is read even when the budget is used up.
const SmallBody = 4 << 10

// largestChunk is how much memory a body that is still being read may have in reserve.
const largestChunk = 64 << 10

// Times of a body.
const (
	uploadGrace   = 5 * time.Second        // in which nothing need come
	longestUpload = 2 * time.Minute        // for a whole body, however steadily it comes
	lingering     = 250 * time.Millisecond // for the rest of a body that is refused
	deadlineStep  = 250 * time.Millisecond // by which a deadline may be too early: moving one costs more than a read
)

// Defaults of [BodyConfig].
const (
	DefaultBodyBytes  = 64 << 20
	DefaultUploadRate = 1 << 10
)

// MinBodyBytes is the least that [BodyConfig].Bytes may be: one body of the largest kind.
const MinBodyBytes = 1 << 20

// A BodyConfig says what request bodies may take. Both values must be positive.
type BodyConfig struct {
	Bytes int64 // of all bodies together that are in memory; at least [MinBodyBytes]
	Rate  int64 // bytes a second that a client must send, counted over uploadGrace
}

// Bodies are the budget of request bodies of a process. Every request inside [Stack.Wrap] reads its body through it:
// bytes beyond [SmallBody] are drawn as they come, whatever length was announced, and given back when the request has
// been answered. A quarter of the budget is the most that callers have who have shown no token, an eighth the most that
// one client address has. A body that does not come at the minimum rate is given up. It is safe for
// concurrent use.
type Bodies struct {
	total, strangers, each int64
	rate                   int64
	perByte                time.Duration // which each byte adds to the time that a client has

	mu      sync.Mutex
	held    int64 // by all
	unknown int64 // by strangers
	clients map[netip.Prefix]int64
}

// NewBodies returns an unused budget. It panics where a bound is too small: zero never means unlimited.
func NewBodies(cfg BodyConfig) *Bodies {
	if cfg.Bytes < MinBodyBytes || cfg.Rate <= 0 {
		panic("middleware: the budget of bodies is not positive")
	}
	return &Bodies{
		total: cfg.Bytes, strangers: max(cfg.Bytes/4, MinBodyBytes), each: max(cfg.Bytes/8, MinBodyBytes),
		rate: cfg.Rate, perByte: time.Second / time.Duration(cfg.Rate), clients: map[netip.Prefix]int64{},
	}
}

// InFlight is how many bytes of bodies are drawn.
func (b *Bodies) InFlight() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// draw takes n bytes for a client or fails with [fault.Unavailable].
func (b *Bodies) draw(client netip.Prefix, stranger bool, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clients[client]+n > b.each {
		return errBusy("too many large bodies are on their way from this address")
	}
	if b.held+n > b.total || stranger && b.unknown+n > b.strangers {
		return errBusy("too many large bodies are on their way to us")
	}
	b.held += n
	b.clients[client] += n
	if stranger {
		b.unknown += n
	}
	return nil
}

// give returns what was drawn.
func (b *Bodies) give(client netip.Prefix, stranger bool, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if stranger {
		b.unknown -= n
	}
	if b.clients[client] -= n; b.clients[client] <= 0 {
		delete(b.clients, client)
	}
}

func errBusy(detail string) error {
	return fault.New(fault.Unavailable, "%s", detail).WithHint("send the request again after Retry-After").WithRetry(uploadGrace)
}

// A body is the body of one request as handlers read it. Its errors are *[fault.Error], or those of the connection.
type body struct {
	rec      *accessRecord
	mw       *Stack
	request  *http.Request
	from     io.ReadCloser
	stranger bool // the request had no token when the first bytes were drawn
	drawn    int64
	allowed  int64 // bytes that may be in memory: the small part and what is drawn
	read     int64
	ended    bool // nothing is left to read

	begun    time.Time // when the first byte was waited for
	until    time.Time // how long the next byte may take
	deadline time.Time // that the connection has
}

// open has the request's body read through b.
func (b *body) open(mw *Stack, rec *accessRecord, r *http.Request) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		b.ended = true
		return
	}
	b.rec, b.mw, b.request, b.from, b.allowed = rec, mw, r, r.Body, SmallBody
	r.Body = b
}

// client is who sends the body, as the budget sees it.
func (b *body) client() netip.Prefix { return ratelimit.Host(b.mw.ClientIP(b.request)) }

// Close leaves the body to the server, which closes it after the answer.
func (b *body) Close() error { return nil }

// Read reads on within the budget and at the minimum rate.
func (b *body) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	b.extendDeadline()
	n, err := b.from.Read(p)
	b.read += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		b.finish()
		return n, io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.rec.Header().Set("Connection", "close")
		return n, fault.New(fault.RequestTimeout, "the body did not come in time").
			WithHint("send it at once, or at least %d bytes a second", b.mw.cfg.Bodies.rate)
	case err != nil:
		return n, err
	}
	b.until = b.until.Add(time.Duration(n) * b.mw.cfg.Bodies.perByte)
	return n, b.reserve(b.read - b.allowed)
}

// extendDeadline sets the read deadline of the connection for the next byte.
func (b *body) extendDeadline() {
	now := time.Now()
	if b.begun.IsZero() {
		b.begun, b.until = now, now.Add(uploadGrace)
	}
	if most := now.Add(uploadGrace); b.until.After(most) {
		b.until = most
	}
	if last := b.begun.Add(longestUpload); b.until.After(last) {
		b.until = last
	}
	if b.until.Sub(b.deadline) >= deadlineStep {
		b.deadline = b.until
		_ = http.NewResponseController(b.rec.ResponseWriter).SetReadDeadline(b.deadline) // not every connection has one
	}
}

// finish clears the read deadline, so that the server notices when the client disconnects, and extends the write deadline
// where the body took long.
func (b *body) finish() {
	b.ended = true
	control := http.NewResponseController(b.rec.ResponseWriter)
	_ = control.SetReadDeadline(time.Time{})
	if time.Since(b.begun) < uploadGrace {
		return
	}
	if s, ok := b.rec.Context.Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		_ = control.SetWriteDeadline(time.Now().Add(s.WriteTimeout))
	}
}

// reserve draws n bytes more. Nothing is drawn where n is not positive.
func (b *body) reserve(n int64) error {
	if n <= 0 {
		return nil
	}
	if b.drawn == 0 {
		b.stranger = b.rec.caller == Anonymous
	}
	if err := b.mw.cfg.Bodies.draw(b.client(), b.stranger, n); err != nil {
		b.rec.Header().Set("Connection", "close")
		return err
	}
	b.drawn += n
	b.allowed += n
	return nil
}

// release gives back what was drawn, once the request has been answered.
func (b *body) release() {
	if b.drawn > 0 {
		b.mw.cfg.Bodies.give(b.client(), b.stranger, b.drawn)
		b.drawn = 0
	}
}

// linger bounds, before an answer begins, how long the server goes on reading a body that is not used: it reads some
// of it, so that the connection can be used again and the client gets to see the answer.
func (b *body) linger() {
	if !b.ended && b.from != nil {
		_ = http.NewResponseController(b.rec.ResponseWriter).SetReadDeadline(time.Now().Add(lingering))
	}
}

// ReadBody reads the body of a request, of at most limit bytes. It takes memory as the bytes come, not as they are
// announced. Errors are *[fault.Error]: [fault.PayloadTooLarge], before anything is read where the length is announced;
// inside [Stack.Wrap] [fault.RequestTimeout] and [fault.Unavailable]; [fault.Validation] for a body that breaks off; or
// the cause for which the request's context ended.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, errTooLarge(limit)
	}
	if r.ContentLength == 0 {
		return nil, nil
	}
	left := r.ContentLength // of the memory that the body may take yet
	if left < 0 {
		left = limit + 1 // with one byte too many it is too long
	}
	chunk, n := make([]byte, min(left, SmallBody)), 0
	chunks := [][]byte{chunk}
	defer func() { reuse(chunks[1:]) }()
	for total := int64(0); ; {
		m, err := r.Body.Read(chunk[n:])
		n += m
		total += int64(m)
		switch {
		case total > limit:
			return nil, errTooLarge(limit)
		case errors.Is(err, io.EOF) && r.ContentLength > total:
			return nil, bodyError(r, io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF), r.ContentLength == total:
			if len(chunks) == 1 {
				return chunk[:n], nil
			}
			chunks[len(chunks)-1] = chunk[:n]
			return slices.Concat(chunks...), nil
		case err != nil:
			return nil, bodyError(r, err)
		}
		if n == len(chunk) {
			size := min(2*int64(cap(chunk)), largestChunk)
			if b, ok := r.Body.(*body); ok {
				if err := b.reserve(total + size - b.allowed); err != nil {
					return nil, err
				}
			}
			chunk, n = newChunk(size)[:min(size, left-total)], 0
			chunks = append(chunks, chunk)
		}
	}
}

// spares are chunks of bodies that were read to their end or given up, by the logarithm of their size. Without them each
// wave of aborted uploads would allocate again, until the next collection.
var spares [bits.UintSize]sync.Pool

func newChunk(size int64) []byte {
	if c, ok := spares[bits.Len64(uint64(size))].Get().(*[]byte); ok {
		return *c
	}
	return make([]byte, size)
}

// reuse takes back chunks whose bytes were copied or are of no use.
func reuse(used [][]byte) {
	for _, c := range used {
		c = c[:cap(c)]
		spares[bits.Len64(uint64(len(c)))].Put(&c)
	}
}

// SpillBody reads a body as [ReadBody] does, with the same bounds and failures, but does not hold it in memory: to gets the
// bytes as they come.
func SpillBody(to io.Writer, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return errTooLarge(limit)
	}
	if r.ContentLength == 0 {
		return nil
	}
	read, err := io.CopyBuffer(to, io.LimitReader(r.Body, limit+1), make([]byte, SmallBody))
	switch {
	case err != nil:
		return bodyError(r, err)
	case read > limit:
		return errTooLarge(limit)
	}
	return nil
}

// bodyError is why a body could not be read, as the caller may see it.
func bodyError(r *http.Request, err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f
	}
	if cause := r.Context().Err(); cause != nil { // which is what the server makes of a client that is gone
		return cause
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Validation, "the body ends before its Content-Length")
	}
	return fault.New(fault.Validation, "the body could not be read")
}

// errTooLarge names the limit in the greatest unit in which it is whole.
func errTooLarge(limit int64) error {
	unit := "bytes"
	for _, greater := range []string{"KiB", "MiB"} {
		if limit%1024 == 0 && limit > 0 {
			limit, unit = limit/1024, greater
		}
	}
	return fault.New(fault.PayloadTooLarge, "the body is over the limit of %d %s", limit, unit).WithHint("send less at once")
}
