package rest

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzMatches(f *testing.F) {
	const etag = `"0123456789ab"`
	for _, seed := range []string{etag, "W/" + etag, `"a", ` + etag, "*", `W/`, `"`, `,"x,y",`, " \t", `"a"b"c"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := matches([]string{header}, etag)
		if got && !strings.Contains(header, etag) && !strings.Contains(header, "*") {
			t.Errorf("If-None-Match: %q matches %s", header, etag)
		}
		if !matches([]string{header, "W/" + etag}, etag) {
			t.Errorf("a second header is not seen behind %q", header)
		}
	})
}

func FuzzNegotiate(f *testing.F) {
	for _, seed := range []string{"gzip", "gzip, deflate, br, zstd", "gzip;q=0", "zstd;q=1.0,gzip;q=0.9", "identity;q=0, *;q=0", ";q=1", "gzip;q=NaN"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		switch lower := strings.ToLower(header); negotiate([]string{header}) {
		case gzipped:
			if !strings.Contains(lower, "gzip") {
				t.Errorf("Accept-Encoding: %q gives gzip", header)
			}
		case zstandard:
			if !strings.Contains(lower, "zstd") {
				t.Errorf("Accept-Encoding: %q gives zstd", header)
			}
		}
	})
}

// FuzzRest checks that what a stream sends at the end is JSON, and is all there is where nothing was sent before.
func FuzzRest(f *testing.F) {
	f.Add(`{"a":[1,2],"b":{"c":[1]}}`, `1`)
	f.Add(`{"a":[{"x":"<"}],"a":[]}`, `{"x":"<"}`)
	f.Add(`{}`, ``)
	f.Fuzz(func(t *testing.T, answer, item string) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(answer), &object) != nil || object == nil {
			t.Skip("no answer is anything but an object")
		}
		if got := rest([]byte(answer), nil); string(got) != answer {
			t.Errorf("rest(%s, nothing) = %s", answer, got)
		}
		got := rest([]byte(answer), map[string]bool{item: true})
		if !json.Valid(got) {
			t.Errorf("rest(%s, %s) = %s, which is not JSON", answer, item, got)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"a=b&c=d", "a=%zz", "a=%ff", "a;b", "access_token=x", "=", "&&", "a=1&a=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := parseQuery(raw)
		if err != nil {
			return
		}
		if again, err := parseQuery(query.Encode()); err != nil || again.Encode() != query.Encode() {
			t.Errorf("parseQuery(%q) = %v, printed and read again %v, %v", raw, query, again, err)
		}
	})
}
