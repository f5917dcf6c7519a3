package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/oauthtest"
)

// The contract offers streams on reads by POST alone, and everything streamed that was asked to: HEAD too, which has no
// body, and writes.
func TestStreamsWhereTheContractOffersThem(t *testing.T) {
	t.Parallel()
	s := open(t)
	oauth := &oauthtest.Server{TB: t, Base: s.url}
	bearer := "Bearer " + oauth.SignedInUser().Tokens(oauth.NewClient(), map[string][]string{"scope": {"pricing:read domains:write"}}).Access
	for _, test := range []struct {
		method, path, body string
		stream             bool
	}{
		{"POST", search, `{"q":"cobaltpine.com"}`, true},
		{"POST", check, `{"domains":["cobaltpine.com"]}`, true},
		{"POST", "/api/domain/suggest", `{"q":"coffee shop","limit":2}`, true},
		{"POST", "/api/tools/whois", `{"domain":"cobaltpine.com"}`, true},
		{"GET", "/api/pricing/compare?tlds=com", "", false},
		{"POST", "/api/batch", `{"operations":[{"id":"a","op":"tld_metadata","params":{"tld":"de"}}]}`, true},
		{"GET", "/api/pricing/tld?tld=com", "", false},
		{"HEAD", "/api/pricing/tld?tld=com", "", false},
		{"GET", "/api/tlds/de/metadata", "", false},
		{"GET", "/api/tlds", "", false},
		{"GET", "/api/market/listings", "", false},
		{"HEAD", "/api/market/listings", "", false},
		{"GET", "/api/batch", "", false},
		{"GET", "/api/domains", "", false},
		{"HEAD", "/api/domains", "", false},
		{"POST", "/api/domains", `{"domain":"cobaltpine.com"}`, false},
		{"POST", "/api/domains/bulk/verify", `{"domains":["cobaltpine.com"]}`, false},
	} {
		r := s.do(t, test.method, test.path, test.body, "Accept", "text/event-stream", "Authorization", bearer)
		want := "application/json"
		if test.stream {
			want = "text/event-stream"
		}
		if r.StatusCode >= http.StatusBadRequest || r.Header.Get("Content-Type") != want {
			t.Errorf("%s %s: got %d %q %.100s, want %s", test.method, test.path, r.StatusCode, r.Header.Get("Content-Type"), r.text, want)
		}
	}
}

// A stream sends the results of the plain answer, and nothing that is not in that: an operation's own filter, and what it
// masks, come before both.
func TestStreamsSendWhatAnswersHold(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, test := range []struct{ path, body string }{
		{search, `{"q":"cobaltpine.com"}`},
		{search, `{"q":"coffee shop berlin"}`},
		{search, `{"q":"brewhaven","tlds":["com","io","de"]}`},
		{"/api/domain/suggest", `{"q":"brew haven","limit":3}`},
		{check, `{"domains":["brewhaven.com","not a name","cobaltpine.de","brewhaven.com"]}`},
		{"/api/batch", `{"operations":[{"id":"a","op":"tld_metadata","params":{"tld":"de"}},{"id":"b","op":"search_domain","params":{"q":"brewhaven.com"}},{"id":"c","op":"nothing"}]}`},
	} {
		var plain struct{ Results, Suggestions []json.RawMessage }
		if err := json.Unmarshal([]byte(s.do(t, "POST", test.path, test.body).text), &plain); err != nil || len(plain.Results)+len(plain.Suggestions) == 0 {
			t.Fatalf("%s: %v, no results", test.body, err)
		}
		var streamed []string
		for event := range strings.SplitSeq(s.do(t, "POST", test.path, test.body, "Accept", "text/event-stream").text, "\n\n") {
			if result, ok := strings.CutPrefix(event, "event: result\ndata: "); ok {
				streamed = append(streamed, settled(result))
			}
			if done, ok := strings.CutPrefix(event, "event: done\ndata: "); ok {
				var rest struct{ Results, Suggestions []json.RawMessage }
				if err := json.Unmarshal([]byte(done), &rest); err != nil || len(rest.Results)+len(rest.Suggestions) != 0 {
					t.Errorf("%s: the rest repeats %d results: %v", test.body, len(rest.Results)+len(rest.Suggestions), err)
				}
			}
		}
		var want []string
		for _, result := range slices.Concat(plain.Results, plain.Suggestions) {
			want = append(want, settled(string(result)))
		}
		slices.Sort(streamed)
		slices.Sort(want)
		if !slices.Equal(streamed, want) {
			t.Errorf("%s: streamed\n%s\nwant\n%s", test.body, strings.Join(streamed, "\n"), strings.Join(want, "\n"))
		}
	}
}

// settled is a result without what differs from one moment to the next: how long its sources took, and when it was made.
func settled(result string) string {
	var v any
	if err := json.Unmarshal([]byte(result), &v); err != nil {
		return err.Error()
	}
	var settle func(any)
	settle = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "ms")
			delete(v, "checked_at")
			for _, below := range v {
				settle(below)
			}
		case []any:
			for _, below := range v {
				settle(below)
			}
		}
	}
	settle(v)
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
