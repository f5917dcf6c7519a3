package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// How stdio ends: requests that run at the end of input have graceFinish to finish, and graceCancel more once they
// are cancelled. Together they stay within the second in which a client expects its server to be gone.
const (
	graceFinish = 800 * time.Millisecond
	graceCancel = 150 * time.Millisecond
)

// maxRunning bounds the requests of one client that run side by side; further ones wait.
const maxRunning = 256

// errTakenBack is why a request ends that its client does not want answered any more.
var errTakenBack = errors.New("taken back by the client")

// Stdio serves one client over a pair of streams, a JSON-RPC message a line, and writes nothing else to out. It
// returns within a second after the end of in, once the requests that run have been answered or, failing that,
// cancelled; or when ctx ends. A read that blocks then is left to the closing of in.
//
// mcp-go's own stdio server is not used: it cancels running calls at the end of input, has its session in a global
// variable, and takes lines of any length.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pipe{server: s, out: out, asked: map[string]*piped{}, slots: make(chan struct{}, maxRunning)}
	lines, ended := readLines(ctx, in)
	for {
		select {
		case line := <-lines:
			p.take(ctx, line)
		case err := <-ended:
			p.finish(cancel)
			return err
		case <-ctx.Done():
			p.finish(cancel)
			return context.Cause(ctx)
		}
	}
}

// readLines reads in the background. ended gets nil at the end of input, after the last line was taken.
func readLines(ctx context.Context, in io.Reader) (lines <-chan []byte, ended <-chan error) {
	to, end := make(chan []byte), make(chan error, 1)
	go func() {
		r := bufio.NewReaderSize(in, maxBody)
		for {
			line, err := readLine(r)
			if len(bytes.TrimSpace(line)) > 0 {
				select {
				case to <- line:
				case <-ctx.Done():
					return
				}
			}
			if errors.Is(err, io.EOF) {
				end <- nil
				return
			}
			if err != nil {
				end <- fmt.Errorf("reading a message: %w", err)
				return
			}
		}
	}()
	return to, end
}

// tooLong replaces a line over the bound, which is not a message.
var tooLong = []byte("too long")

func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.Clone(line), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return tooLong, err
}

// A pipe is one client on stdio.
type pipe struct {
	server  *Server
	running sync.WaitGroup
	slots   chan struct{}

	writing sync.Mutex
	out     io.Writer

	mu    sync.Mutex
	asked map[string]*piped // the requests that run, by their id
}

// take handles one line: a request in the background, everything else at once.
func (p *pipe) take(ctx context.Context, line []byte) {
	switch {
	case &line[0] == &tooLong[0]:
		p.refuse(fmt.Sprintf("a message may have at most %d KiB", maxBody>>10))
		return
	case isBatch(line):
		p.refuse("batches are not taken; send one JSON-RPC message a line")
		return
	}
	m := parse(line)
	message := &piped{pipe: p, id: m.ID, notes: make(chan mcp.JSONRPCNotification, 4)}
	switch {
	case m.cancels():
		p.takeBack(m.Params.RequestID)
	case !m.asks():
		message.serve(ctx, line)
	default:
		ctx, message.cancel = context.WithCancelCause(ctx)
		p.mu.Lock()
		p.asked[string(m.ID)] = message
		p.mu.Unlock()
		p.slots <- struct{}{}
		p.running.Go(func() {
			message.serve(ctx, line)
			p.forget(message)
			<-p.slots
		})
	}
}

func (p *pipe) refuse(reason string) {
	p.write(newFailure(nil, responseError{Code: mcp.INVALID_REQUEST, Message: reason}))
}

// takeBack cancels a request that the client does not want answered.
func (p *pipe) takeBack(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.asked[string(id)]; m != nil {
		m.cancel(errTakenBack)
	}
}

// forget lets go of a request that has been answered, unless another one has come with the same id.
func (p *pipe) forget(m *piped) {
	m.cancel(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[string(m.id)] == m {
		delete(p.asked, string(m.id))
	}
}

// finish waits for what runs, as long as the graces last.
func (p *pipe) finish(cancel context.CancelFunc) {
	done := make(chan struct{})
	go func() {
		p.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(graceFinish):
	}
	cancel()
	select {
	case <-done:
	case <-time.After(graceCancel):
	}
}

func (p *pipe) write(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		p.server.cfg.Logger.Error("encoding a message", slog.String("error", err.Error()))
		return
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, _ = p.out.Write(append(line, '\n')) // a client who is gone ends in too
}

// piped is one message on stdio: the carrier of what mcp-go calls, and the session that it asks for.
type piped struct {
	pipe     *pipe
	id       json.RawMessage
	cancel   context.CancelCauseFunc // of a request
	notes    chan mcp.JSONRPCNotification
	replaced *responseError
}

var (
	_ carrier              = (*piped)(nil)
	_ server.ClientSession = (*piped)(nil)
)

func (m *piped) serve(ctx context.Context, line []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			m.pipe.server.cfg.Logger.Error("panic", slog.String("kind", fmt.Sprintf("%T", cause)), slog.String("stack", string(debug.Stack())))
			m.fail(responseError{Code: mcp.INTERNAL_ERROR, Message: "something failed on our side"})
			m.answer(nil)
		}
	}()
	rpc := m.pipe.server.rpc
	answer := rpc.HandleMessage(withCarrier(rpc.WithContext(ctx, m), m), line)
	if context.Cause(ctx) != errTakenBack {
		m.answer(answer)
	}
}

// answer writes what the protocol wants said first, then the answer.
func (m *piped) answer(answer mcp.JSONRPCMessage) {
	for {
		select {
		case note := <-m.notes:
			m.pipe.write(note)
			continue
		default:
		}
		break
	}
	switch {
	case m.replaced != nil && m.id != nil:
		m.pipe.write(newFailure(m.id, *m.replaced))
	case answer != nil:
		m.pipe.write(answer)
	}
}

func (m *piped) result(raw []byte, text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: text}},
		StructuredContent: json.RawMessage(raw),
	}
}

func (m *piped) identify(ctx context.Context) (context.Context, error) {
	find := m.pipe.server.cfg.Caller
	if find == nil {
		return ctx, nil
	}
	caller, err := find(ctx)
	return op.WithCaller(ctx, caller), err
}

func (m *piped) charge([]op.Charge) error { return nil }

func (m *piped) settle(_, _ []op.Charge) {}

func (m *piped) expose(err error) *fault.Error {
	f := fault.From(err)
	if f.Code == fault.Internal && errors.Is(err, context.Canceled) {
		return fault.New(fault.Unavailable, "the call was ended before its answer was ready").WithHint("keep the input open until it is")
	}
	if f.Code == fault.Internal {
		m.pipe.server.cfg.Logger.Error("internal error", slog.String("error", err.Error()))
	}
	return f
}

func (m *piped) refuse(*fault.Error) bool { return false }

func (m *piped) fail(failure responseError) { m.replaced = &failure }

func (m *piped) notify(method string, params any) {
	m.pipe.write(newNotification(method, params))
}

func (m *piped) requestID() string { return "" }

// Initialize has nothing to remember: a client may ask without a handshake.
func (m *piped) Initialize() {}

// Initialized is always true.
func (m *piped) Initialized() bool { return true }

// NotificationChannel takes what mcp-go itself sends before an answer.
func (m *piped) NotificationChannel() chan<- mcp.JSONRPCNotification { return m.notes }

// SessionID is the same for every message of the one client.
func (m *piped) SessionID() string { return "stdio" }
