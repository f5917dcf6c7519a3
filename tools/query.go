package tools

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
)

// A Query is what somebody types into a search field.
type Query string

// MaxQuery is the longest query, in characters: as long as a domain name may be.
const MaxQuery = fqdn.MaxLength

// Schema is a short text.
func (Query) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(MaxQuery)}
}

// A subject is what a query is about.
type subject struct {
	exact  fqdn.Name   // the full name asked for; zero for a label or a phrase
	labels []fqdn.Name // to look up under the suffixes, the best first
	phrase string      // the words, when the query was several
}

// read finds out what a query is about: a domain, a URL whose host is one, a label, or a phrase. A bare suffix is
// a label. Errors are [fault.Validation] on q.
func (q Query) read(suffixes *fqdn.Suffixes) (subject, error) {
	text := strings.TrimSpace(string(q))
	if host, ok := hostOfURL(text); ok {
		text = host
	}
	if words := strings.Fields(text); len(words) > 1 {
		return readPhrase(words)
	}
	name, err := fqdn.Parse(text)
	if err != nil {
		return subject{}, fault.Invalid("q", "%s", err).WithHint("send a label or a domain, e.g. acme or acme.com")
	}
	if name.Dots() == 0 {
		return subject{labels: []fqdn.Name{name}}, nil
	}
	if suffixes.Known(name) { // co.uk
		return subject{labels: []fqdn.Name{fqdn.MustParse(name.Label())}}, nil
	}
	exact, suffix, err := suffixes.Split(name) // a label that cannot be registered gets its verdict
	if err != nil {                            // an unknown TLD: the label is the part before the last dot
		above := name
		for above.Dots() > 1 {
			above = above.Parent()
		}
		return subject{exact: name, labels: []fqdn.Name{fqdn.MustParse(above.Label())}}, nil
	}
	label := fqdn.MustParse(strings.TrimSuffix(exact.String(), "."+suffix.String()))
	return subject{exact: exact, labels: []fqdn.Name{label}}, nil
}

// hostOfURL takes the host out of what looks like a URL, with or without its scheme.
func hostOfURL(text string) (string, bool) {
	if strings.ContainsFunc(text, unicode.IsSpace) || !strings.ContainsAny(text, "/:?#") {
		return "", false
	}
	if !strings.Contains(text, "://") {
		text = "https://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	return u.Hostname(), true
}

// readPhrase joins the words of a phrase to labels: coffeeshop, coffee-shop. Punctuation is dropped.
func readPhrase(words []string) (subject, error) {
	var kept []string
	for _, w := range words {
		w = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, w)
		if w != "" {
			kept = append(kept, strings.ToLower(w))
		}
	}
	s := subject{phrase: strings.Join(kept, " ")}
	for _, label := range []string{strings.Join(kept, ""), strings.Join(kept, "-")} {
		name, err := fqdn.Parse(label)
		if err != nil || len(s.labels) == 1 && name == s.labels[0] {
			continue
		}
		s.labels = append(s.labels, name)
	}
	if len(s.labels) == 0 {
		return subject{}, fault.Invalid("q", "has no words that make a label of at most %d letters and digits", fqdn.MaxLabel).
			WithHint("send a label or a domain, e.g. acme or acme.com")
	}
	return s, nil
}
