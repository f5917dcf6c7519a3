package main

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/internal/partnercli"
)

// An example is a program of examples/partner in one language.
type example struct {
	language string
	tools    []string
	command  func(t *testing.T, program string) []string
}

var examples = []example{
	{"shell", []string{"bash", "curl", "openssl", "od", "sed"}, func(t *testing.T, program string) []string {
		return []string{examplePath(t, program+".sh")}
	}},
	{"Go", nil, func(t *testing.T, program string) []string {
		binary := filepath.Join(t.TempDir(), program)
		if out, err := exec.Command("go", "build", "-o", binary, "../../examples/partner/"+program).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, out)
		}
		return []string{binary}
	}},
	{"JavaScript", []string{"node"}, func(t *testing.T, program string) []string {
		return []string{"node", examplePath(t, program+".mjs")}
	}},
	{"Python", []string{"python3"}, func(t *testing.T, program string) []string {
		return []string{"python3", examplePath(t, program+".py")}
	}},
}

func examplePath(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../examples/partner", file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const partnerAPI = "/api/partner/v1"

// signedRequests are what is easily signed wrong. An answer that is not invalid_signature shows that it was signed right.
var signedRequests = []struct {
	name, method, target, body, key string
	refused                         bool
	want                            string // in the answer
}{
	{"no query", "GET", "/domains/brewhaven.example", "", "", false, `"price_cents":9900`},
	{"a plus is a space", "GET", "/domains/search?q=coffee+shop", "", "", false, `"query":"coffee shop"`},
	{"an escaped space", "GET", "/domains/search?q=coffee%20shop", "", "", false, `"query":"coffee shop"`},
	{"an escaped plus", "GET", "/domains/search?q=c%2B%2B", "", "", false, `"query":"c++"`},
	{"characters that are not escaped", "GET", "/domains/search?q=café ☕ 😀", "", "", false, `"query":"café ☕ 😀"`},
	{"the five extra characters", "GET", "/domains/search?q=it's%20(new)!*", "", "", false, `"query":"it's (new)!*"`},
	{"lower-case escapes", "GET", "/domains/search?q=caf%c3%a9%2fbar~-._", "", "", false, `"query":"café/bar~-._"`},
	{"escapes of what escapes", "GET", "/domains/search?q=%5cx41%25zz%26a=b=c", "", "", false, `"query":"\\x41%zz&a=b=c"`},
	{"a backslash", "GET", `/domains/search?q=\x41\c`, "", "", false, `"query":"\\x41\\c"`},
	{"a blank value", "GET", "/orders?limit=5&cursor=", "", "", true, `"cursor"`},
	{"duplicates, blanks and sorting by bytes", "GET", "/orders?%F0%9F%98%80=1&%EF%BC%A1=2&b=2&&b=10&b=2&z&=e&a%00=1&a=1&B&", "", "", true, `"validation_error"`},
	{"space in a body", "POST", "/quotes", "{\n\t\"domain\" : \"brewhaven.example\"\n}\n", "", false, `"quote_id"`},
	{
		"what shells and encoders touch", "POST", "/orders",
		`{"domain":"brewhaven.example","expected_price":9900,"dry_run":true,"buyer":{"email":"a@buyer.example","name":"@Ada 'B\u00fccher' ☕ $HOME %41 \\n *"}}`,
		"a key, with spaces", false, `"name":"@Ada 'Bücher' ☕ $HOME %41 \\n *"`,
	},
	{"a POST without a body", "POST", "/sandbox/orders/ord_none/advance", "", "", true, `"not_found"`},
	{"PUT", "PUT", "/orders", `{}`, "", true, `"method_not_allowed"`},
	{"DELETE", "DELETE", "/orders", "", "", true, `"method_not_allowed"`},
}

func TestExamplesSign(t *testing.T) {
	t.Parallel()
	s := openDemo(t, "-rate-limits", "off")
	by := s.credential(t)
	for _, e := range examples {
		t.Run(e.language, func(t *testing.T) {
			t.Parallel()
			need(t, e.tools...)
			command := e.command(t, "sign")
			run := func(secret string, args ...string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], args...)...)
				cmd.Env = append(os.Environ(), "NAMEWHARF_BASE_URL="+s.url, "NAMEWHARF_KEY_ID="+by.KeyID, "NAMEWHARF_PARTNER_SECRET="+secret)
				out, err := cmd.Output()
				return string(out), err
			}
			for _, r := range signedRequests {
				out, err := run(by.Secret, r.method, partnerAPI+r.target, r.body, r.key)
				if (err != nil) != r.refused || !strings.Contains(out, r.want) {
					t.Errorf("%s: %s %s %s: got %s, %v; want %s, refused %v", r.name, r.method, r.target, r.body, out, err, r.want, r.refused)
				}
			}
			if out, err := run("another secret", "GET", partnerAPI+"/orders"); err == nil || !strings.Contains(out, `"invalid_signature"`) {
				t.Errorf("another secret: got %s, %v", out, err)
			}
		})
	}
}

// start runs the example until the end of the test and returns its address.
func (e example) start(t *testing.T, secret string) (address string) {
	t.Helper()
	command, env := e.command(t, "verify"), "NAMEWHARF_WEBHOOK_SECRET="+secret
	if e.language == "shell" {
		server := httptest.NewServer(&cgi.Handler{Path: command[0], Env: []string{env}, InheritEnv: []string{"PATH"}, Stderr: t.Output()})
		t.Cleanup(server.Close)
		return server.URL
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%s says %q, %v", e.language, line, err)
	}
	return address
}

// What the service sends is taken, and what somebody else sends, or sends again later, is not.
func TestExamplesVerify(t *testing.T) {
	t.Parallel()
	s := openDemo(t, "-rate-limits", "off")
	client, err := partnercli.NewClient(s.url, s.credential(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples { // one after the other: a partner has one webhook
		for kind, secret := range map[string]string{"plain": "sesame sésame opens", "standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
			t.Run(e.language+" "+kind, func(t *testing.T) {
				need(t, e.tools...)
				address := e.start(t, secret)
				remove, err := client.Register(t.Context(), address, secret)
				if err != nil {
					t.Fatal(err)
				}
				delivery, err := client.Trigger(t.Context())
				if err != nil || delivery.Status != event.Delivered {
					t.Errorf("from the service: got %+v, %v", delivery, err)
				}
				if err := remove(t.Context()); err != nil {
					t.Error(err)
				}
				const body = `{"id":"evt_1","type":"webhook.test","data":{}}`
				now := time.Now()
				for _, forged := range []struct {
					name, secret, body string
					at                 time.Time
					want               int
				}{
					{"genuine", secret, body, now, 200},
					{"another secret", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", body, now, 401},
					{"another body", secret, strings.Replace(body, "evt_1", "evt_2", 1), now, 401},
					{"an old one", secret, body, now.Add(-time.Hour), 401},
					{"one of tomorrow", secret, body, now.Add(24 * time.Hour), 401},
				} {
					if got := forge(t, address, forged.secret, forged.at, body, forged.body); got != forged.want {
						t.Errorf("%s: got %d, want %d", forged.name, got, forged.want)
					}
				}
			})
		}
	}
}

// forge sends a body with the signatures of another at a time, and returns the status of the answer.
func forge(t *testing.T, address, secret string, at time.Time, signed, sent string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader([]byte(sent)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Service-Signature", event.Signature(secret, []byte(signed)))
	r.Header.Set("Webhook-Id", "evt_1")
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("Webhook-Signature", event.StandardSignature(secret, "evt_1", at, []byte(signed)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
