package rest

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/serve/middleware"
)

// input is the request's input as one JSON object, not yet checked against the schema: the body or the query, and
// the wildcards of the path. Errors are *[fault.Error].
func (e *endpoint) input(r *http.Request) ([]byte, error) {
	return e.gather(r, r.URL.RawQuery, func() ([]byte, error) {
		if err := checkBody(r.Header); err != nil {
			return nil, err
		}
		return middleware.ReadBody(r, e.op.MaxBody)
	})
}

// gather puts the input together from the path, the query and, where the operation takes one, the body.
func (e *endpoint) gather(r *http.Request, rawQuery string, body func() ([]byte, error)) ([]byte, error) {
	var path map[string]string
	if len(e.path) > 0 {
		path = make(map[string]string, len(e.path))
		for _, name := range e.path {
			path[name] = r.PathValue(name)
			if !utf8.ValidString(path[name]) {
				return nil, fault.Invalid(name, "must be UTF-8")
			}
		}
	}
	query, err := parseQuery(rawQuery)
	if err != nil {
		return nil, err
	}
	if !e.body {
		return e.op.Bind(query, path)
	}
	if len(query) > 0 {
		return nil, fault.Invalid(shown(firstKey(query)), "is not a known parameter; the input goes in the body")
	}
	raw, err := body()
	if err != nil || path == nil {
		return raw, err
	}
	return e.op.Merge(raw, path)
}

// parseQuery is strict where [url.URL.Query] drops what it cannot read. A token in the query is not one for us
// (OAuth 2.1 forbids it), nor is it a parameter: it is ignored.
func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.New(fault.Validation, "the query is not well formed").WithHint("write it as name=value&name=value, percent-encoded")
	}
	delete(query, "access_token")
	for name, values := range query {
		for _, v := range append(values, name) {
			if !utf8.ValidString(v) {
				return nil, fault.New(fault.Validation, "the query is not UTF-8").WithHint("percent-encode its UTF-8 bytes")
			}
		}
	}
	return query, nil
}

func firstKey(query url.Values) string {
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	return slices.Min(names)
}

// shown is a name of the caller's as far as it may be repeated.
func shown(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, name)
	return name[:min(len(name), 40)]
}

// checkBody wants a body that is sent as JSON, as it is. One without a Content-Type is taken for JSON; whether it is
// JSON the schema check finds out.
func checkBody(h http.Header) error {
	if err := checkType(h["Content-Type"]); err != nil {
		return err
	}
	if len(h["Content-Encoding"]) > 0 {
		return fault.New(fault.UnsupportedMediaType, "the body is compressed").WithHint("send it as it is, without Content-Encoding")
	}
	return nil
}

// checkType wants application/json or a type built on it (RFC 6839, section 3.1), in UTF-8.
func checkType(values []string) error {
	if len(values) == 0 || len(values) == 1 && values[0] == "application/json" {
		return nil
	}
	wrong := fault.New(fault.UnsupportedMediaType, "the body is not sent as JSON").WithHint("send it with Content-Type: application/json")
	if len(values) > 1 {
		return wrong
	}
	name, params, err := mime.ParseMediaType(values[0])
	if err != nil || name != "application/json" && !(strings.HasPrefix(name, "application/") && strings.HasSuffix(name, "+json")) {
		return wrong
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return fault.New(fault.UnsupportedMediaType, "the body is not sent as UTF-8").WithHint("JSON is UTF-8; send it as that")
	}
	return nil
}
