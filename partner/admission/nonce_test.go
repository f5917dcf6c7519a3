package admission

import (
	"testing"

	"github.com/google/uuid"
)

// Nonces are dropped from memory too.
func TestExpiredNoncesAreDropped(t *testing.T) {
	t.Parallel()
	var n nonces
	begin := int64(1_760_000_000)
	for second := begin; second < begin+3600; second++ {
		n.forget(second)
		for _, ahead := range []int64{0, 300, 600} {
			one := newNonce("key", uuid.NewString(), second+ahead)
			n.add(one)
			if !n.has(one, second) || !n.has(one, one.expires) || n.has(one, one.expires+1) {
				t.Fatalf("a nonce of %d", one.expires)
			}
		}
		if len(n.generations) > 4 {
			t.Fatalf("%d generations", len(n.generations))
		}
	}
	held := 0
	for _, g := range n.generations {
		held += len(g.expires)
	}
	if held > 3*1200 {
		t.Errorf("%d nonces are held of 10800", held)
	}
}
