package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An upload is a request whose body the test sends as it likes.
type upload struct {
	conn net.Conn
	in   *bufio.Reader
}

// upload begins a request with a body of that length, from one of the addresses 127.1.0.0 to 127.1.0.255.
func (s *site) upload(t *testing.T, from byte, path, mediaType string, length int, headers ...string) *upload {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, 0, from)}}
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(25 * time.Second)); err != nil {
		t.Fatal(err)
	}
	u := &upload{conn, bufio.NewReader(conn)}
	var head strings.Builder
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", path, conn.RemoteAddr(), mediaType, length)
	for i := 0; i < len(headers); i += 2 {
		head.WriteString(headers[i] + ": " + headers[i+1] + "\r\n")
	}
	u.send(t, head.String()+"\r\n")
	return u
}

func (u *upload) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(u.conn, text); err != nil {
		t.Fatal(err)
	}
}

// answer is what comes back.
func (u *upload) answer(t *testing.T) reply {
	t.Helper()
	r, err := u.read()
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return r
}

func (u *upload) read() (reply, error) {
	resp, err := http.ReadResponse(u.in, nil)
	if err != nil {
		return reply{&http.Response{}, err.Error()}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp, string(text)}, err
}

// later is the answer when it comes.
func (u *upload) later() <-chan reply {
	answered := make(chan reply, 1)
	go func() {
		r, _ := u.read() // else it has no status
		answered <- r
	}()
	return answered
}

// closed reports whether the server closes the connection.
func (u *upload) closed() bool {
	_, err := u.in.ReadByte()
	timeout, ok := err.(net.Error)
	return err != nil && (!ok || !timeout.Timeout())
}

const form = "application/x-www-form-urlencoded"

// bodyPaths are everything that reads a body: where, as what, and how much of it at most.
var bodyPaths = map[string]struct {
	path, mediaType string
	limit           int
	named           string // the limit in the answer; empty: it is not named
}{
	"a search":       {search, "application/json", 4 << 10, "4 KiB"},
	"a check":        {check, "application/json", 64 << 10, "64 KiB"},
	"a batch":        {"/api/batch", "application/json", 256 << 10, "256 KiB"},
	"MCP":            {"/mcp", "application/json", 256 << 10, "256 KiB"},
	"a token":        {"/api/oauth/token", form, 16 << 10, "16 KiB"},
	"a revocation":   {"/api/oauth/revoke", form, 16 << 10, "16 KiB"},
	"a registration": {"/api/oauth/register", "application/json", 16 << 10, "16 KiB"},
	"signing in":     {"/signin", form, 32 << 10, ""},
	"a signed order": {partnerAPI + "/orders", "application/json", 16 << 10, "16 KiB"},
	"a signed quote": {partnerAPI + "/quotes", "application/json", 4 << 10, "4 KiB"},
}

// A body that stopped was held for half a minute, and then its sender got no answer, since the server took itself for
// the one who had been left: status 499.
func TestBodiesThatStop(t *testing.T) {
	t.Parallel()
	s := openDemo(t)
	signed := s.signedHeaders(t)
	for name, to := range bodyPaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := s.upload(t, 1, to.path, to.mediaType, to.limit, signed...)
			u.send(t, strings.Repeat(" ", to.limit-8))
			begun := time.Now()
			r := u.answer(t)
			if r.StatusCode != http.StatusRequestTimeout || r.Header.Get("Connection") != "close" && !r.Close {
				t.Errorf("got %d %q %s, want 408 and the connection closed", r.StatusCode, r.Header.Get("Connection"), r.text)
			}
			if waited := time.Since(begun); waited > 20*time.Second {
				t.Errorf("the answer came after %v", waited)
			}
			if !u.closed() {
				t.Error("the connection is open")
			}
		})
	}
	t.Run("none of it comes", func(t *testing.T) {
		t.Parallel()
		if r := s.upload(t, 2, search, "application/json", 20).answer(t); r.StatusCode != http.StatusRequestTimeout || r.problem(t).Code != "request_timeout" {
			t.Errorf("got %d %s, want 408", r.StatusCode, r.text)
		}
	})
	t.Run("in parts that never end", func(t *testing.T) {
		t.Parallel()
		u := s.chunked(t, search)
		u.send(t, "5\r\n{\"q\":\r\n")
		if r := u.answer(t); r.StatusCode != http.StatusRequestTimeout {
			t.Errorf("got %d %s, want 408", r.StatusCode, r.text)
		}
	})
	t.Run("slowly, but fast enough", func(t *testing.T) {
		t.Parallel()
		const body = `{"q":"cobaltpine.com"}`
		u := s.upload(t, 4, search, "application/json", len(body)+3500)
		for range 7 { // 500 bytes every second: half of the minimum, and over before the grace is used up
			u.send(t, strings.Repeat(" ", 500))
			time.Sleep(time.Second)
		}
		u.send(t, body)
		if r := u.answer(t); r.StatusCode != http.StatusOK {
			t.Errorf("got %d %s, want 200", r.StatusCode, r.text)
		}
	})
	t.Run("too slowly", func(t *testing.T) {
		t.Parallel()
		u := s.upload(t, 5, check, "application/json", 60<<10)
		answered := u.later()
		for range 20 {
			_, _ = io.WriteString(u.conn, "          ")
			select {
			case r := <-answered:
				if r.StatusCode != http.StatusRequestTimeout {
					t.Errorf("got %d %s, want 408", r.StatusCode, r.text)
				}
				return
			case <-time.After(time.Second):
			}
		}
		t.Error("ten bytes a second were taken for 20 seconds")
	})
}

