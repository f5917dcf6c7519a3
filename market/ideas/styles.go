package ideas

import (
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/market/words"
)

// makers make the candidates of each style.
var makers = map[Style]func(*collector){
	Compound: compounds, Suffix: suffixes, Synonym: synonyms, Blend: blends, Prefix: prefixes, Short: shorts, Hack: hacks,
}

// How much a style is worth beside the others at the same meaning.
const (
	suffixWorth  = 0.95
	prefixWorth  = 0.9
	synonymWorth = 0.95
	blendWorth   = 0.8
	shortWorth   = 0.75
	hackWorth    = 0.75
)

// before are words to put before another.
var before = strings.Fields(`bright true blue north golden happy little clever daily prime urban swift simple pure green wild silver hello
	ever open lucky noble bold sunny calm`)

// A flavor is words to put behind another, for phrases about something.
type flavor struct{ about, behind []string }

// flavors are by what phrases are about.
var flavors = []flavor{
	{strings.Fields("food coffee bakery beer tea restaurant meal"), strings.Fields("nook table pantry cup crate yard house corner barn oven")},
	{strings.Fields("furniture wood repair tool plumber construction"), strings.Fields("works craft smith forge bench mill crew yard barn")},
	{strings.Fields("garden flower farm plant nature"), strings.Fields("grove bloom patch meadow acre yard field root")},
	{strings.Fields("software app cloud data computer website technology"), strings.Fields("stack base kit flow loop deck wave grid pilot dock spark")},
	{strings.Fields("health yoga child beauty dental fitness wellness"), strings.Fields("nest bloom circle glow path joy haven studio club")},
	{strings.Fields("pet dog cat animal"), strings.Fields("pal nest buddy den tail club joy patch")},
	{strings.Fields("law finance accounting insurance estate property bank"), strings.Fields("path point bridge guide compass wise key line anchor")},
	{strings.Fields("job career talent recruit school lesson language"), strings.Fields("path bridge scout circle ladder match spark nest")},
	{strings.Fields("travel hiking bicycle car trip vehicle"), strings.Fields("trail route lane compass scout ridge peak mile")},
	{strings.Fields("music podcast photography game history blog book"), strings.Fields("tales deck wave lane lens den stage reel nook lab")},
	{strings.Fields("clothing jewelry toy fashion gift wedding"), strings.Fields("box attic loft lane room closet chest bazaar charm")},
	{strings.Fields("energy electric security weather power"), strings.Fields("grid wave guard watch beam field station spark point")},
}

// general are words to put behind any other.
var general = strings.Fields("hub haven house lab nest loft lane corner works base spot")

// fitting is the words to put behind those of the phrase, with what each is worth.
func (c *collector) fitting() map[string]float64 {
	worth := map[string]float64{}
	for _, w := range general {
		worth[w] = 0.85
	}
	best, second := -1, -1
	var scores []float32
	for i, f := range flavors {
		v := c.of(f.about)
		scores = append(scores, v.Dot(&c.meaning))
		switch {
		case best < 0 || scores[i] > scores[best]:
			best, second = i, best
		case second < 0 || scores[i] > scores[second]:
			second = i
		}
	}
	for place, i := range []int{second, best} {
		if scores[i] > 0.2 {
			for _, w := range flavors[i].behind {
				worth[w] = 0.9 + 0.1*float64(place)
			}
		}
	}
	return worth
}

// of is the direction of some words together.
func (c *collector) of(texts []string) (sum words.Vector) {
	for _, w := range texts {
		v := c.lex.Vectors().Of(c.lex.Base(c.lex.Find(w)))
		sum.Add(&v, 1)
	}
	sum.Normalize()
	return sum
}

// varied is from 0.9 to 1, by chance that depends on the words alone, so that not every phrase gets the same words first.
func varied(a, b string) float64 {
	h := fnv.New32a()
	h.Write([]byte(a + " " + b))
	return 0.9 + 0.1*float64(h.Sum32()%1000)/1000
}

// joint is less for two words that are hard to tell apart where they meet.
func joint(a, b string) float64 {
	last, first := a[len(a)-1], b[0]
	switch {
	case last == first:
		return 0.8
	case strings.IndexByte("aeiou", last) >= 0 && strings.IndexByte("aeiou", first) >= 0:
		return 0.85
	case last == 's' && (first == 'h' || first == 't'):
		return 0.9
	}
	return 1
}

// said names a word, with the word of the phrase that it is for.
func (s source) said() string {
	if s.asked || s.of == "" {
		return s.text
	}
	return s.text + " (for " + s.of + ")"
}

