package zone

import (
	"sync"
	"sync/atomic"
	"time"
)

// An overlay holds what was learnt about names since their zones were written. It is bounded.
type overlay struct {
	used  atomic.Bool // there is something in it
	parts [overlayParts]overlayPart
}

const (
	overlayParts = 64
	overlayNames = 1 << 14 // in one part
)

type overlayPart struct {
	mu    sync.RWMutex
	names map[uint64]learnt
	_     [32]byte // apart from the next in the processor's cache
}

// learnt is when a name was learnt, in Unix seconds, negative where the registry does not have it.
type learnt int64

// slot is where the name is noted.
func (o *overlay) slot(f *file, key uint64) (*overlayPart, uint64) {
	key ^= f.salt
	return &o.parts[key%overlayParts], key
}

// get is what was learnt of the name since the date of the index.
func (o *overlay) get(f *file, key uint64) (registered, known bool) {
	if !o.used.Load() {
		return false, false
	}
	p, key := o.slot(f, key)
	p.mu.RLock()
	at, known := p.names[key]
	p.mu.RUnlock()
	registered = at > 0
	if !registered {
		at = -at
	}
	return registered, known && int64(at) > f.info.Date.Unix()
}

func (o *overlay) put(f *file, key uint64, registered bool, now time.Time) {
	at := learnt(now.Unix())
	if !registered {
		at = -at
	}
	p, key := o.slot(f, key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[uint64]learnt{}
	}
	if _, there := p.names[key]; !there && len(p.names) >= overlayNames {
		for other := range p.names { // any one
			delete(p.names, other)
			break
		}
	}
	p.names[key] = at
	o.used.Store(true)
}