// chunked begins a search whose body comes in parts.
func (s *site) chunked(t *testing.T, path string) *upload {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	u := &upload{conn, bufio.NewReader(conn)}
	u.send(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", path, conn.RemoteAddr()))
	return u
}

// signedHeaders are those of a signed request but for a good signature, of a key that there is.
func (s *site) signedHeaders(t *testing.T) []string {
	t.Helper()
	return []string{
		"X-Service-Key-Id", s.credential(t).KeyID, "X-Service-Timestamp", strconv.FormatInt(time.Now().Unix(), 10),
		"X-Service-Nonce", "0123456789abcdef", "X-Service-Signature", "v1=00",
	}
}

// What takes a body says how large it may be, and says so before it reads any of it.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, to := range bodyPaths {
		r := s.upload(t, 1, to.path, to.mediaType, to.limit+1).answer(t)
		if r.StatusCode != http.StatusRequestEntityTooLarge || to.named != "" && !strings.Contains(r.text, "the limit of "+to.named) {
			t.Errorf("%s: got %d %s, want 413 and %s", name, r.StatusCode, r.text, to.named)
		}
	}
	for name, to := range bodyPaths {
		body := strings.Repeat("a", to.limit)
		if r := s.do(t, "POST", to.path, body, "Content-Type", to.mediaType); r.StatusCode == http.StatusRequestEntityTooLarge {
			t.Errorf("%s: a body of %s is refused: %s", name, to.named, r.text)
		}
		if r := s.do(t, "POST", to.path, body+"a", "Content-Type", to.mediaType); r.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: a body of one byte more than %s: got %d %s, want 413", name, to.named, r.StatusCode, r.text)
		}
	}
}

// A signed request showed nothing before all of its body had been read, with any credential: its headers, its timestamp and
// the budget of its address were looked at afterwards.
func TestSignedBodiesAreReadLast(t *testing.T) {
	t.Parallel()
	s := openDemo(t)
	const orders = partnerAPI + "/orders"
	good := s.signedHeaders(t)
	with := func(name, value string) []string {
		headers := append([]string(nil), good...)
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == name {
				headers[i+1] = value
			}
		}
		return headers
	}
	for _, test := range []struct {
		name    string
		headers []string
		code    string
	}{
		{"no key", with("X-Service-Key-Id", ""), "missing_credentials"},
		{"no nonce", with("X-Service-Nonce", ""), "missing_signature_headers"},
		{"no signature", with("X-Service-Signature", ""), "missing_signature_headers"},
		{"an old timestamp", with("X-Service-Timestamp", "1760000000"), "invalid_timestamp"},
	} {
		r := s.upload(t, 1, orders, "application/json", 16<<10, test.headers...).answer(t) // without a byte of the body
		if r.StatusCode != http.StatusUnauthorized || r.problem(t).Code != test.code {
			t.Errorf("%s: got %d %s, want 401 %s", test.name, r.StatusCode, r.text, test.code)
		}
	}
	for range 3 { // which uses up the budget of that address
		var together []*upload
		for range 60 {
			together = append(together, s.upload(t, 2, orders, "application/json", 16<<10, with("X-Service-Key-Id", "")...))
		}
		for _, u := range together {
			u.answer(t)
		}
	}
	var together []*upload
	for range 30 { // as some of the budget flows back meanwhile
		together = append(together, s.upload(t, 2, orders, "application/json", 16<<10, good...))
	}
	refused := 0
	for _, u := range together {
		if r := u.answer(t); r.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("30 bodies of an address whose budget is used up, and none is refused before it is read")
	}
	t.Run("whether the key is good or not", func(t *testing.T) { // neither tells before the body has come
		answers := make(chan reply, 2)
		for _, key := range []string{good[1], "nw_sandbox_0123456789abcdef"} {
			u := s.upload(t, 3, orders, "application/json", 5000, with("X-Service-Key-Id", key)...)
			u.send(t, strings.Repeat(" ", 4990))
			if err := u.conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if _, err := u.in.Peek(1); err == nil {
				t.Error("there was an answer before the body had come")
			}
			if err := u.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			u.send(t, strings.Repeat(" ", 10))
			answers <- u.answer(t)
		}
		a, b := <-answers, <-answers
		if a.StatusCode != http.StatusUnauthorized || b.StatusCode != a.StatusCode || a.problem(t).Code != b.problem(t).Code {
			t.Errorf("got %d %s and %d %s, want the same 401", a.StatusCode, a.text, b.StatusCode, b.text)
		}
	})
}

