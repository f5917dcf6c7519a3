package rest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	const line = "GET /api/pricing/bean?bean=mocha"
	etag := request{line, nil, ""}.send(h).Header().Get("ETag")
	strong := strings.TrimPrefix(etag, "W/")
	for _, test := range []struct {
		name, match string
		status      int
	}{
		{"the same", etag, 304},
		{"the same, read as strong", strong, 304},
		{"anything", "*", 304},
		{"in a list", `"x", W/"y,z" ,` + etag, 304},
		{"another", `"x"`, 200},
		{"a part of it", strong[:8] + `"`, 200},
		{"no entity tag", strings.Trim(strong, `"`), 200},
		{"an open quote", `"` + strings.Trim(strong, `"`), 200},
		{"empty", "", 200},
		{"commas", ",,,", 200},
		{"a lone prefix", "W/", 200},
	} {
		w := request{line, []string{"If-None-Match: " + test.match}, ""}.send(h)
		if w.Code != test.status {
			t.Errorf("%s: If-None-Match: %s: got %d, want %d", test.name, test.match, w.Code, test.status)
		}
		if w.Code == 304 && (w.Body.Len() != 0 || w.Header().Get("ETag") != etag || w.Header().Get("Cache-Control") == "" || w.Header().Get("Vary") == "") {
			t.Errorf("%s: 304 with %d bytes and %v", test.name, w.Body.Len(), w.Header())
		}
	}
	if other := (request{"GET /api/pricing/bean?bean=arabica", nil, ""}).send(h).Header().Get("ETag"); other == etag {
		t.Errorf("two answers share the ETag %s", etag)
	}
}

