package ideas

import (
	"cmp"
	"slices"
	"strings"
)

// TLDs returns up to n TLDs that fit a phrase by their meaning, the best first, filled up with those that fit anything. It
// asks sold whether a TLD is to be had, and never returns com.
func (m *Maker) TLDs(phrase string, n int, sold func(string) bool) []string {
	type fit struct {
		tld  string
		near float32
	}
	var fits []fit
	vectors := m.lex.Vectors()
	for _, tld := range topical {
		id := m.lex.Base(m.lex.Find(tld))
		v := vectors.Of(id)
		best := float32(0)
		for _, s := range m.asked(phrase) {
			if s.id == id && id != 0 {
				best = 1
			} else if w := vectors.Of(s.id); s.id != 0 {
				best = max(best, v.Dot(&w))
			}
		}
		if best >= leastFit && sold(tld) {
			fits = append(fits, fit{tld, best})
		}
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(b.near, a.near) })
	var out []string
	for _, f := range fits[:min(len(fits), n)] {
		out = append(out, f.tld)
	}
	for _, tld := range []string{"io", "co", "net", "org"} {
		if len(out) < n && sold(tld) {
			out = append(out, tld)
		}
	}
	return out
}

// leastFit is how near a TLD is to one of the words of the phrase, to be chosen for it.
const leastFit = 0.6

// topical are TLDs that say what a name is about.
var topical = strings.Fields(`
	academy agency app art auction bar beer bike boutique builders cafe camera camp care catering cheap church clinic clothing club
	coach codes coffee college community computer consulting cooking credit dance dating deals delivery dental dentist design dev
	diamonds doctor dog education energy engineering equipment estate events family farm fashion finance fish fishing fit fitness
	flights florist flowers football furniture gallery games garden gifts golf guitars hair health healthcare hockey holiday
	horse hospital hotel house insurance jewelry kitchen law lawyer legal loans marketing media menu money music news pet pets
	pharmacy photo photography photos pizza plumbing poker property recipes rent rentals repair restaurant sale salon school
	security shoes shop shopping software solar store studio surgery sushi systems tattoo tax taxi tech tennis theater tickets
	tours toys training travel vet video vision wedding wine yoga`)
