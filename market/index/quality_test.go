package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/market/words"
)

// inventory is what the quality of search is judged on: names in many fields, several to each.
const inventory = `
	brewhaven.com beanbar.io roastery.dev coffeeshop.de coffee.com berlincoffee.de espresso-lab.com coffeebean.net
	berlincafe.com mycoffee.app teahouse.com brewhaus.de roastwell.com berlinart.de
	bookshop.com bookstore.net novelcorner.com readinghouse.com toystore.com petshop.io
	lawfirm.com legalpath.com attorneys.net justicehub.org courtroom.tv
	solarpower.com sunenergy.io solarpanels.net windfarm.com greenenergy.org
	fastcars.com quickauto.io autoparts.com rapidmotors.de carwash.com carpet.com
	puppylove.com doghouse.com dogfood.com caninecare.net catnap.com kittencare.com
	paywallet.com mobilepay.io moneybank.com riverbank.org cashflow.com loanstar.com
	realestate.com berlinrealestate.de homes4sale.com propertypro.com villarent.com
	codelab.dev softwarehub.io developers.com webhosting.net cloudserver.com
	flightdeals.com cheapflights.net travelguide.com roadtrip.com hotelstay.com
	ember.com ember.io emberly.app emberglow.net fireplace.com
	smiledental.com dentistberlin.de toothfairy.com
	xn--bcher-kva.de xn--mnchen-3ya.com muenchen.de zyntra.com getzyntra.io
	cryptocoin.com bitcoinwallet.io tokenmint.xyz
	lamppost.com penisland.com expertsexchange.com
`

func filled(t testing.TB, text string) *index.Index {
	t.Helper()
	domains := strings.Fields(text)
	x := index.New(words.English(), len(domains))
	x.Load(func(add func(index.Entry) bool) {
		for i, d := range domains {
			add(index.Entry{Domain: d, PriceCents: int64(100 + i), Currency: "USD", ListedAt: int64(i)})
		}
	})
	return x
}

func found(hits []index.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Domain)
	}
	return out
}

func TestSearchFindsWhatIsMeant(t *testing.T) {
	t.Parallel()
	x := filled(t, inventory)
	tests := []struct {
		query    string
		first    string // the best hit; empty: any
		contains string
		lacks    string
	}{
		{"coffee", "coffee.com", "coffeeshop.de berlincoffee.de coffeebean.net mycoffee.app espresso-lab.com roastery.dev brewhaven.com berlincafe.com beanbar.io", "carwash.com bookshop.com lawfirm.com teahouse.com"},
		{"coffee shop", "coffeeshop.de", "coffee.com brewhaven.com beanbar.io berlincafe.com roastery.dev", "bookshop.com petshop.io toystore.com lawfirm.com"},
		{"coffeeshop", "coffeeshop.de", "coffee.com brewhaven.com", "bookshop.com"},
		{"coffee shop berlin", "", "berlincoffee.de berlincafe.com coffeeshop.de", "berlinart.de dentistberlin.de bookshop.com berlinrealestate.de"},
		{"the best coffee", "coffee.com", "coffeeshop.de", "berlinart.de"},
		{"book store", "bookstore.net", "bookshop.com", "toystore.com coffeeshop.de"},
		{"lawyer", "", "lawfirm.com legalpath.com attorneys.net", "lamppost.com coffee.com"},
		{"solar energy", "", "solarpower.com sunenergy.io", "moneybank.com"},
		{"fast car", "fastcars.com", "quickauto.io", "carpet.com breakfast.com"},
		{"car", "", "fastcars.com carwash.com quickauto.io autoparts.com", "carpet.com kittencare.com caninecare.net"},
		{"dog", "", "doghouse.com dogfood.com puppylove.com caninecare.net", "kittencare.com lawfirm.com"},
		{"bank", "", "moneybank.com loanstar.com riverbank.org", "beanbar.io"},
		{"mobile payment", "", "mobilepay.io", "mycoffee.app"},
		{"real estate", "realestate.com", "berlinrealestate.de propertypro.com", "coffee.com"},
		{"ember", "ember.com", "ember.io emberly.app emberglow.net", "coffee.com"},
		{"ember.io", "ember.io", "ember.com emberly.app", ""},
		{"https://www.ember.io/about?x=1", "ember.io", "ember.com", ""},
		{"EMBER.IO.", "ember.io", "", ""},
		{"embe", "", "ember.com emberly.app", "coffee.com"},
		{"espresso lab", "espresso-lab.com", "", ""},
		{"dentist", "", "smiledental.com dentistberlin.de toothfairy.com", "berlinart.de"},
		{"bücher", "xn--bcher-kva.de", "", ""},
		{"bücher.de", "xn--bcher-kva.de", "", ""},
		{"xn--bcher-kva.de", "xn--bcher-kva.de", "", ""},
		{"München", "xn--mnchen-3ya.com", "", ""},
		{"zyntra", "zyntra.com", "getzyntra.io", "ember.com"},
		{"crypto", "", "cryptocoin.com bitcoinwallet.io tokenmint.xyz", "ember.com"},
		{"cheap flight", "cheapflights.net", "flightdeals.com", "hotelstay.com"},
		{"developer", "developers.com", "softwarehub.io", "travelguide.com"},
		{"pen", "", "penisland.com", "carpet.com"},
		{"cofee shop", "", "coffeeshop.de coffee.com", "lawfirm.com"},
		{"dentsit", "", "smiledental.com dentistberlin.de", "coffee.com"},
		{"bücher laden", "xn--bcher-kva.de", "", "coffee.com"},
		{"nonexistentgibberishzzz", "", "", "coffee.com ember.com"},
		{"", "", "", "coffee.com"},
		{"...", "", "", "coffee.com"},
		{"\x00\xff %&", "", "", "coffee.com"},
	}
	for _, tt := range tests {
		got := found(x.Search(tt.query, 50))
		if tt.first != "" && (len(got) == 0 || got[0] != tt.first) {
			t.Errorf("Search(%q) = %q; want %s first", tt.query, got, tt.first)
		}
		for want := range strings.FieldsSeq(tt.contains) {
			if !slices.Contains(got, want) {
				t.Errorf("Search(%q) = %q; want %s among them", tt.query, got, want)
			}
		}
		for bad := range strings.FieldsSeq(tt.lacks) {
			if slices.Contains(got, bad) {
				t.Errorf("Search(%q) = %q; %s is not about it", tt.query, got, bad)
			}
		}
	}
}

