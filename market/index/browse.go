package index

import (
	"sort"
	"strings"
)

// A Filter says which entries to show, and in which order.
type Filter struct {
	Suffix   string // only names under it; "uk" includes co.uk
	Query    string // only what [Index.Search] would find
	MinPrice int64  // cents; 0: no bound
	MaxPrice int64  // cents; 0: no bound
	Order    Order
	After    *Position // only what follows; nil: from the start
	Offset   int       // how many to leave out
	Limit    int
}

// A Page is a part of what a filter shows.
type Page struct {
	Entries []Entry
	Next    *Position // where the next page begins; nil at the end
}

// Browse returns a page. Pages that follow one another by position show every entry that is there all the time
// exactly once, whatever is added or taken out meanwhile.
func (x *Index) Browse(f Filter) Page {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if f.Limit <= 0 {
		return Page{}
	}
	suits := x.suits(&f)
	var places []place // one more than the limit, if there is one
	if f.Query == "" {
		places = x.firstInOrder(&f, suits)
	} else {
		places = x.firstRelevant(&f, suits)
	}
	var p Page
	for i, at := range places {
		if i == f.Limit {
			next := x.position(places[i-1])
			p.Next = &next
			break
		}
		p.Entries = append(p.Entries, x.entry(at.slot))
	}
	return p
}

// suits returns the test for the bounds of the filter.
func (x *Index) suits(f *Filter) func(slot uint32) bool {
	bySuffix := make([]bool, len(x.suffixNames.names))
	for number := range bySuffix {
		bySuffix[number] = f.Suffix == "" || under(x.suffixNames.names[number], f.Suffix)
	}
	return func(slot uint32) bool {
		if !bySuffix[x.suffixes[slot]] {
			return false
		}
		if f.MinPrice == 0 && f.MaxPrice == 0 {
			return true
		}
		price := x.prices[slot]
		return price >= f.MinPrice && (f.MaxPrice == 0 || price <= f.MaxPrice)
	}
}

// firstInOrder is the places that suit, in the order of the filter, from the position and offset on, one more than the limit.
func (x *Index) firstInOrder(f *Filter, suits func(uint32) bool) []place {
	order := x.orders[f.Order]
	order = order[x.from(f.Order, f.After):]
	if f.Order == Price { // the bounds are places in the order
		low := sort.Search(len(order), func(i int) bool { return x.prices[order[i]] >= f.MinPrice })
		order = order[low:]
		if f.MaxPrice > 0 {
			order = order[:sort.Search(len(order), func(i int) bool { return x.prices[order[i]] > f.MaxPrice })]
		}
	}
	var places []place
	skip := f.Offset
	for _, slot := range order {
		switch {
		case !suits(slot):
		case skip > 0:
			skip--
		default:
			if places = append(places, place{x.key(f.Order, slot), slot}); len(places) > f.Limit {
				return places
			}
		}
	}
	return places
}

// firstRelevant is the places that are relevant to the query of the filter, in its order, from the position and offset on,
// one more than the limit.
func (x *Index) firstRelevant(f *Filter, suits func(uint32) bool) []place {
	q := x.parse(f.Query)
	first := best[place]{limit: f.Offset + f.Limit + 1, compare: x.comparePlaces}
	x.relevant(&q, func(hit found) {
		if !suits(hit.slot) {
			return
		}
		at := place{slot: hit.slot}
		if f.Order == Relevance {
			at.key = relevanceKey(x.scoreWithPrefix(&q, hit))
		} else {
			at.key = x.key(f.Order, hit.slot)
		}
		if f.After == nil || x.behind(at, f.After) {
			first.add(at)
		}
	})
	places := first.sorted()
	return places[min(f.Offset, len(places)):]
}

// relevanceKey is a score as a key: the highest first, to three decimal places, so that what hardly differs follows by name.
func relevanceKey(score float32) int64 { return -int64(score*1000 + 0.5) }

// under reports whether a suffix is the other or below it.
func under(suffix, above string) bool {
	return suffix == above || strings.HasSuffix(suffix, "."+above)
}
