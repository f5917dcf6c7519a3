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
	var slots []uint32 // one more than the limit, if there is one
	if f.Query == "" {
		slots = x.firstInOrder(&f, suits)
	} else {
		slots = x.firstRelevant(&f, suits)
	}
	var p Page
	for i, slot := range slots {
		if i == f.Limit {
			next := x.position(f.Order, slots[i-1])
			p.Next = &next
			break
		}
		p.Entries = append(p.Entries, x.entry(slot))
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

// firstInOrder is the slots that suit, in the order of the filter, from the position and offset on, one more than the limit.
func (x *Index) firstInOrder(f *Filter, suits func(uint32) bool) []uint32 {
	order := x.orders[f.Order]
	order = order[x.from(f.Order, f.After):]
	if f.Order == Price { // the bounds are places in the order
		low := sort.Search(len(order), func(i int) bool { return x.prices[order[i]] >= f.MinPrice })
		order = order[low:]
		if f.MaxPrice > 0 {
			order = order[:sort.Search(len(order), func(i int) bool { return x.prices[order[i]] > f.MaxPrice })]
		}
	}
	var slots []uint32
	skip := f.Offset
	for _, slot := range order {
		switch {
		case !suits(slot):
		case skip > 0:
			skip--
		default:
			if slots = append(slots, slot); len(slots) > f.Limit {
				return slots
			}
		}
	}
	return slots
}

// firstRelevant is the slots that are relevant to the query of the filter, in its order, from the position and offset on,
// one more than the limit.
func (x *Index) firstRelevant(f *Filter, suits func(uint32) bool) []uint32 {
	q := x.parse(f.Query)
	first := best[uint32]{
		limit:   f.Offset + f.Limit + 1,
		compare: func(a, b uint32) int { return x.compare(f.Order, a, b) },
	}
	x.relevant(&q, func(hit found) {
		if suits(hit.slot) && (f.After == nil || x.behind(f.Order, hit.slot, f.After)) {
			first.add(hit.slot)
		}
	})
	slots := first.sorted()
	return slots[min(f.Offset, len(slots)):]
}

// under reports whether a suffix is the other or below it.
func under(suffix, above string) bool {
	return suffix == above || strings.HasSuffix(suffix, "."+above)
}
