package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/namewharf/namewharf/op"
)

// newSample writes an operation's example as a request.
func newSample(o *op.Op, base string) sample {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(o.Example, &fields) // NewSet has checked it
	path := o.Route.Path
	for _, name := range wildcards(path) {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(plainText(fields[name])))
		delete(fields, name)
	}
	if !hasBody(o) {
		query := url.Values{}
		for name, value := range fields {
			query.Set(name, plainText(value))
		}
		address := base + path
		if len(query) > 0 {
			address += "?" + query.Encode()
		}
		command := "curl '" + address + "'"
		if o.Route.Method != http.MethodGet {
			command = "curl -X " + o.Route.Method + " '" + address + "'"
		}
		return sample{o, address, command}
	}
	body := []byte(o.Example)
	if len(wildcards(o.Route.Path)) > 0 {
		body, _ = op.Marshal(fields)
	}
	return sample{o, base + path, curl(o.Route.Method, base+path, body)}
}

// curl quotes for a POSIX shell. curl's --json implies POST and sends the media type along.
func curl(method, address string, body []byte) string {
	command := "curl"
	if method != http.MethodPost {
		command += " -X " + method
	}
	return command + " '" + address + "' --json '" + strings.ReplaceAll(string(body), "'", `'\''`) + "'"
}

// plainText is a JSON value as a parameter has it: lists with commas, strings without quotes.
func plainText(value json.RawMessage) string {
	switch {
	case bytes.HasPrefix(value, []byte(`"`)):
		var text string
		_ = json.Unmarshal(value, &text)
		return text
	case bytes.HasPrefix(value, []byte("[")):
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list)
		texts := make([]string, len(list))
		for i, item := range list {
			texts[i] = plainText(item)
		}
		return strings.Join(texts, ",")
	}
	return string(value)
}
