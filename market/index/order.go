package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
)

// An Order is one in which listings can be shown. Entries that are equal by it follow by name, so that each order is total
// and tells nothing that it is not about.
type Order int

// The orders.
const (
	Newest Order = iota // last listed first
	Name                // by label, then suffix
	Length              // short labels first, in characters as people read them
	Price               // lowest first
	orders = iota

	// Relevance is that of [Index.Search], best first, for filters with a query only. Entries of equal relevance follow by name.
	Relevance = Order(orders)
)

// A Position is a place in an [Order], between entries: behind the entry that it was taken from, whether that is still
// there or not.
type Position struct {
	Key    int64  `json:"k,omitzero"` // what the order compares first
	Domain string `json:"d"`
}

// key is what the order compares before the name, ascending.
func (t *table) key(o Order, slot uint32) int64 {
	switch o {
	case Newest:
		return -t.listed[slot]
	case Length:
		return int64(t.lengths[slot])
	case Price:
		return t.prices[slot]
	}
	return 0
}

func (t *table) compareNames(a, b uint32) int {
	if c := bytes.Compare(t.label(a), t.label(b)); c != 0 {
		return c
	}
	if t.suffixes[a] != t.suffixes[b] {
		return strings.Compare(t.suffixNames.names[t.suffixes[a]], t.suffixNames.names[t.suffixes[b]])
	}
	return cmp.Compare(a, b) // one of them is dead
}

func (t *table) compare(o Order, a, b uint32) int {
	if c := cmp.Compare(t.key(o, a), t.key(o, b)); c != 0 {
		return c
	}
	return t.compareNames(a, b)
}

// A place is a slot, and what an order compares first of it.
type place struct {
	key  int64
	slot uint32
}

func (t *table) comparePlaces(a, b place) int {
	if c := cmp.Compare(a.key, b.key); c != 0 {
		return c
	}
	return t.compareNames(a.slot, b.slot)
}

// behind reports whether the place follows the position.
func (t *table) behind(at place, p *Position) bool {
	if c := cmp.Compare(at.key, p.Key); c != 0 {
		return c > 0
	}
	label, suffix, _ := strings.Cut(p.Domain, ".")
	return t.compareName(at.slot, label, suffix) > 0
}

func (t *table) compareName(slot uint32, label, suffix string) int {
	if c := strings.Compare(string(t.label(slot)), label); c != 0 {
		return c
	}
	return strings.Compare(t.suffixNames.names[t.suffixes[slot]], suffix)
}

// position is behind the place.
func (t *table) position(at place) Position {
	return Position{at.key, t.entry(at.slot).Domain}
}

// sortOrders makes all orders anew.
func (t *table) sortOrders() {
	n := t.live()
	type keyed struct {
		key  uint64
		slot uint32
	}
	// Most labels differ in their first eight bytes, and comparing those needs no look at the arena.
	keys := make([]keyed, 0, n)
	for slot := range uint32(len(t.ends)) {
		if !t.isDead(slot) {
			var head [8]byte
			copy(head[:], t.label(slot))
			keys = append(keys, keyed{binary.BigEndian.Uint64(head[:]), slot})
		}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return t.compareNames(a.slot, b.slot)
	})
	capacity := n + n/64
	names := make([]uint32, 0, capacity)
	for _, k := range keys {
		names = append(names, k.slot)
	}
	t.orders[Name] = names
	for _, o := range []Order{Newest, Length, Price} {
		for place, slot := range names {
			keys[place] = keyed{uint64(t.key(o, slot)) ^ 1<<63, uint32(place)}
		}
		slices.SortFunc(keys, func(a, b keyed) int {
			switch {
			case a.key < b.key:
				return -1
			case a.key > b.key:
				return 1
			}
			return int(a.slot) - int(b.slot) // places in the name order
		})
		order := make([]uint32, 0, capacity)
		for _, k := range keys {
			order = append(order, names[k.slot])
		}
		t.orders[o] = order
	}
}

// few is up to how many slots are taken out or put in one by one, moving the ones behind each, instead of
// going through the whole order once.
const few = 8

// updateOrders takes out the removed slots, all dead, and puts in the added.
func (t *table) updateOrders(removed, added []uint32) {
	if len(added) > t.live()/4 && len(added) > few {
		t.sortOrders()
		return
	}
	for o := range Order(orders) {
		compare := func(a, b uint32) int { return t.compare(o, a, b) }
		order := t.orders[o]
		if len(removed) <= few {
			for _, slot := range removed {
				if at, ok := slices.BinarySearchFunc(order, slot, compare); ok {
					order = slices.Delete(order, at, at+1)
				}
			}
		} else {
			order = slices.DeleteFunc(order, t.isDead)
		}
		if len(added) <= few {
			for _, slot := range added {
				at, _ := slices.BinarySearchFunc(order, slot, compare)
				order = slices.Insert(order, at, slot)
			}
		} else {
			slices.SortFunc(added, compare)
			order = merge(order, added, compare)
		}
		t.orders[o] = order
	}
}

// merge puts the sorted slots of more into the sorted order, in place from the end.
func merge(order, more []uint32, compare func(a, b uint32) int) []uint32 {
	n := len(order)
	order = slices.Grow(order, len(more))[:n+len(more)]
	end := len(order)
	for i := len(more) - 1; i >= 0; i-- {
		at, _ := slices.BinarySearchFunc(order[:n], more[i], compare)
		copy(order[at+i+1:end], order[at:n])
		order[at+i] = more[i]
		n, end = at, at+i
	}
	return order
}

// from is where in the order the entries behind the position begin; nil means the start.
func (t *table) from(o Order, p *Position) int {
	if p == nil {
		return 0
	}
	order := t.orders[o]
	return sort.Search(len(order), func(i int) bool { return t.behind(place{t.key(o, order[i]), order[i]}, p) })
}

// withPrefix is the span of the name order of labels that begin with the prefix.
func (t *table) withPrefix(prefix string) []uint32 {
	names := t.orders[Name]
	start := sort.Search(len(names), func(i int) bool { return string(t.label(names[i])) >= prefix })
	length := sort.Search(len(names)-start, func(i int) bool {
		return !bytes.HasPrefix(t.label(names[start+i]), []byte(prefix))
	})
	return names[start : start+length]
}
