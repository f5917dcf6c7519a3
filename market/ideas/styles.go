package ideas

import (
	"slices"
	"strings"
)

// makers make the candidates of each style.
var makers = map[Style]func(c *collector, asked, near []source){
	Compound: compounds, Suffix: suffixes, Synonym: synonyms, Blend: blends, Prefix: prefixes, Short: shorts, Hack: hacks,
}

// Words to put before and behind another.
var (
	before = strings.Fields("get go my try hello join meet true pure daily bright urban prime simply")
	behind = strings.Fields("hub haven nest lab works house base loft corner craft wise path cove forge spot yard kit mate nook point ly ify")
)

// How much a style is worth beside the others at the same meaning.
const (
	compoundWorth = 0.95
	ownWorth      = 1.0
	affixWorth    = 0.85
	synonymWorth  = 0.85
	blendWorth    = 0.8
	shortWorth    = 0.7
	hackWorth     = 0.8
)

func compounds(c *collector, asked, near []source) {
	all := slices.Concat(asked, near)
	for _, a := range all {
		for _, b := range all {
			if a.text == b.text || !a.asked && !b.asked && a.of == b.of || stem(a.text) == stem(b.text) {
				continue
			}
			label := a.text + b.text
			meaning := compoundWorth * (a.near + b.near) / 2
			if !a.asked && !b.asked {
				meaning *= 0.9
			}
			if len(asked) > 1 && a.of == b.of {
				meaning *= 0.8 // says only one of the things asked for
			}
			c.add(Compound, label, "", meaning, []string{a.text, b.text}, "joins "+a.said()+" and "+b.said())
		}
	}
}

// said names a word, with the word of the phrase that it is for.
func (s source) said() string {
	if s.asked {
		return s.text
	}
	return s.text + " (for " + s.of + ")"
}

func suffixes(c *collector, asked, near []source) {
	for _, s := range slices.Concat(asked, near) {
		for _, end := range behind {
			if s.text == end || strings.HasSuffix(s.text, end[:1]) && len(end) < 4 {
				continue
			}
			c.add(Suffix, s.text+end, "", affixWorth*s.near*weight(s), []string{s.text, end}, s.said()+" with "+end)
		}
	}
}

func prefixes(c *collector, asked, near []source) {
	for _, s := range slices.Concat(asked, near) {
		for _, start := range before {
			if s.text != start {
				c.add(Prefix, start+s.text, "", affixWorth*s.near*weight(s), []string{start, s.text}, start+" before "+s.said())
			}
		}
	}
}

// weight prefers the words of the phrase a little.
func weight(s source) float64 {
	if s.asked {
		return ownWorth
	}
	return synonymWorth
}

func synonyms(c *collector, _, near []source) {
	for _, s := range near {
		c.add(Synonym, s.text, "", synonymWorth*s.near, []string{s.text}, s.text+" is near "+s.of)
		for _, end := range []string{"ry", "ery", "ist", "er", "co"} {
			if id := c.lex.Find(s.text + end); id != 0 || end == "co" {
				c.add(Synonym, s.text+end, "", 0.9*synonymWorth*s.near, []string{s.text}, s.text+" is near "+s.of)
			}
		}
	}
}

// leastShared is how many letters the words of a blend share.
const leastShared = 2

func blends(c *collector, asked, near []source) {
	all := slices.Concat(asked, near)
	extra := make([]source, 0, len(behind))
	for _, w := range behind {
		if len(w) > 3 {
			extra = append(extra, source{text: w, near: 0.6, asked: true, of: w})
		}
	}
	for _, a := range all {
		for _, b := range slices.Concat(all, extra) {
			if a.text == b.text || stem(a.text) == stem(b.text) {
				continue
			}
			for n := min(len(a.text), len(b.text)) - 1; n >= leastShared; n-- {
				if strings.HasSuffix(a.text, b.text[:n]) {
					worth := blendWorth * (a.near + b.near) / 2 * min(1.1, 0.8+0.1*float64(n))
					c.add(Blend, a.text+b.text[n:], "", worth, []string{a.text, b.text}, a.said()+" runs into "+b.said())
					break
				}
			}
		}
	}
}

// endings make a name of the beginning of a word.
var endings = strings.Fields("o a ly io ify eo ora ella")

func shorts(c *collector, asked, near []source) {
	for _, s := range slices.Concat(asked, near) {
		if s.asked {
			c.add(Short, s.text, "", 0.9*s.near, []string{s.text}, "the word itself")
		}
		for cut := 3; cut < len(s.text) && cut <= 6; cut++ {
			root := s.text[:cut]
			if !vowels(root) || strings.IndexByte("aeiou", root[cut-1]) >= 0 {
				continue
			}
			for _, end := range endings {
				c.add(Short, root+end, "", shortWorth*s.near*weight(s)*(0.7+0.05*float64(cut)), []string{s.text}, "short for "+s.said())
			}
			break
		}
	}
}

func hacks(c *collector, asked, near []source) {
	if c.wanted.TLDs == nil {
		return
	}
	try := func(text string, meaning float64, of []string, said string) {
		for cut := 2; cut <= len(text)-2; cut++ {
			if tld := text[cut:]; c.wanted.TLDs(tld) {
				c.add(Hack, text[:cut], tld, hackWorth*meaning, of, said+", completed by ."+tld)
			}
		}
	}
	all := slices.Concat(asked, near)
	for _, s := range all {
		try(s.text, s.near, []string{s.text}, s.said())
		for _, end := range []string{"s", "er", "ers", "ing", "ly"} {
			if end == "s" || c.lex.Find(s.text+end) != 0 {
				try(s.text+end, 0.9*s.near, []string{s.text}, s.said())
			}
		}
		for _, b := range asked {
			if b.text != s.text {
				try(b.text+s.text, 0.85*(s.near+b.near)/2, []string{b.text, s.text}, b.said()+" and "+s.said())
			}
		}
	}
}
