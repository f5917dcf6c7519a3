package index

import (
	"slices"
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
		order := x.orders[f.Order]
		skip := f.Offset
		for _, slot := range order[x.from(f.Order, f.After):] {
			if !suits(slot) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if slots = append(slots, slot); len(slots) > f.Limit {
				break
			}
		}
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

// firstRelevant is the slots that are relevant to the query of the filter, in its order, from the position and offset on,
// one more than the limit.
func (x *Index) firstRelevant(f *Filter, suits func(uint32) bool) []uint32 {
	q := x.parse(f.Query)
	var all []uint32
	add := func(hit found) {
		if suits(hit.slot) && (f.After == nil || x.behind(f.Order, hit.slot, f.After)) {
			all = append(all, hit.slot)
		}
	}
	x.byLabel(&q, add)
	labels := len(all)
	x.byWords(&q, add)
	if labels > 0 {
		slices.Sort(all)
		all = slices.Compact(all)
	}
	slices.SortFunc(all, func(a, b uint32) int { return x.compare(f.Order, a, b) })
	if f.Offset >= len(all) {
		return nil
	}
	all = all[f.Offset:]
	return all[:min(len(all), f.Limit+1)]
}

// under reports whether a suffix is the other or below it.
func under(suffix, above string) bool {
	return suffix == above || strings.HasSuffix(suffix, "."+above)
}