func compounds(c *collector) {
	for _, a := range c.sources {
		for _, b := range c.sources {
			if a.text == b.text || stem(a.text) == stem(b.text) || strings.HasSuffix(a.text, b.text) || strings.HasPrefix(b.text, a.text) {
				continue
			}
			meaning := (a.worth + b.worth) / 2 * joint(a.text, b.text) * varied(a.text, b.text)
			switch {
			case a.of != b.of && a.at > b.at:
				continue // "students coffee", not "coffee students"
			case a.of != b.of:
			case a.asked:
				meaning *= 0.8 // "coffee bean"
			default:
				continue
			}
			if a.verb && b.verb || a.worth <= kind && a.asked {
				meaning *= 0.8
			}
			c.add(Compound, a.text+b.text, "", meaning, []string{a.text, b.text}, "joins "+a.said()+" and "+b.said())
		}
	}
}

func suffixes(c *collector) {
	for _, s := range c.sources {
		if s.worth <= place {
			continue
		}
		for end, worth := range c.behind {
			if s.text != end && !strings.HasSuffix(s.text, end) {
				c.add(Suffix, s.text+end, "", suffixWorth*worth*s.worth*joint(s.text, end)*varied(s.text, end), []string{s.text, end}, s.said()+" with "+end)
			}
		}
	}
}

func prefixes(c *collector) {
	for _, start := range before {
		v := c.lex.Vectors().Of(c.lex.Base(c.lex.Find(start)))
		fit := prefixWorth * (0.9 + 0.15*max(0, float64(v.Dot(&c.meaning))))
		for _, s := range c.sources {
			if s.worth <= place || s.verb || strings.HasPrefix(s.text, start) {
				continue
			}
			c.add(Prefix, start+s.text, "", min(1, fit*varied(start, s.text))*s.worth*joint(start, s.text), []string{start, s.text}, start+" before "+s.said())
		}
	}
}

func synonyms(c *collector) {
	for _, s := range c.sources {
		if !s.asked && c.lex.Vectors().Known(s.id) {
			v := c.lex.Vectors().Of(s.id)
			c.add(Synonym, s.text, "", synonymWorth*s.worth*(0.7+0.3*max(0, float64(v.Dot(&c.meaning)))), []string{s.text}, s.text+" is near "+s.of)
		}
	}
}

const (
	leastShared  = 2  // letters that the words of a blend share
	longestBlend = 11 // letters: longer ones hide their words
)

func blends(c *collector) {
	type second struct {
		source
		end bool
	}
	var others []second
	for _, s := range c.sources {
		others = append(others, second{s, false})
	}
	for _, end := range slices.Sorted(maps.Keys(c.behind)) {
		others = append(others, second{source{text: end, worth: 0.9 * c.behind[end]}, true})
	}
	for _, a := range c.sources {
		for _, b := range others {
			if len(a.text) < 4 || len(b.text) < 4 || stem(a.text) == stem(b.text) || a.verb || a.of == b.of && !b.end {
				continue
			}
			for n := min(len(a.text), len(b.text)) - 2; n >= leastShared; n-- {
				label := a.text + b.text[n:]
				if strings.HasSuffix(a.text, b.text[:n]) && len(label) <= longestBlend {
					c.add(Blend, label, "", blendWorth*(a.worth+b.worth)/2*min(1.15, 0.75+0.15*float64(n)), []string{a.text, b.text}, a.said()+" runs into "+b.said())
					break
				}
			}
		}
	}
}

func shorts(c *collector) {
	for _, s := range c.sources {
		if s.asked {
			c.add(Short, s.text, "", 0.9*s.worth, []string{s.text}, "the word itself")
		}
		last := s.text[len(s.text)-1]
		if len(s.text) > 6 || s.verb || s.worth <= place || !vowels(s.text) || strings.IndexByte("aeiouy", last) >= 0 {
			continue
		}
		for _, end := range []string{"ly", "ify", "io", "ora"} {
			if end[0] != last {
				c.add(Short, s.text+end, "", shortWorth*s.worth*varied(s.text, end), []string{s.text}, s.said()+" with -"+end)
			}
		}
	}
}

// hacks completes words by TLDs. Only words of the phrase take an s.
func hacks(c *collector) {
	if c.wanted.TLDs == nil {
		return
	}
	try := func(text string, meaning float64, of []string, said string) {
		for cut := 2; cut <= len(text)-2; cut++ {
			if tld := text[cut:]; c.wanted.TLDs(tld) {
				c.add(Hack, text[:cut], tld, hackWorth*meaning*min(1, 0.7+0.1*float64(cut)), of, said+", completed by ."+tld)
			}
		}
	}
	for _, s := range c.sources {
		try(s.text, s.worth, []string{s.text}, s.said())
		if s.asked && !s.verb {
			try(s.text+"s", 0.9*s.worth, []string{s.text}, s.said())
		}
		for _, b := range c.sources {
			if s.asked && b.asked && s.at < b.at {
				try(s.text+b.text, 0.85*(s.worth+b.worth)/2, []string{s.text, b.text}, s.said()+" and "+b.said())
			}
		}
	}
}