func TestCaching(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	for _, test := range []struct {
		name string
		request
		control, vary string
		etag          bool
	}{
		{"what keeps", request{"GET /api/pricing/bean?bean=mocha", nil, ""}, "public, max-age=3600", "Accept, Accept-Encoding", true},
		{"what does not keep", request{"GET /api/beans/mocha/notes", nil, ""}, "no-cache", "Accept, Accept-Encoding", true},
		{"a question in a body", request{"POST /api/coffee/search", []string{asJSON}, `{"q":"mocha"}`}, "no-store", "Authorization, Accept, Accept-Encoding", false},
		{"what only one may see", request{"POST /api/coffee/search", []string{asJSON, reader}, `{"q":"mocha"}`}, "private, no-store", "Authorization, Accept, Accept-Encoding", false},
		{"a write", request{"POST /api/bulk/roast", []string{asJSON, owner}, `{"beans":["a"]}`}, "private, no-store", "Authorization, Accept, Accept-Encoding", false},
		{"a page", request{"GET /openapi.json", nil, ""}, "public, max-age=300", "Accept-Encoding", true},
	} {
		w := test.send(h)
		if got := w.Header(); w.Code != 200 || got.Get("Cache-Control") != test.control || got.Get("Vary") != test.vary || (got.Get("ETag") != "") != test.etag {
			t.Errorf("%s: %d %v\nwant Cache-Control %q, Vary %q, ETag %t", test.name, w.Code, got, test.control, test.vary, test.etag)
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	const long, short = "GET /api/beans/mocha/notes", "GET /api/pricing/bean?bean=mocha"
	want := request{long, nil, ""}.send(h).Body.String()
	for _, test := range []struct{ line, accept, coding string }{
		{long, "gzip", "gzip"},
		{long, "zstd", "zstd"},
		{long, "gzip, deflate, br, zstd", "zstd"},
		{long, "GZIP;q=1.0, zstd;q=0.5", "gzip"},
		{long, "gzip;q=0, zstd;q=0", ""},
		{long, "gzip;q=0.1, identity", ""},
		{long, "gzip;q=nonsense", ""},
		{long, "br, *", ""},
		{short, "gzip, zstd", ""},
	} {
		for range 2 { // the second time from what was kept
			w := request{test.line, []string{"Accept-Encoding: " + test.accept}, ""}.send(h)
			if got := w.Header().Get("Content-Encoding"); got != test.coding {
				t.Errorf("%s, Accept-Encoding: %s: got %q, want %q", test.line, test.accept, got, test.coding)
				continue
			}
			if test.line == long && unpack(t, w) != want {
				t.Errorf("Accept-Encoding: %s: the answer differs after unpacking", test.accept)
			}
		}
	}
}

func unpack(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var from io.Reader = w.Body
	var err error
	switch w.Header().Get("Content-Encoding") {
	case "gzip":
		from, err = gzip.NewReader(w.Body)
	case "zstd":
		from, err = zstd.NewReader(w.Body)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	limits := middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 6, SignedIn: 12}, op.Read: {Anonymous: 5, SignedIn: 10}}, time.Now)
	h := newHandler(limits, io.Discard)
	find := func(body string, headers ...string) *httptest.ResponseRecorder {
		return request{"POST /api/coffee/search", append(headers, asJSON), body}.send(h)
	}
	first := find(`{"q":"mocha","sizes":["s"]}`)
	if got := first.Header(); first.Code != 200 || got.Get("RateLimit") != `"lookup";r=4;t=20` || got.Get("RateLimit-Policy") != `"lookup";q=6;w=60` {
		t.Errorf("a call that costs two: %d, %q, %q", first.Code, got.Get("RateLimit"), got.Get("RateLimit-Policy"))
	}
	// Refused input, a bad token and an unreadable body cost one each.
	for _, w := range []*httptest.ResponseRecorder{find(`{}`), find(`{"q":"a"}`, "Authorization: Bearer bad"), find(`{"q":"a"}`, "Content-Type: text/plain")} {
		if w.Header().Get("RateLimit") == "" {
			t.Errorf("%d was free: %s", w.Code, w.Body)
		}
	}
	if w := find(`{"q":"mocha","sizes":["s"]}`); w.Code != 429 || w.Header().Get("Retry-After") != "10" {
		t.Errorf("a call that costs more than is left: %d, Retry-After %q; want 429, 10", w.Code, w.Header().Get("Retry-After"))
	}
	if w := find(`{"q":"mocha"}`); w.Code != 200 {
		t.Errorf("a call that costs what is left: %d %s", w.Code, w.Body)
	}
	if w := find(`{}`); w.Code != 429 {
		t.Errorf("bad input beyond the limit: %d, want 429", w.Code)
	}
	if w := find(`{"q":"mocha"}`, reader); w.Code != 200 || w.Header().Get("RateLimit-Policy") != `"lookup";q=12;w=60` {
		t.Errorf("a signed-in caller has a limit of his own: %d, %q", w.Code, w.Header().Get("RateLimit-Policy"))
	}
	if w := (request{"GET /api/pricing/bean?bean=mocha", nil, ""}).send(h); w.Code != 200 {
		t.Errorf("another class has a limit of its own: %d", w.Code)
	}
}

// readEvents reads server-sent events as "name data".
func readEvents(t *testing.T, from io.Reader) (events []string) {
	t.Helper()
	var name string
	for lines := bufio.NewScanner(from); lines.Scan(); {
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "event":
			name = value
		case "data":
			events = append(events, name+" "+value)
		}
	}
	return events
}