// Other languages are found by their own words and by compounds, and are not corrected into English.
func TestSearchInOtherLanguages(t *testing.T) {
	t.Parallel()
	x := filled(t, "buchhandlung.de buecherladen.de xn--bcher-kva.de boulangerie.fr boulangerieparis.fr panaderia.es panaderiamadrid.es kaffeehaus.at kaffeeroesterei.de "+
		"butcher.com bucket.com beachlife.com pandabear.com boulder.com coffee.com")
	for query, want := range map[string]string{
		"Buchhandlung":      "buchhandlung.de",
		"boulangerie paris": "boulangerieparis.fr boulangerie.fr",
		"panadería":         "panaderia.es panaderiamadrid.es",
		"panadería madrid":  "panaderiamadrid.es panaderia.es",
		"Kaffeehaus":        "kaffeehaus.at",
		"kaffee":            "kaffeehaus.at kaffeeroesterei.de",
		"bücher":            "xn--bcher-kva.de",
	} {
		got := found(x.Search(query, 10))
		for one := range strings.FieldsSeq(want) {
			if !slices.Contains(got, one) {
				t.Errorf("Search(%q) = %q; want %s among them", query, got, one)
			}
		}
		for _, bad := range []string{"butcher.com", "bucket.com", "beachlife.com", "pandabear.com", "boulder.com"} {
			if slices.Contains(got, bad) {
				t.Errorf("Search(%q) = %q; %s is not about it", query, got, bad)
			}
		}
	}
}

func TestNonsenseFindsNothing(t *testing.T) {
	t.Parallel()
	x := filled(t, inventory)
	for _, query := range []string{"xqzvvk", "qwrtzpsdf", "zzzzzz yyyyyy", "1234567", "kjhgfd sdfghj", "ффф", "%%%", "vbnmqx.com", "the", "of the and"} {
		if got := found(x.Search(query, 10)); len(got) > 0 {
			t.Errorf("Search(%q) = %q, want nothing", query, got)
		}
	}
}

// Words whose listings are gone, and come back, are found as before.
func TestSearchAfterChanges(t *testing.T) {
	t.Parallel()
	x := filled(t, "roastery.dev lawfirm.com")
	change := func(gone bool) {
		x.Apply([]index.Change{{Entry: index.Entry{Domain: "roastery.dev", PriceCents: 1, Currency: "USD"}, Gone: gone}})
	}
	for range 3 {
		if got := found(x.Search("coffee", 5)); !slices.Equal(got, []string{"roastery.dev"}) {
			t.Fatalf("got %q", got)
		}
		change(true)
		if got := found(x.Search("coffee", 5)); len(got) > 0 {
			t.Fatalf("gone: got %q", got)
		}
		change(false)
	}
}

