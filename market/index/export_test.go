package index

// SetPartSlots says how many slots are worth a processor of their own.
func (x *Index) SetPartSlots(n int) { x.partSlots = n }