func TestStream(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	events := "Accept: text/event-stream"
	const small, large = `result {"name":"mocha small","price":{"masked":true}}`, `result {"name":"mocha large","price":{"masked":true}}`
	for _, test := range []struct {
		name string
		request
		want []string
	}{
		{
			"results, then the rest",
			request{"POST /api/coffee/search", []string{asJSON, events}, `{"q":"mocha"}`},
			[]string{small, large, `done {"query":"mocha","at":"2026-11-01T08:00:00Z"}`},
		},
		{
			"a result that was not streamed stands in the rest",
			request{"POST /api/coffee/search", []string{asJSON, events}, `{"q":"late"}`},
			[]string{
				strings.ReplaceAll(small, "mocha", "late"), strings.ReplaceAll(large, "mocha", "late"),
				`done {"query":"late","results":[{"name":"late large"}],"at":"2026-11-01T08:00:00Z"}`,
			},
		},
		{
			"steps without a result",
			request{"POST /api/coffee/search", []string{asJSON, events}, `{"q":"steps"}`},
			[]string{
				strings.ReplaceAll(small, "mocha", "steps"), strings.ReplaceAll(large, "mocha", "steps"),
				`progress {"done":2,"total":2}`, `done {"query":"steps","at":"2026-11-01T08:00:00Z"}`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := test.send(h)
			if got := readEvents(t, w.Body); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%d %v", w.Code, w.Header())
			}
		})
	}
}

// What is fetched has a status and a validator, which a stream has not.
func TestFetchingIsNoStream(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	for _, method := range []string{"GET", "HEAD"} {
		w := request{method + " /api/pricing/bean?bean=mocha", []string{"Accept: text/event-stream"}, ""}.send(h)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("ETag") == "" {
			t.Errorf("%s: %d %v, want JSON with its validator", method, w.Code, w.Header())
		}
	}
}

func TestStreamErrors(t *testing.T) {
	t.Parallel()
	var kept log
	h := newHandler(nil, &kept)
	late := request{"POST /api/coffee/search", []string{asJSON, "Accept: text/event-stream"}, `{"q":"spilled"}`}.send(h)
	got := readEvents(t, late.Body)
	if len(got) != 3 || !strings.HasPrefix(got[2], `error {"error":{"code":"internal_error"`) || strings.Contains(got[2], "10.0.0.1") {
		t.Errorf("a failure in the middle: %q", got)
	}
	if strings.Count(kept.String(), "10.0.0.1") != 1 {
		t.Errorf("the failure is not logged once:\n%s", kept.String())
	}
	for _, test := range []struct {
		body   string
		status int
	}{{`{"q":1}`, 400}, {``, 400}} {
		early := request{"POST /api/coffee/search", []string{asJSON, "Accept: text/event-stream"}, test.body}.send(h)
		if early.Code != test.status || early.Header().Get("Content-Type") != "application/json" {
			t.Errorf("a failure before the first event: %d %v", early.Code, early.Header())
		}
	}
	if w := (request{"POST /api/coffee/search", []string{asJSON, "Accept: application/json, text/event-stream;q=0.5"}, `{"q":"mocha"}`}).send(h); w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("a client that prefers one document gets %s", w.Header().Get("Content-Type"))
	}
}

// slowSet is a set of one operation that emits a part and then waits until the test lets it go on or stops it.
func slowSet(goOn <-chan struct{}, stopped chan<- struct{}) *op.Set {
	return op.NewSet(time.Now, op.Operation[searchIn, searchOut]{
		Name: "slow_search", Title: "Slow", Doc: "Waits.", Route: op.Route{Method: "POST", Path: "/slow"}, Limit: op.Lookup, Example: searchIn{Q: "a"},
		Do: func(ctx context.Context, in searchIn) (searchOut, error) {
			first := cup{Name: "first"}
			op.Emit(ctx, op.Event{Item: first})
			select {
			case <-goOn:
				return searchOut{Query: in.Q, Results: []cup{first}, At: openedAt}, nil
			case <-ctx.Done():
				close(stopped)
				return searchOut{}, ctx.Err()
			}
		},
	})
}

func TestStreamIsNotHeldBack(t *testing.T) {
	t.Parallel()
	goOn, stopped := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(newHandlerOf(slowSet(goOn, stopped), nil, io.Discard))
	defer s.Close()
	res := openStream(t, t.Context(), s.URL)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "event: result\n" {
		t.Fatalf("first line: %q, %v", line, err)
	}
	close(goOn) // only now may the rest be made
	rest, _ := io.ReadAll(lines)
	if !strings.HasSuffix(string(rest), "event: done\ndata: {\"query\":\"a\",\"at\":\"2026-11-01T08:00:00Z\"}\n\n") {
		t.Errorf("the rest: %q", rest)
	}
}

func TestStreamEndsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	var kept log
	s := httptest.NewServer(newHandlerOf(slowSet(nil, stopped), nil, &kept))
	ctx, leave := context.WithCancel(t.Context())
	res := openStream(t, ctx, s.URL)
	leave()
	<-stopped
	_ = res.Body.Close()
	s.Close() // waits for the handler
	if strings.Contains(kept.String(), `"level":"ERROR"`) {
		t.Errorf("a client who left is logged as a failure of ours:\n%s", kept.String())
	}
}

func openStream(t *testing.T, ctx context.Context, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/slow", strings.NewReader(`{"q":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "gzip, zstd")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestOversizedBodyIsNotRead(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	for _, test := range []struct {
		name    string
		length  int64
		atMost  int64
		inParts bool
	}{
		{"a length that is announced", 1 << 40, 0, false},
		{"a length that is not", -1, 1<<20 + 1<<10, true},
	} {
		body := &counting{}
		r := httptest.NewRequest("POST", "/api/coffee/search", body)
		r.ContentLength = test.length
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 413 || body.read > test.atMost {
			t.Errorf("%s: %d after reading %d bytes; want 413 after at most %d", test.name, w.Code, body.read, test.atMost)
		}
	}
}

// counting is an endless body of spaces.
type counting struct{ read int64 }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.read += int64(len(p))
	return len(p), nil
}

func TestListOfEndpoints(t *testing.T) {
	t.Parallel()
	h := newHandler(nil, io.Discard)
	w := request{"GET /api", nil, ""}.send(h)
	if want := `Bearer resource_metadata="https://beans.test/.well-known/oauth-protected-resource/api", scope="pricing:read"`; w.Code != 401 || w.Header().Get("WWW-Authenticate") != want {
		t.Errorf("without a token: %d, %q\nwant 401, %q", w.Code, w.Header().Get("WWW-Authenticate"), want)
	}
	w = request{"GET /api", []string{reader}, ""}.send(h)
	var list struct {
		Endpoints []struct{ Operation, Method, Path, Scope string }
	}
	if err := json.NewDecoder(w.Body).Decode(&list); err != nil || w.Code != 200 || len(list.Endpoints) != 5 || list.Endpoints[0].Path != "/api/coffee/search" || list.Endpoints[4].Scope != "domains:write" {
		t.Errorf("with a token: %d, %+v, %v", w.Code, list, err)
	}
}

func TestUnready(t *testing.T) {
	t.Parallel()
	h := newUnreadyHandler("the store does not answer")
	if w := (request{"GET /readyz", nil, ""}).send(h); w.Code != 503 || w.Header().Get("Retry-After") == "" || !bytes.Contains(w.Body.Bytes(), []byte("the store does not answer")) {
		t.Errorf("/readyz: %d %s", w.Code, w.Body)
	}
	if w := (request{"GET /healthz", nil, ""}).send(h); w.Code != 200 || w.Body.String() != `{"status":"ok"}` {
		t.Errorf("/healthz: %d %s", w.Code, w.Body)
	}
}

func TestStreamKeepsQuietConnectionsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		time.AfterFunc(25*time.Second, func() { close(goOn) })
		h := newHandlerOf(slowSet(goOn, make(chan struct{})), nil, io.Discard)
		w := request{"POST /slow", []string{"Accept: text/event-stream"}, `{"q":"a"}`}.send(h)
		if got := strings.Count(w.Body.String(), ": still at it\n\n"); got != 2 {
			t.Errorf("got %d heartbeats in 25 s, want 2:\n%s", got, w.Body)
		}
	})
}
