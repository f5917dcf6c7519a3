package whois

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/namewharf/namewharf/fqdn"
)

//go:embed registries.txt
var registriesText string

// A registry is one paragraph of registries.txt.
type registry struct {
	query      string
	monthFirst bool
	own        []phrase // its own, and those of the lists that it uses
	phrases    phrases  // the same, and the generic ones where none of them is about free names
	refusals   phrases  // for lines that are no phrase of its own
	short      phrases  // for short replies, likewise
	hints      phrases  // for lines that nothing else decides
	beside     phrases  // for replies that name the name in a line of its own
	strong     *strongForms
	sources    []string        // where its phrases are documented
	zoneLines  bool            // "name host" is a delegation
	ignored    map[string]bool // labels
	headings   map[string]bool // labels
}

// registries is registries.txt, indexed.
type registries struct {
	suffix, server map[string]*registry
	other          *registry // of suffixes that no paragraph names
	states         phrases   // what values of a status say
}

// of is the registry of the suffix: its own paragraph, or that of the suffix's top-level domain, or the generic one.
func (t *registries) of(suffix fqdn.Name) *registry {
	if r := t.suffix[suffix.String()]; r != nil {
		return r
	}
	if r := t.suffix[suffix.TLD()]; r != nil {
		return r
	}
	return t.other
}

// tables is read once; an error in it is a mistake of ours that every test would find.
var tables = sync.OnceValue(func() *registries {
	t, err := readRegistries(registriesText)
	if err != nil {
		panic("whois: registries.txt: " + err.Error())
	}
	return t
})

// readRegistries reads the format that the head of registries.txt describes. It refuses unknown words, repeated
// suffixes and servers, phrases outside of a paragraph, and lists that are used before they are defined.
func readRegistries(text string) (*registries, error) {
	t := &registries{suffix: map[string]*registry{}, server: map[string]*registry{}}
	lists := map[string][]phrase{}
	strong := newStrongForms()
	var reg *registry
	list := ""
	finish := func() {
		if reg != nil && list != "" {
			lists[list] = reg.own
		}
		reg, list = nil, ""
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "" {
			finish()
			continue
		}
		if reg == nil {
			reg = &registry{query: "{name}", ignored: map[string]bool{}, headings: map[string]bool{}}
		}
		if word == "list" {
			list = rest
		}
		err := strong.directive(word, rest)
		if err == errNotStrong {
			err = t.directive(reg, lists, word, strings.TrimSpace(rest))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	finish()
	for _, name := range []string{"generic", "refusals", "reserves", "short"} {
		if len(lists[name]) == 0 {
			return nil, fmt.Errorf("no list %q", name)
		}
	}
	t.other = &registry{query: "{name}"}
	t.states = index(lists["states"])
	refusals, short := index(lists["refusals"], lists["reserves"]), index(lists["short"])
	hints, beside := index(lists["hints"]), index(lists["beside"])
	for _, r := range t.all() {
		r.refusals, r.short, r.hints, r.beside, r.strong = refusals, short, hints, beside, strong
		if r.has(Free) {
			r.phrases = index(r.own)
		} else {
			r.phrases = index(r.own, lists["generic"])
		}
	}
	return t, nil
}

// index is the phrases of the lists, in their order.
func index(lists ...[]phrase) phrases {
	ps := phrases{}
	for _, list := range lists {
		for _, p := range list {
			ps.add(p)
		}
	}
	return ps
}

// directive takes one line of a paragraph into reg.
func (t *registries) directive(reg *registry, lists map[string][]phrase, word, rest string) error {
	if rest == "" {
		return fmt.Errorf("%q says nothing", word)
	}
	switch word {
	case "list":
	case "source":
		reg.sources = append(reg.sources, strings.Fields(rest)...)
	case "zonelines":
		reg.zoneLines = rest == "yes"
	case "suffix":
		return claim(t.suffix, reg, rest)
	case "server":
		return claim(t.server, reg, rest)
	case "query":
		if strings.Count(rest, "{name}") != 1 {
			return fmt.Errorf("query needs one {name}")
		}
		reg.query = rest
	case "dates":
		if rest != "dmy" && rest != "mdy" {
			return fmt.Errorf("unknown order of dates %q", rest)
		}
		reg.monthFirst = rest == "mdy"
	case "ignore":
		reg.ignored[rest] = true
	case "heading":
		reg.headings[rest] = true
	case "use":
		if len(lists[rest]) == 0 {
			return fmt.Errorf("no list %q above", rest)
		}
		for _, p := range lists[rest] {
			p.borrowed = true
			reg.own = append(reg.own, p)
		}
	default:
		verdict, known := map[string]Verdict{
			"free": Free, "taken": Registered, "reserved": Reserved,
			"invalid": Invalid, "denied": Denied, "throttled": Throttled,
		}[word]
		if !known {
			return fmt.Errorf("unknown word %q", word)
		}
		reg.own = append(reg.own, newPhrase(verdict, rest))
	}
	return nil
}

// claim notes that the keys belong to reg.
func claim(m map[string]*registry, reg *registry, keys string) error {
	for key := range strings.FieldsSeq(keys) {
		if m[key] != nil {
			return fmt.Errorf("%q is given twice", key)
		}
		m[key] = reg
	}
	return nil
}

// all lists every registry once.
func (t *registries) all() []*registry {
	seen := map[*registry]bool{t.other: true}
	all := []*registry{t.other}
	for _, m := range []map[string]*registry{t.suffix, t.server} {
		for _, r := range m {
			if !seen[r] {
				seen[r] = true
				all = append(all, r)
			}
		}
	}
	return all
}

func (r *registry) has(v Verdict) bool {
	for _, p := range r.own {
		if p.verdict == v {
			return true
		}
	}
	return false
}
