// Package cache is a bounded, expiring cache that collapses concurrent loads of one key into one.
package cache

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
)

// A Cache holds each value until its deadline, at most Config.Entries values and Config.Bytes bytes by Config.Size; it evicts
// the least recently used first. It is safe for concurrent use. A load does not end with the context of the caller that
// started it, since others may wait for it.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries *lru.LRU[K, entry[V]]
	bytes   int64
	flights map[K]*flight[V]
	running sync.WaitGroup
	cfg     Config[K, V]
}

// Config bounds a cache. Entries and, where Size is given, Bytes must be positive.
type Config[K comparable, V any] struct {
	Entries int              // most values
	Bytes   int64            // bound on the sum of Size; 0 only without Size
	Size    func(K, V) int64 // bytes of an entry; nil: only Entries limits the cache
	Now     func() time.Time // nil: time.Now
}

type entry[V any] struct {
	value   V
	expires time.Time
	size    int64
}

type flight[V any] struct {
	done    chan struct{}
	value   V
	err     error
	waiting int
	cancel  context.CancelFunc
}

// New returns an empty cache. It panics on a bound that is not positive: zero never means unlimited.
func New[K comparable, V any](cfg Config[K, V]) *Cache[K, V] {
	if cfg.Entries <= 0 || cfg.Size != nil && cfg.Bytes <= 0 {
		panic("cache: bounds must be positive")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Cache[K, V]{cfg: cfg, flights: map[K]*flight[V]{}}
	c.entries, _ = lru.NewLRU(cfg.Entries, func(_ K, e entry[V]) { c.bytes -= e.size })
	return c
}

// Get returns the value of the key if the cache has it and its deadline has not passed.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	v, _, ok := c.Peek(key)
	return v, ok
}

// Peek is Get that also returns the deadline.
func (c *Cache[K, V]) Peek(key K) (value V, expires time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key)
}

func (c *Cache[K, V]) get(key K) (value V, expires time.Time, ok bool) {
	e, ok := c.entries.Get(key)
	if !ok {
		return value, expires, false
	}
	if !c.cfg.Now().Before(e.expires) {
		c.entries.Remove(key)
		return value, expires, false
	}
	return e.value, e.expires, true
}

// Put stores the value until expires. It does not store a value that is larger than the whole cache or has expired.
func (c *Cache[K, V]) Put(key K, value V, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, expires)
}

func (c *Cache[K, V]) put(key K, value V, expires time.Time) {
	c.entries.Remove(key) // runs the eviction callback, which Add on a present key does not
	if !c.cfg.Now().Before(expires) {
		return
	}
	e := entry[V]{value: value, expires: expires}
	if c.cfg.Size != nil {
		e.size = c.cfg.Size(key, value)
		if e.size > c.cfg.Bytes {
			return
		}
	}
	c.bytes += e.size
	c.entries.Add(key, e)
	for c.cfg.Size != nil && c.bytes > c.cfg.Bytes {
		c.entries.RemoveOldest()
	}
}

// Delete removes the key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
}

// Len returns the number of entries, expired ones included.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len()
}

// Load returns the value of the key, and calls load if the cache does not have it. Concurrent calls for one key share one
// load, whose context ends when no caller waits any more. load returns the deadline of its value; the zero time means that
// it is not stored. Errors are not stored. If ctx ends first, Load returns its error.
func (c *Cache[K, V]) Load(ctx context.Context, key K, load func(context.Context) (V, time.Time, error)) (V, error) {
	c.mu.Lock()
	if v, _, ok := c.get(key); ok {
		c.mu.Unlock()
		return v, nil
	}
	f, ok := c.flights[key]
	if !ok {
		loadCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight[V]{done: make(chan struct{}), cancel: cancel}
		c.flights[key] = f
		c.running.Add(1)
		go c.fly(loadCtx, key, f, load)
	}
	f.waiting++
	c.mu.Unlock()

	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.mu.Lock()
		if f.waiting--; f.waiting == 0 {
			f.cancel()
			if c.flights[key] == f { // a later caller starts another load instead of joining a cancelled one
				delete(c.flights, key)
			}
		}
		c.mu.Unlock()
		var zero V
		return zero, context.Cause(ctx)
	}
}

func (c *Cache[K, V]) fly(ctx context.Context, key K, f *flight[V], load func(context.Context) (V, time.Time, error)) {
	defer c.running.Done()
	defer f.cancel()
	var expires time.Time
	func() {
		defer func() {
			if p := recover(); p != nil {
				f.err = fmt.Errorf("load panicked: %v\n%s", p, debug.Stack())
			}
		}()
		f.value, expires, f.err = load(ctx)
	}()
	c.mu.Lock()
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	if f.err == nil && !expires.IsZero() {
		c.put(key, f.value, expires)
	}
	c.mu.Unlock()
	close(f.done)
}

// Wait returns when no load is running. Call it at shutdown, after the callers' contexts have ended.
func (c *Cache[K, V]) Wait() { c.running.Wait() }
