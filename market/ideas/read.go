package ideas

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/namewharf/namewharf/market/words"
)

// A source is a word to make names of.
type source struct {
	text  string
	id    words.ID // 0: not in the lexicon
	worth float64  // 1 for what the phrase is about
	asked bool     // is a word of the phrase
	of    string   // the word of the phrase that it is near to
	at    int      // its place in a compound: that of a word which says more of another is before it
	verb  bool     // an inflected form, which a name does not begin to inflect again
}

// What words of the phrase are worth.
const (
	full     = 1.0
	modifier = 0.9  // after "for" or "about": says more of another word
	place    = 0.7  // a city or a country
	kind     = 0.55 // says what kind of thing it is: an app, a studio
	weak     = 0.3  // small, used
)

// mostAsked is how many words of a phrase names are made of: more make no name.
const mostAsked = 4

// links are words behind which a phrase says more of what stands before them.
var links = set(`about above against among around at behind beside between by during for from in inside into near next of on onto over
	that through to toward towards under using via who which with within without`)

// address are parts of web addresses.
var address = set("com http https net org www")

// weakWords say little of what a name is for.
var weakWords = set(`are based best better big brand busy buy cheap cool day different easy every fast find first free fresh full fun get good
	great help high hot kind like little local look looking low made make making many modern more most much name need new nice old
	only other own people perfect personal place quality sell simple small smart special start super thing things top unique used
	secondhand various want way young`)

// pairs are words for which two are often written, whose meaning is not that of the two.
var pairs = set("secondhand takeaway")

// kinds say what kind of thing a name is for.
var kinds = set(`academy app apps api blog brand business class company course firm forum magazine marketplace online platform podcast product saas school service
	services shop site software startup store studio subscription system tool tools web website`)

// asked are the words of the phrase with a meaning, at most [mostAsked] of the greatest worth, in the order of the phrase.
func (m *Maker) asked(phrase string) []source {
	all := m.read(phrase)
	if strong := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.worth < kind }); len(strong) > 0 {
		all = strong
	}
	if !slices.ContainsFunc(all, func(s source) bool { return s.worth >= modifier }) {
		for i := range all {
			all[i].worth = min(full, all[i].worth/0.6)
		}
	}
	heavy := slices.Clone(all)
	slices.SortStableFunc(heavy, func(a, b source) int { return cmp.Compare(b.worth, a.worth) })
	heavy = heavy[:min(len(heavy), mostAsked)]
	return slices.DeleteFunc(all, func(s source) bool {
		return !slices.ContainsFunc(heavy, func(h source) bool { return h.text == s.text })
	})
}

// head is the place of the first words of a phrase in a compound: behind those that say more of them.
const head = 1000

