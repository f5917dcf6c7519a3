package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/internal/programtest"
)

const (
	devKey    = "nw_sandbox_1"
	devSecret = "sk_sandbox_5f0c9a1b7d3e"
	hook      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// develop runs a command with the credential in the environment.
func develop(t *testing.T, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	environ := func(name string) (string, bool) {
		value, ok := map[string]string{"NAMEWHARF_KEY_ID": devKey, "NAMEWHARF_PARTNER_SECRET": devSecret}[name]
		return value, ok
	}
	var out, errs strings.Builder
	err = run(t.Context(), args, environ, strings.NewReader(stdin), &out, &errs)
	if strings.Contains(out.String()+errs.String(), devSecret) {
		t.Errorf("%q shows the secret: %s%s", args, out.String(), errs.String())
	}
	return out.String(), err
}

func TestDevSign(t *testing.T) {
	t.Parallel()
	known := []string{
		"dev", "sign", "GET", "/api/partner/v1/domains/search?q=wallet", "-timestamp", "1760000000", "-nonce", "3f2c1a9e-6f0b-4c55-9d6e-0f1a2b3c4d5e",
	}
	const canonical = "GET\n/api/partner/v1/domains/search\nq=wallet\n1760000000\n3f2c1a9e-6f0b-4c55-9d6e-0f1a2b3c4d5e\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const signature = "v1=22c1775a0bd38ef3585d2d8ab5a4f681fac930f97fa9f60b72b2cd62c81eed4c"
	const headers = "X-Service-Key-Id: nw_sandbox_1\nX-Service-Timestamp: 1760000000\n" +
		"X-Service-Nonce: 3f2c1a9e-6f0b-4c55-9d6e-0f1a2b3c4d5e\nX-Service-Signature: " + signature + "\n"
	if got, err := develop(t, "", known...); err != nil || got != headers {
		t.Errorf("got %s, %v; want %s", got, err, headers)
	}
	if got, err := develop(t, "", append(known, "-canonical")...); err != nil || got != canonical+"\n" {
		t.Errorf("-canonical: got %s, %v; want %s", got, err, canonical)
	}
	got, err := develop(t, "", append(known, "-curl", "-base-url", "https://names.example/")...)
	if err != nil || !strings.Contains(got, "'https://names.example/api/partner/v1/domains/search?q=wallet'") || !strings.Contains(got, "-H 'X-Service-Signature: "+signature+"'") {
		t.Errorf("-curl: got %s, %v", got, err)
	}
	var object struct {
		Method, Target, Canonical string
		Headers                   map[string]string
	}
	got, err = develop(t, "", append(known, "-json")...)
	if json.Unmarshal([]byte(got), &object) != nil || err != nil || object.Canonical != canonical || object.Headers["X-Service-Signature"] != signature {
		t.Errorf("-json: got %s, %v", got, err)
	}
}

func TestDevSignTakesABody(t *testing.T) {
	t.Parallel()
	const body = "{\"domain\":\"brewhaven.example\"}\n"
	const digest = "6c61f72f84cd054224d6026a9f668817b8710598c3ed225ad44f104488d23867"
	args := []string{"dev", "sign", "POST", "/api/partner/v1/quotes", "-canonical", "-timestamp", "1760000000", "-nonce", "0123456789abcdef", "-body"}
	piped, err := develop(t, body, append(args, "-")...)
	if err != nil || !strings.HasSuffix(piped, "\n"+digest+"\n") {
		t.Errorf("got %s, %v; want the digest %s", piped, err, digest)
	}
	file, err := develop(t, "", append(args, write(t, "body.json", body))...)
	if err != nil || file != piped {
		t.Errorf("from a file: got %s, %v; want what standard input gives, %s", file, err, piped)
	}
	headers, err := develop(t, body, "dev", "sign", "POST", "/a", "-body", "-", "-idempotency-key", "sale-1")
	if err != nil || !strings.Contains(headers, "Idempotency-Key: sale-1\nContent-Type: application/json\n") {
		t.Errorf("got %s, %v", headers, err)
	}
}

// What cannot be done is said in a line, and nothing is begun.
func TestDevRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		want string
	}{
		{"dev sign GET", "usage: operator dev sign METHOD PATH"},
		{"dev sign GET api", "the path must be"},
		{"dev sign GET /a?b=%zz", "not well formed"},
		{"dev sign POST /a -body nosuchfile", "-body"},
		{"dev sign GET /a -send -base-url names.example", "-base-url must be"},
		{"dev listen", "NAMEWHARF_WEBHOOK_SECRET"},
		{"dev listen -webhook-secret s -addr 0.0.0.0:0", "-addr must be on loopback"},
		{"dev listen -webhook-secret s -status-code 42", "-status-code"},
		{"dev listen -webhook-secret s -delay -1s", "-delay"},
		{"dev listen -webhook-secret s -url https://tunnel.example", "-url goes with -register"},
	} {
		_, err := develop(t, "", strings.Fields(c.args)...)
		if refused := (usageError{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a refusal that holds %q", c.args, err, c.want)
		}
	}
	if _, _, err := operate(t, "dev", "sign", "GET", "/a"); err == nil || !strings.Contains(err.Error(), "NAMEWHARF_PARTNER_SECRET") {
		t.Errorf("without a credential: got %v", err)
	}
}

