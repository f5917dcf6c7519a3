package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/oauthtest"
)

// goWords are what only a program's own error texts hold.
var goWords = regexp.MustCompile(`(?i)unmarshal|Go struct|mcp\.|json:|\bmap\[|interface|invalid character|runtime`)

// malformedCalls are calls of a tool that the protocol refuses before the tool sees them.
var malformedCalls = map[string]string{
	"_meta is a number":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"_meta":5}}`,
	"_meta is a list":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"_meta":[]}}`,
	"_meta lacks the capabilities": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	"_meta of an unknown protocol": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	"a version that is a number":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"_meta":{"io.modelcontextprotocol/protocolVersion":5}}}`,
	"another jsonrpc":              `{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"}}}`,
	"jsonrpc is a number":          `{"jsonrpc":2,"id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"}}}`,
	"no jsonrpc":                   `{"id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"}}}`,
	"an unknown tool":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}`,
	"no tool":                      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}`,
	"a tool that is a number":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":{}}}`,
	"params are a list":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["search_domain"]}`,
	"params are a text":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"search_domain"}`,
	"no params":                    `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	"arguments are a list":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":[1]}}`,
	"a task":                       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"task":7}}`,
	"input responses":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"inputResponses":7}}`,
	"an id that is an object":      `{"jsonrpc":"2.0","id":{"a":1},"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"},"_meta":5}}`,
	"a result beside":              `{"jsonrpc":"2.0","id":1,"result":{},"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"brewhaven.com"}}}`,
	"the method is a number":       `{"jsonrpc":"2.0","id":1,"method":5,"params":{"name":"search_domain"}}`,
	"not JSON":                     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain"`,
	"junk":                         `coffee`,
	"nothing":                      ``,
	"null":                         `null`,
	"a list of the tools by 7":     `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":7}`,
	"a resource by number":         `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":7}}`,
	"a prompt by number":           `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":7}}`,
	"a greeting by number":         `{"jsonrpc":"2.0","id":1,"method":"initialize","params":7}`,
}

// A call that the protocol refused, before the operation could charge it, was free: no RateLimit field, no 429, for as
// many as a client liked to send. And its refusal was a program's error text.
func TestMalformedCallsAreCharged(t *testing.T) {
	t.Parallel()
	s := open(t)
	oauth := &oauthtest.Server{TB: t, Base: s.url}
	signedIn := "Bearer " + oauth.SignedInUser().Tokens(oauth.NewClient(), map[string][]string{"resource": {s.url + "/mcp/signed-in"}}).Access
	for _, mw := range []struct {
		path    string
		headers []string
	}{{"/mcp", nil}, {"/mcp/signed-in", []string{"Authorization", signedIn}}} {
		for _, era := range []string{legacy, modern} {
			for name, text := range malformedCalls {
				r := s.mcp(t, mw.path, era, "search_domain", text, append([]string{"Content-Type", "application/json"}, mw.headers...)...)
				if left(r, "read") < 0 && left(r, "lookup") < 0 {
					t.Errorf("%s, %s, %s: %d was not charged: RateLimit %q; %s", mw.path, era, name, r.StatusCode, r.Header.Get("RateLimit"), r.text)
				}
				if goWords.MatchString(r.text) {
					t.Errorf("%s, %s, %s: the refusal is a program's own text: %s", mw.path, era, name, r.text)
				}
			}
		}
	}
}

// A client that sends only malformed calls is throttled.
func TestMalformedCallsEnd(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 400 {
		r := s.mcp(t, "/mcp", legacy, "search_domain", malformedCalls["_meta is a number"])
		if r.StatusCode == http.StatusTooManyRequests {
			if r.Header.Get("Retry-After") == "" || !strings.Contains(r.text, "rate_limited") {
				t.Errorf("got %v %s, want Retry-After and the code", r.Header, r.text)
			}
			return
		}
		if r.StatusCode >= http.StatusInternalServerError {
			t.Fatalf("call %d: %d %s", i, r.StatusCode, r.text)
		}
	}
	t.Error("400 malformed calls in a row were answered, and none was 429")
}

// What REST refuses before an operation runs costs a call too.
func TestRefusedRequestsAreCharged(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, r := range map[string]reply{
		"bad JSON":             s.do(t, "POST", search, `{"q":`),
		"an unknown field":     s.do(t, "POST", search, `{"q":"a.com","colour":"red"}`),
		"another media type":   s.do(t, "POST", search, `q=a.com`, "Content-Type", "text/plain"),
		"a body too large":     s.do(t, "POST", search, strings.Repeat(" ", 2<<20)),
		"an unknown parameter": s.do(t, "GET", "/api/pricing/tld?tld=com&colour=red", ""),
		"a bad token":          s.do(t, "POST", search, `{"q":"a.com"}`, "Authorization", "Bearer guess"),
		"no token":             s.do(t, "POST", "/api/domains", `{"domain":"a.com"}`),
		"another method":       s.do(t, "PUT", search, `{"q":"a.com"}`),
		"an unknown path":      s.do(t, "GET", "/api/nothing", ""),
		"a path to be cleaned": s.do(t, "GET", "/api/../api/domain", ""),
	} {
		if r.StatusCode < 400 || r.StatusCode >= 500 || left(r, "read") < 0 && left(r, "lookup") < 0 {
			t.Errorf("%s: %d was not charged: RateLimit %q", name, r.StatusCode, r.Header.Get("RateLimit"))
		}
	}
}
