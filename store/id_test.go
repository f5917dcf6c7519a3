package store_test

import (
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
)

func TestTimesOfIDs(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Millisecond)
	id := store.NewID("evt")
	at, ok := store.IDTime("evt", id)
	if !ok || at.Before(before) || at.After(time.Now()) {
		t.Errorf("%s is of %v, %v; it was made after %v", id, at, ok, before)
	}
	if low, high := store.IDAt("evt", at), store.IDAt("evt", at.Add(time.Millisecond)); low > id || id >= high {
		t.Errorf("%s is not from %s to %s", id, low, high)
	}
	if got := store.IDAt("evt", time.Unix(-1, 0)); got > store.IDAt("evt", time.Unix(0, 1e6)) {
		t.Errorf("a time before 1970: %s", got)
	}
	for _, bad := range []string{"", "evt_", "evt_1", "ord" + id[3:], id + "0", id[:len(id)-1], id[:len(id)-1] + "z", "evt_" + "00000000000000000000000000", id[:10] + "A" + id[11:]} {
		if _, ok := store.IDTime("evt", bad); ok {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}

// What is read as the time of an id is the one from which the id sorts.
func FuzzIDTime(f *testing.F) {
	f.Add(store.NewID("evt"))
	f.Add("evt_06h02gk2xxy8f3wdr8tp9511g0")
	f.Add("evt_x")
	f.Fuzz(func(t *testing.T, id string) {
		at, ok := store.IDTime("evt", id)
		if !ok {
			return
		}
		if low, high := store.IDAt("evt", at), store.IDAt("evt", at.Add(time.Millisecond)); low > id || id >= high {
			t.Errorf("%s is of %v, and not from %s to %s", id, at, low, high)
		}
	})
}