// A service that is not there, or refuses, is an error and no usage.
func TestDevTellsWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"dev sign GET /api/partner/v1/orders -send", "dev trigger", "dev listen -register"} {
		_, err := develop(t, "", append(strings.Fields(words), "-base-url", "http://127.0.0.1:1")...)
		if refused := (usageError{}); err == nil || errors.As(err, &refused) {
			t.Errorf("%s: got %v, want an error that is no usage", words, err)
		}
	}
}

func TestDevListen(t *testing.T) {
	t.Parallel()
	p := programtest.Start(t, []string{"NAMEWHARF_WEBHOOK_SECRET=" + hook}, "dev", "listen")
	address := p.Listening()
	send := func(secret, body string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", address, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		r.Header.Set("X-Service-Event-Id", "evt_1")
		r.Header.Set("X-Service-Event-Type", "order.recorded")
		r.Header.Set("X-Service-Delivery-Attempt", "2")
		r.Header.Set("X-Service-Signature", event.Signature(secret, []byte(body)))
		r.Header.Set("Webhook-Id", "evt_1")
		r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
		r.Header.Set("Webhook-Signature", event.StandardSignature(secret, "evt_1", at, []byte(body)))
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	const body = `{"id":"evt_1","data":{"order":{"public_id":"ord_1","domain":"brewhaven\u001b[2J.example","status":"EXTERNALLY_PAID"}}}`
	for _, c := range []struct {
		secret string
		want   int
		line   string
	}{
		{hook, 200, "  order.recorded  evt_1  attempt 2  signatures good  answered 200  ord_1  brewhaven?[2J.example  EXTERNALLY_PAID"},
		{"another secret, long enough", 401, "  order.recorded  evt_1  attempt 2  X-Service-Signature wrong, webhook-signature wrong  answered 401  ord_1  brewhaven?[2J.example  EXTERNALLY_PAID"},
	} {
		if got := send(c.secret, body); got != c.want {
			t.Errorf("got %d, want %d", got, c.want)
		}
		if !p.Lines.Scan() || !strings.HasSuffix(p.Lines.Text(), c.line) {
			t.Errorf("got the line %q, want %q behind the time", p.Lines.Text(), c.line)
		}
	}
	p.Terminate()
	if rest, status := p.Wait(); status != 0 || rest != "" {
		t.Errorf("the end: got %q, status %d, %s", rest, status, p.Stderr())
	}
}

func TestDevListenPrintsJSON(t *testing.T) {
	t.Parallel()
	p := programtest.Start(t, nil, "dev", "listen", "-webhook-secret", hook, "-json", "-status-code", "503")
	response, err := http.Post(p.Listening(), "application/json", strings.NewReader(`{"id":"evt_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != 503 {
		t.Errorf("got %d, want 503", response.StatusCode)
	}
	var line struct {
		Service  string `json:"x_service_signature"`
		Standard string `json:"webhook_signature"`
		Answered int
		Event    struct{ ID string }
	}
	if !p.Lines.Scan() || json.Unmarshal(p.Lines.Bytes(), &line) != nil || line.Service != "missing" || line.Standard != "missing" || line.Answered != 503 || line.Event.ID != "evt_1" {
		t.Errorf("got the line %q", p.Lines.Text())
	}
}
