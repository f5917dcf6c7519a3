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
	before  string   // up to {name} or the first *, or all of it; folded
	after   string   // behind {name}; folded
	within  []string // between and behind the *s, in this order somewhere in the line; folded
	named   bool     // has {name}
	open    bool     // ends in *

	borrowed bool // of a list that the registry uses
}

func newPhrase(v Verdict, text string) phrase {
	text, open := strings.CutSuffix(text, "*")
	folded := string(fold(nil, text))
	switch {
	case !open:
		folded = bare(folded)
	case strings.HasSuffix(text, " "):
		folded += " "
	}
	p := phrase{verdict: v, open: open}
	if p.before, p.after, p.named = strings.Cut(folded, "{name}"); !p.named {
		parts := strings.Split(folded, "*")
		p.before, p.within = parts[0], parts[1:]
	}
	return p
}

// match reports whether the folded and bared line is the phrase, about one of the names.
func (p phrase) match(line string, n names) bool {
	rest, ok := strings.CutPrefix(line, p.before)
	if !ok {
		return false
	}
	if p.named {
		after, ok := strings.CutPrefix(rest, n.ascii)
		if !ok {
			after, ok = strings.CutPrefix(rest, n.unicode)
		}
		return ok && (after == p.after || (p.open && strings.HasPrefix(after, p.after)))
	}
	for _, part := range p.within {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return rest == "" || p.open
}

// names are the spellings of the name asked for.
type names struct {
	ascii, unicode string
	label          string // what is before the first dot, in A-label form
	suffix         string // the top-level domain, with a dot in front
	beside         bool   // the reply names it in a line of its own
}

func newNames(n fqdn.Name) names {
	label, _, _ := strings.Cut(n.String(), ".")
	return names{ascii: n.String(), unicode: n.Unicode(), label: label, suffix: "." + n.TLD()}
}

// rank orders the verdicts: the lowest that any line says wins.
var rank = map[Verdict]int{Throttled: 1, Denied: 2, Invalid: 3, Reserved: 4, Free: 5, Registered: 6, Unknown: 7}

// judge looks for phrases in a reply without registration data. It returns the strongest verdict of any line, and
// the text from the deciding line on. What only the words of a line hint at counts where nothing else does (hinted), but
// for throttling in a short reply: a free name is never taken from a reply that may be a refusal for load.
func (r *registry) judge(text string, n names) (v Verdict, from string, hinted bool) {
	j := judgement{reg: r, names: n, short: isShort(text), verdict: Unknown, weak: Unknown}
	for rest := text; rest != ""; {
		here := rest
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if len(line) <= 1024 { // longer ones are prose
			j.line(line, here)
		}
	}
	if j.verdict == Unknown {
		return j.weak, j.weakFrom, true
	}
	return j.verdict, j.from, false
}

// A judgement is what the lines of a reply said so far.
type judgement struct {
	reg   *registry
	names names
	short bool

	verdict  Verdict
	from     string // the text from the line on that said so
	weak     Verdict
	weakFrom string

	heading string // the line above, folded, if it is a label without a value
	indent  int    // of that line
	buf     []byte
}

// line takes a line; here is the text from it on. What is indented below a heading is a value: it counts together with
// the heading ("Domain Status:" above "Available"), and cannot by itself say that the name is free.
func (j *judgement) line(line, here string) {
	j.buf = fold(j.buf, line)
	folded := bare(string(j.buf))
	if folded == "" {
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	heading, above := j.heading, j.indent
	j.heading, j.indent = "", indent
	if strings.HasSuffix(folded, ":") {
		j.heading = folded
	}
	v := Unknown
	if heading != "" {
		v = j.reg.line(heading+" "+folded, j.names)
	}
	if v == Unknown {
		if v = j.reg.line(folded, j.names); v == Free && heading != "" && indent > above {
			v = Unknown
		}
	}
	terms := v == Unknown && isTerms(folded)
	if v == Unknown && j.short && !terms {
		if v = j.reg.short.first(folded, j.names); v != Throttled && v != Unknown {
			j.hint(v, here)
			v = Unknown
		}
	}
	if v == Unknown && !terms {
		j.hint(j.reg.hints.first(folded, j.names), here)
	}
	if v == Free && j.names.other(folded) {
		v = Unknown
	}
	if rank[v] < rank[j.verdict] {
		j.verdict, j.from = v, here
	}
}

// isTerms reports whether the line is of the terms of use, which speak of limits, refusals and blocked addresses.
func isTerms(folded string) bool {
	for _, words := range [...]string{"terms of use", "terms and conditions", "you agree", "by submitting", "you may not", "not authorized to access or query"} {
		if strings.Contains(folded, words) {
			return true
		}
	}
	return false
}

// hint notes a verdict that counts where no line says more.
func (j *judgement) hint(v Verdict, here string) {
	if rank[v] < rank[j.weak] {
		j.weak, j.weakFrom = v, here
	}
}

// line is the verdict of one folded and bared line: the registry's own phrases decide before the general ones, and
// all of them before the strong forms.
func (r *registry) line(folded string, n names) Verdict {
	if v := r.phrases.first(folded, n); v != Unknown {
		return v
	}
	whole := folded
	if rest, ok := strings.CutPrefix(strings.TrimLeft(folded, "0123456789"), ": "); ok {
		folded = rest // "-3: ..."
	}
	folded = strings.TrimPrefix(folded, "error: ")
	if folded == "" {
		return Unknown
	}
	if v := r.refusals.first(folded, n); v != Unknown {
		return v
	}
	if r.strong.match(whole, n) {
		return Free
	}
	if n.beside {
		return r.beside.first(whole, n)
	}
	return Unknown
}

// phrases are phrases by their first byte, or 0 for those that begin with {name} or *. Within one first byte they have
// their order.
type phrases map[byte][]phrase

func (ps phrases) add(p phrase) {
	var c byte
	if p.before != "" {
		c = p.before[0]
	}
	ps[c] = append(ps[c], p)
}

// first is the verdict of the first phrase that the line is.
func (ps phrases) first(folded string, n names) Verdict {
	for _, list := range [...][]phrase{ps[folded[0]], ps[0]} {
		for _, p := range list {
			if p.match(folded, n) {
				return p.verdict
			}
		}
	}
	return Unknown
}

// A short reply has no terms of use: its words count anywhere in a line.
const (
	shortReply = 6 // lines that are not blank
	shortLine  = 160
)

// isShort reports whether the reply is short.
func isShort(text string) bool {
	lines := 0
	for text != "" && lines <= shortReply {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		if len(line) > shortLine {
			return false
		}
		if line != "" {
			lines++
		}
	}
	return lines <= shortReply
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
		if d, err := time.ParseDuration(strings.ToLower(f)); err == nil && d > 0 {
			return min(d, 24*time.Hour) // 24h0m0s
		}
		digits := strings.TrimRight(f, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		unit := f[len(digits):]
		if unit == "" && i+1 < len(fields) {
			unit = fields[i+1]
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || n == 0 {
			continue
		}
		if d := unitOf(strings.ToLower(unit)); d > 0 {
			return time.Duration(min(n, uint64(24*time.Hour/d))) * d
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
