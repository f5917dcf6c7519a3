package whois

import (
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// A phrase is a line that decides; registries.txt says how it is compared.
type phrase struct {
	verdict Verdict
	before  string // up to {name}, or all of it; folded
	after   string // behind {name}; folded
	named   bool   // has {name}
	open    bool   // ended in *
}

func newPhrase(v Verdict, text string) phrase {
	text, open := strings.CutSuffix(text, "*")
	folded := string(fold(nil, text))
	if !open {
		folded = bare(folded)
	} else if strings.HasSuffix(text, " ") {
		folded += " "
	}
	before, after, named := strings.Cut(folded, "{name}")
	return phrase{verdict: v, before: before, after: after, named: named, open: open}
}

// match reports whether the folded and bared line is the phrase, about one of the names.
func (p phrase) match(line string, n names) bool {
	rest, ok := strings.CutPrefix(line, p.before)
	if !ok {
		return false
	}
	if !p.named {
		return rest == "" || p.open
	}
	after, ok := strings.CutPrefix(rest, n.ascii)
	if !ok {
		if after, ok = strings.CutPrefix(rest, n.unicode); !ok {
			return false
		}
	}
	if p.open {
		return strings.HasPrefix(after, p.after)
	}
	return after == p.after
}

// names are the spellings of the name asked for.
type names struct{ ascii, unicode, suffix string }

func newNames(n fqdn.Name) names {
	return names{ascii: n.String(), unicode: n.Unicode(), suffix: "." + n.TLD()}
}

// rank orders the verdicts: the lowest that any line says wins.
var rank = map[Verdict]int{Throttled: 1, Denied: 2, Invalid: 3, Reserved: 4, Free: 5, Registered: 6, Unknown: 7}

// judge looks for phrases in a reply without registration data. It returns the strongest verdict of any line, and
// the text from the deciding line on.
func (r *registry) judge(text string, n names) (Verdict, string) {
	verdict, from := Unknown, ""
	buf := make([]byte, 0, 256)
	for rest := text; rest != ""; {
		here := rest
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if len(line) > 1024 {
			continue // prose
		}
		buf = fold(buf, line)
		folded := bare(string(buf))
		if folded == "" {
			continue
		}
		v := r.line(folded, n)
		if v == Free && n.other(folded) {
			v = Unknown
		}
		if rank[v] < rank[verdict] {
			verdict, from = v, here
		}
	}
	return verdict, from
}

// line is the verdict of one folded and bared line: the registry's own phrases decide before the general ones.
func (r *registry) line(folded string, n names) Verdict {
	for _, p := range r.phrases {
		if p.match(folded, n) {
			return p.verdict
		}
	}
	for _, p := range r.refusals {
		if p.match(folded, n) {
			return p.verdict
		}
	}
	return Unknown
}

// other reports whether the line speaks about another name of the same top-level domain, and not about n.
func (n names) other(line string) bool {
	found := false
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		return strings.ContainsRune(" \"'()[]<>,:;!?", r)
	}) {
		word = strings.TrimSuffix(word, ".")
		switch {
		case word == n.ascii || word == n.unicode:
			return false
		case strings.HasSuffix(word, n.suffix) && len(word) > len(n.suffix):
			found = true
		}
	}
	return found
}

// bare drops comment marks in front and punctuation at the end.
func bare(s string) string {
	return strings.TrimRight(strings.TrimLeft(s, "%#>*;- \t"), ".!*<; \t")
}

// wait finds the time to wait in the first lines of a refusal: a number and its unit. It is 0 if there is none,
// and a day at most.
func wait(text string) time.Duration {
	fields := strings.FieldsFunc(cut(text, 1024), func(r rune) bool { return strings.ContainsRune(" \t\n,.;:()", r) })
	for i, f := range fields {
		digits := strings.TrimRight(f, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		unit := f[len(digits):]
		if unit == "" && i+1 < len(fields) {
			unit = fields[i+1]
		}
		n, err := strconv.ParseUint(digits, 10, 20)
		if err != nil || n == 0 {
			continue
		}
		if d := unitOf(strings.ToLower(unit)); d > 0 {
			return min(time.Duration(n)*d, 24*time.Hour)
		}
	}
	return 0
}

func unitOf(word string) time.Duration {
	switch word {
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hour", "hours", "hrs":
		return time.Hour
	}
	return 0
}