func TestMatchSaysWhy(t *testing.T) {
	t.Parallel()
	x := filled(t, inventory)
	tests := []struct {
		query, domain string
		want          index.Match
	}{
		{"coffee.com", "coffee.com", index.Exact},
		{"coffee", "coffee.com", index.Exact},
		{"coffee shop", "coffeeshop.de", index.Exact},
		{"coffee", "berlincoffee.de", index.Keyword},
		{"coffee", "roastery.dev", index.Semantic},
		{"embe", "ember.com", index.Keyword},
	}
	for _, tt := range tests {
		hits := x.Search(tt.query, 50)
		i := slices.IndexFunc(hits, func(h index.Hit) bool { return h.Domain == tt.domain })
		if i < 0 || hits[i].Match != tt.want {
			t.Errorf("Search(%q): %s is %v; want %s", tt.query, tt.domain, hits, tt.want)
		}
	}
}

func TestOrderTellsNothingOfPrices(t *testing.T) {
	t.Parallel()
	domains := strings.Fields(inventory)
	lex := words.English()
	build := func(seed uint64) *index.Index {
		r := rand.New(rand.NewPCG(seed, 0))
		shuffled := slices.Clone(domains)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		x := index.New(lex, 0)
		x.Load(func(add func(index.Entry) bool) {
			for _, d := range shuffled {
				add(index.Entry{Domain: d, PriceCents: 1 + r.Int64N(1_000_000), Currency: "USD", ListedAt: 7})
			}
		})
		return x
	}
	a := build(1)
	for seed := uint64(2); seed < 6; seed++ {
		b := build(seed)
		for _, q := range []string{"coffee", "coffee shop", "car", "ember", "berlin", "real estate", "online", "a"} {
			if x, y := found(a.Search(q, 20)), found(b.Search(q, 20)); !slices.Equal(x, y) {
				t.Errorf("Search(%q) = %q, and with other prices %q", q, x, y)
			}
			for _, o := range []index.Order{index.Newest, index.Name, index.Length, index.Relevance} {
				f := index.Filter{Query: q, Order: o, Limit: 20}
				if x, y := fmt.Sprint(domainsOf(a.Browse(f))), fmt.Sprint(domainsOf(b.Browse(f))); x != y {
					t.Errorf("Browse(%q, order %d) = %s, and with other prices %s", q, o, x, y)
				}
			}
		}
	}
}

func domainsOf(p index.Page) []string {
	var out []string
	for _, e := range p.Entries {
		out = append(out, e.Domain)
	}
	return out
}

// Pages by relevance begin with what a search finds first, and show together what one page shows.
func TestPagesByRelevance(t *testing.T) {
	t.Parallel()
	x := filled(t, inventory)
	for _, q := range []string{"coffee", "ember.com", "berlin real estate", "tooth", "a", "loan"} {
		whole := domainsOf(x.Browse(index.Filter{Query: q, Order: index.Relevance, Limit: 100}))
		if hits := found(x.Search(q, 1)); len(hits) > 0 && (len(whole) == 0 || whole[0] != hits[0]) {
			t.Errorf("Browse(%q) = %q, want %s first, as a search has it", q, whole, hits[0])
		}
		var paged []string
		for f := (index.Filter{Query: q, Order: index.Relevance, Limit: 2}); ; {
			p := x.Browse(f)
			paged = append(paged, domainsOf(p)...)
			if f.After = p.Next; p.Next == nil {
				break
			}
		}
		if !slices.Equal(paged, whole) {
			t.Errorf("Browse(%q) in pages of two = %q, in one %q", q, paged, whole)
		}
	}
}

// A search that is made in parts finds what one in a whole finds.
func TestSearchInParts(t *testing.T) {
	t.Parallel()
	lex := words.English()
	whole, parts := index.New(lex, 0), index.New(lex, 0)
	whole.Load(generated(lex, 100_000))
	parts.Load(generated(lex, 100_000))
	parts.SetPartSlots(40_000)
	for _, q := range benchQueries {
		if a, b := found(whole.Search(q, 50)), found(parts.Search(q, 50)); !slices.Equal(a, b) {
			t.Errorf("Search(%q) = %q in a whole, %q in parts", q, a, b)
		}
	}
}