// read is all words of a phrase that are no stop words.
func (m *Maker) read(phrase string) []source {
	var all []source
	at, behind := head, false // a link
	fields := strings.FieldsFunc(plain(phrase), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, field := range fields {
		if address[field] && len(fields) > 1 {
			continue
		}
		if links[field] {
			behind, at = len(all) > 0, 10*len(all)
			if !behind {
				at = head
			}
			continue
		}
		pieces := m.lex.Split(nil, field)
		if len(fields) > 1 && slices.ContainsFunc(pieces, func(p words.Piece) bool { return len(p.Text) < shortestNear }) {
			pieces = []words.Piece{{Text: field}} // a word that the lexicon lacks
		}
		for _, p := range pieces {
			s, ok := m.source(p.Text, p.Word)
			if !ok {
				continue
			}
			if behind {
				s.worth *= modifier
			}
			s.at = at
			at++
			if last := len(all) - 1; last >= 0 && all[last].at == s.at-1 {
				// Two words that make one, such as "real estate".
				if both := m.lex.Find(all[last].text + s.text); both != 0 && (pairs[all[last].text+s.text] || m.means(both, all[last].id, s.id)) {
					all[last] = source{text: all[last].text + s.text, id: m.lex.Base(both), worth: full, asked: true, at: all[last].at}
					if weakWords[all[last].text] {
						all[last].worth = weak
					}
					all[last].of = all[last].text
					continue
				}
			}
			if !slices.ContainsFunc(all, func(o source) bool { return stem(o.text) == stem(s.text) }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// means reports whether a word means what two others mean together: "realestate" does, and "carpet" does not.
func (m *Maker) means(both, first, second words.ID) bool {
	const least = 0.35
	vectors := m.lex.Vectors()
	sum, other, v := vectors.Of(first), vectors.Of(second), vectors.Of(m.lex.Base(both))
	sum.Add(&other, 1)
	return sum.Normalize() && v.Dot(&sum) >= least
}

// source is a piece of a phrase as a source; false for a stop word.
func (m *Maker) source(text string, id words.ID) (source, bool) {
	s := source{text: text, id: id, worth: full, asked: true, of: text}
	if id == 0 {
		return s, len(text) >= 3
	}
	base := m.lex.Base(id)
	short := m.lex.Text(base)
	switch {
	case m.lex.Common(base) || len(text) < 3:
		return s, false
	case kinds[short] || kinds[text]:
		s.worth = kind
	case weakWords[short] || weakWords[text]:
		s.worth = weak
	case m.lex.Mass(base) == words.FullMass/2:
		s.worth = place
	case m.lex.Mass(base) < words.FullMass:
		s.worth = kind
	}
	s.id = base
	s.verb = strings.HasSuffix(text, "ing") || strings.HasSuffix(text, "ed")
	if !s.verb { // "grooming" is a better word for a name than "groom"
		s.text = short
	}
	s.of = s.text
	return s, true
}

// plain is a text in lower case without accents.
func plain(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(text)) {
		switch {
		case r == 'ß':
			b.WriteString("ss")
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// meaning is the direction of the words together.
func (m *Maker) meaning(asked []source) (sum words.Vector) {
	for _, s := range asked {
		if s.id != 0 {
			v := m.lex.Vectors().Of(s.id)
			sum.Add(&v, float32(s.worth))
		}
	}
	sum.Normalize()
	return sum
}

// Bounds of the words near in meaning.
const (
	nearPerWord  = 9
	strongLink   = 0.7  // of the word list
	leastLinked  = 0.3  // the similarity of a word that is linked
	leastNear    = 0.68 // and of one that is not
	longestNear  = 8
	shortestNear = 3
)

// near are words near in meaning to those of the phrase, nearest first.
func (m *Maker) near(asked []source) []source {
	vectors := m.lex.Vectors()
	var all []source
	for _, a := range asked {
		if a.id == 0 || a.worth <= place {
			continue
		}
		meaning := vectors.Of(a.id)
		linked := map[words.ID]float32{}
		for _, l := range m.lex.Neighbours(a.id) {
			linked[m.lex.Base(l.To)] = max(linked[m.lex.Base(l.To)], l.Strength)
		}
		var found []source
		add := func(id words.ID, similarity, link float64) {
			text := m.lex.Text(id)
			if id == a.id || !m.fits(id) || stem(text) == stem(a.text) || slices.ContainsFunc(found, func(s source) bool { return stem(s.text) == stem(text) }) {
				return
			}
			found = append(found, source{text: text, id: id, worth: min(0.95, 0.45+0.3*similarity+0.3*link) * a.worth, of: a.text, at: a.at})
		}
		near := m.lex.Neighbours(a.id)
		if root := m.root(a); root != 0 { // what is near "garden" is near "gardening"
			found = append(found, source{text: m.lex.Text(root), id: root, worth: 0.9 * a.worth, of: a.text, at: a.at})
			near = slices.Concat(near, m.lex.Neighbours(root))
		}
		for _, l := range near {
			v := vectors.Of(m.lex.Base(l.To))
			if s := v.Dot(&meaning); l.Strength >= strongLink && s >= leastLinked {
				add(m.lex.Base(l.To), float64(s), float64(l.Strength))
			}
		}
		if len(found) < nearPerWord && meaning.Normalize() {
			var products words.Products
			products.Set(vectors, &meaning)
			for id := words.ID(1); int(id) <= m.lex.Len(); id++ {
				if !m.lex.Frequent(id) || linked[id] >= strongLink {
					continue
				}
				if s := vectors.Similarity(&products, id); s >= leastNear {
					add(id, float64(s)-0.2, float64(linked[id]))
				}
			}
		}
		slices.SortFunc(found, byWorth)
		all = append(all, found[:min(len(found), nearPerWord)]...)
	}
	slices.SortStableFunc(all, byWorth)
	seen := map[string]bool{}
	for _, a := range asked {
		seen[a.text] = true
	}
	return slices.DeleteFunc(all, func(s source) bool {
		double := seen[s.text]
		seen[s.text] = true
		return double
	})
}

// root is the word that a form such as "gardening" is of; 0 when that is no word of its own.
func (m *Maker) root(a source) words.ID {
	text, ok := strings.CutSuffix(a.text, "ing")
	if !a.verb || !ok || len(text) < shortestNear {
		return 0
	}
	forms := []string{text, text + "e"}
	if n := len(text); text[n-1] == text[n-2] { // "planning"
		forms = append(forms, text[:n-1])
	}
	for _, s := range forms {
		if id := m.lex.Base(m.lex.Find(s)); id != 0 && id != a.id && !m.lex.Rare(id) && m.lex.Mass(id) == words.FullMass && !unfit[s] {
			return id
		}
	}
	return 0
}

// fits reports whether a word near in meaning may be a part of a name.
func (m *Maker) fits(id words.ID) bool {
	text := m.lex.Text(id)
	if m.lex.Base(id) != id || m.lex.Rare(id) || m.lex.Mass(id) < words.FullMass || len(text) < shortestNear || len(text) > longestNear || unfit[text] {
		return false
	}
	if singular, ok := strings.CutSuffix(text, "s"); ok && m.lex.Find(singular) != 0 {
		return false
	}
	for _, end := range []string{"ing", "ly", "ness", "tion", "ous", "ism", "able", "less", "hood", "ize", "ate", "ment", "ance"} {
		if strings.HasSuffix(text, end) {
			return false
		}
	}
	return true
}

func byWorth(a, b source) int {
	return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.text, b.text))
}

// stem is enough of a word to tell inflections of one from another word.
func stem(w string) string { return w[:min(len(w), 5)] }

func set(text string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}
