package index

import "slices"

// best collects the first entries by an order, up to a limit.
type best[T any] struct {
	limit   int
	compare func(a, b T) int
	kept    []T // when full, a heap with the last on top
}

func (b *best[T]) add(v T) {
	switch {
	case len(b.kept) < b.limit:
		b.kept = append(b.kept, v)
		if len(b.kept) == b.limit {
			for i := b.limit/2 - 1; i >= 0; i-- {
				b.sink(i)
			}
		}
	case b.limit > 0 && b.compare(v, b.kept[0]) < 0:
		b.kept[0] = v
		b.sink(0)
	}
}

// last is the last of what is kept, once nothing more can be kept without leaving it out.
func (b *best[T]) last() (v T, full bool) {
	if len(b.kept) < b.limit || b.limit == 0 {
		return v, false
	}
	return b.kept[0], true
}

// sink moves an element down until none below it comes later.
func (b *best[T]) sink(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(b.kept); child++ {
			if b.compare(b.kept[child], b.kept[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		b.kept[i], b.kept[last] = b.kept[last], b.kept[i]
		i = last
	}
}

// sorted returns what was kept, in order.
func (b *best[T]) sorted() []T {
	slices.SortFunc(b.kept, b.compare)
	return b.kept
}