// Bodies in memory have a budget together and for each address; what is small is read all the same.
func TestBodiesInFlight(t *testing.T) {
	t.Parallel()
	s := open(t, "-max-body-bytes-in-flight", "2MiB") // the least for strangers, and as much for one address
	const large = 200 << 10
	for i := range byte(5) {
		s.upload(t, i, "/mcp", "application/json", large).send(t, strings.Repeat(" ", large-1))
	}
	var last reply
	for range 50 { // until the five above have been read
		u := s.upload(t, 9, "/mcp", "application/json", large)
		_, _ = io.WriteString(u.conn, strings.Repeat(" ", large)) // which the answer may cut off
		if last = u.answer(t); last.StatusCode == http.StatusServiceUnavailable {
			break
		}
	}
	if last.StatusCode != http.StatusServiceUnavailable || last.Header.Get("Retry-After") == "" {
		t.Errorf("one body more: got %d %v %.300s, want 503 and Retry-After", last.StatusCode, last.Header, last.text)
	}
	if r := s.do(t, "POST", search, `{"q":"cobaltpine.com"}`); r.StatusCode != http.StatusOK {
		t.Errorf("a search beside them: got %d %s", r.StatusCode, r.text)
	}
	time.Sleep(7 * time.Second) // in which what stopped is given up
	if r := s.do(t, "POST", "/mcp", strings.Repeat(" ", large)); r.StatusCode == http.StatusServiceUnavailable {
		t.Errorf("a body after them: got %d %s", r.StatusCode, r.text)
	}
}

// One address has so many connections, and the next one makes room only where one of them is idle.
func TestConnectionsPerAddress(t *testing.T) {
	t.Parallel()
	s := open(t, "-max-conns-per-addr", "3")
	const health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	dial := func(from byte) *upload { return s.upload(t, from, search, "application/json", 20) }
	busy := []*upload{dial(1), dial(1), dial(1)}
	r := dial(1).answer(t)
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" || r.problem(t).Code != "rate_limited" {
		t.Errorf("a fourth connection: got %d %v %s, want 429", r.StatusCode, r.Header, r.text)
	}
	other := dial(2)
	other.send(t, `{"q":"quietmeadow"} `)
	if r := other.answer(t); r.StatusCode != http.StatusOK {
		t.Errorf("a connection of another address: got %d %s", r.StatusCode, r.text)
	}
	busy[0].send(t, `{"q":"quietmeadow"} `)
	if r := busy[0].answer(t); r.StatusCode != http.StatusOK {
		t.Errorf("the first of three: got %d %s", r.StatusCode, r.text)
	}
	next := dial(1) // for which that one, idle now, makes room
	next.send(t, `{"q":"quietmeadow"} `+health)
	for range 2 {
		if r := next.answer(t); r.StatusCode != http.StatusOK {
			t.Errorf("a connection in place of an idle one: got %d %s", r.StatusCode, r.text)
		}
	}
	if !busy[0].closed() {
		t.Error("the idle connection is open")
	}
}

// Behind a trusted proxy the requests of each client are counted, since the connections are the proxy's.
func TestRequestsBehindAProxy(t *testing.T) {
	t.Parallel()
	s := open(t, "-max-conns-per-addr", "2", "-trusted-proxies", "127.0.0.0/8")
	busy := func(client string) *upload {
		return s.upload(t, 1, search, "application/json", 20, "X-Forwarded-For", client)
	}
	first := make(chan reply, 3)
	for range 3 { // one of which is one too many, whichever comes last
		u := busy("192.0.2.1")
		go func() { first <- <-u.later() }()
	}
	if r := <-first; r.StatusCode != http.StatusTooManyRequests || r.problem(t).Code != "rate_limited" {
		t.Errorf("one of three requests of one client: got %d %s, want 429", r.StatusCode, r.text)
	}
	u := busy("192.0.2.2")
	u.send(t, `{"q":"quietmeadow"} `)
	if r := u.answer(t); r.StatusCode != http.StatusOK {
		t.Errorf("a request of another client: got %d %s", r.StatusCode, r.text)
	}
	<-first // the other two are given up
	<-first
}
