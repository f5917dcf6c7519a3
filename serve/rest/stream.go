package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Times of an event stream.
const (
	heartbeat  = 10 * time.Second // prevents proxies from closing an idle stream
	stallAfter = 10 * time.Second // a client that reads nothing for so long is disconnected
)

var (
	streamType = []string{"text/event-stream"}
	noStore    = []string{"no-store"}
)

// wantsStream reports whether the client asks for server-sent events rather than for one JSON document.
func wantsStream(r *http.Request) bool {
	for _, accept := range r.Header["Accept"] {
		if strings.Contains(accept, "event-stream") {
			stream := middleware.Accepts(r, "text/event-stream")
			return stream > 0 && stream >= middleware.Accepts(r, "application/json")
		}
	}
	return false
}

// stream answers as server-sent events: `result` for each part of the answer that is known early, `progress` for a
// step without one, then `done` with the rest of the answer. What fails before the first event is an ordinary error
// answer, what fails later an `error` event with the same body. The stream ends with done or error.
func (e *endpoint) stream(w http.ResponseWriter, r *http.Request, raw []byte) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &eventStream{w: w, control: http.NewResponseController(w), vary: e.vary, cancel: cancel}
	ctx = op.WithEmitter(ctx, s.emit)
	call, err := e.op.Begin(ctx, raw)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	if err := e.mw.Charge(w, r, call.Charges); err != nil {
		e.fail(w, r, err)
		return
	}
	answer, err := s.run(ctx, call)
	switch {
	case err != nil && !s.begun:
		e.fail(w, r, err)
	case err != nil:
		f := e.mw.Expose(r.Context(), err)
		body, _ := json.Marshal(middleware.NewFailure(f, middleware.RequestID(r.Context())))
		s.send("error", body)
	default:
		e.mw.Settle(w, r, call.Charges, answer.Unused)
		s.send("done", rest(answer.JSON, s.sent))
	}
}

// An eventStream writes events, from several goroutines if need be. Its headers go out with the first of them.
type eventStream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	vary    []string
	cancel  context.CancelFunc // stops the operation when the client is gone
	begun   bool
	sent    map[string]bool // the encoded results sent
}

// run runs the call with a heartbeat beside it.
func (s *eventStream) run(ctx context.Context, call *op.Call) (op.Answer, error) {
	stop := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.write([]byte(": still at it\n\n"))
			case <-stop:
				return
			}
		}
	})
	defer beating.Wait()
	defer close(stop)
	return call.Run(ctx)
}

func (s *eventStream) emit(e op.Event) {
	if e.Item == nil {
		body, _ := json.Marshal(progress{e.Done, e.Total})
		s.send("progress", body)
		return
	}
	body, err := op.Marshal(e.Item)
	if err != nil {
		return // the encoding of the whole answer reports it
	}
	s.mu.Lock()
	if s.sent == nil {
		s.sent = map[string]bool{}
	}
	s.sent[string(body)] = true
	s.mu.Unlock()
	s.send("result", body)
}

type progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// send writes one event. The data is JSON on one line.
func (s *eventStream) send(event string, data []byte) {
	var b bytes.Buffer
	b.Grow(len(event) + len(data) + 16)
	b.WriteString("event: ")
	b.WriteString(event)
	b.WriteString("\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	s.write(b.Bytes())
}

func (s *eventStream) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h["Content-Type"] = streamType
		h["Cache-Control"] = noStore
		h["Vary"] = s.vary
		h.Set("X-Accel-Buffering", "no") // nginx would collect the events
		s.w.WriteHeader(http.StatusOK)
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(stallAfter)) // not every writer has one
	if _, err := s.w.Write(b); err != nil {
		s.cancel()
		return
	}
	if err := s.control.Flush(); err != nil {
		s.cancel()
	}
}

// rest is the answer without what was streamed: elements of its lists that were sent are left out, and so is a list
// of which nothing remains. An element that was sent in another form stays.
func rest(answer []byte, sent map[string]bool) []byte {
	if len(sent) == 0 {
		return answer
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	if _, err := dec.Token(); err != nil {
		return answer
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return answer
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return answer
		}
		value, keep := remaining(value, sent)
		if !keep {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(name)
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// remaining is a list without the elements sent. Other values, and lists of which nothing was sent, stay whole.
func remaining(value json.RawMessage, sent map[string]bool) (left json.RawMessage, keep bool) {
	if value[0] != '[' {
		return value, true
	}
	var list, others []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return value, true
	}
	for _, item := range list {
		if !sent[string(item)] {
			others = append(others, item)
		}
	}
	switch len(others) {
	case len(list):
		return value, true
	case 0:
		return nil, false
	}
	left = append(left, '[')
	for i, item := range others {
		if i > 0 {
			left = append(left, ',')
		}
		left = append(left, item...)
	}
	return append(left, ']'), true
}
