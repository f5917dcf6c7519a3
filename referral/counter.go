package referral

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
)

// Bounds of the counting of clicks. What is beyond them is not counted; visitors are redirected all the same.
const (
	FlushEvery = time.Second // clicks are in memory for so long at most; a crash loses them

	MaxVisits        = 2_000_000 // digests in the database a day, of all processes
	MaxFromAddress   = 20_000    // clicks counted a day from one address, or IPv6 /64, in one process
	maxPending       = 16 << 10  // clicks that wait to be written
	maxSeen          = 64 << 10  // digests in memory, in each of two generations
	addressesCounted = 32 << 10
	flushSize        = 100 // clicks a transaction, so that orders need not wait long
	flushEarly       = maxPending / 4
	keyAhead         = 5 * time.Minute
)

// A digest stands for a visitor and a link on a day, or for a visitor and a party on a day.
type digest [16]byte

// A click waits to be written.
type click struct {
	link         string
	party        Party
	day          int64 // by the party's clock
	perLink      digest
	perParty     digest
	keyDay, ends int64 // by the real clock
}

// A dayKey makes the digests of a day.
type dayKey struct {
	day time.Time // its beginning, by the real clock
	key []byte
}

// A counter counts clicks: each in memory at once, and in the database within [FlushEvery].
type counter struct {
	cfg  Config
	wake chan struct{}

	keyMu     sync.Mutex // held while a key is read
	key, next dayKey

	flushing sync.Mutex // held by the one flush at a time

	mu          sync.Mutex
	pending     []click
	seen, older map[digest]struct{} // which need not be written again
	full        int64               // the day on which no more are counted
	dropped     int64               // because the database did not take them in time
	from        *cache.Cache[netip.Prefix, *int]
}

func newCounter(cfg Config) *counter {
	return &counter{
		cfg: cfg, wake: make(chan struct{}, 1), seen: map[digest]struct{}{},
		from: cache.New(cache.Config[netip.Prefix, *int]{Entries: addressesCounted, Now: cfg.Now}),
	}
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// add counts a click at a time of the party's clock.
func (c *counter) add(ctx context.Context, l Link, local time.Time, by Visitor) error {
	now := c.cfg.Now()
	key, err := c.keyOf(ctx, dayOf(now))
	if err != nil {
		return err
	}
	day := store.Micros(dayOf(local))
	visitor := digestOf(key.key, by.Address.Unmap().String(), by.UserAgent[:min(len(by.UserAgent), maxUserAgent)])
	k := click{
		link: l.LinkID, party: l.party(), day: day, keyDay: store.Micros(key.day), ends: store.Micros(key.day.Add(24 * time.Hour)),
		perLink:  digest(digestOf(visitor, "link", l.LinkID, fmt.Sprint(day))),
		perParty: digest(digestOf(visitor, "party", l.Partner, l.Environment, fmt.Sprint(day))),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.seen[k.perLink]; ok {
		return nil
	}
	if _, ok := c.older[k.perLink]; ok {
		return nil
	}
	if c.full == k.keyDay || !c.mayCount(by.Address, key.day) {
		return nil
	}
	if len(c.pending) >= maxPending {
		c.dropped++
		return nil
	}
	if len(c.seen) >= maxSeen {
		c.seen, c.older = make(map[digest]struct{}, maxSeen), c.seen
	}
	c.seen[k.perLink] = struct{}{}
	c.pending = append(c.pending, k)
	if len(c.pending) >= flushEarly {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// mayCount draws one of the clicks that an address has in a day. The caller holds c.mu.
func (c *counter) mayCount(a netip.Addr, day time.Time) bool {
	host := ratelimit.Host(a)
	used, ok := c.from.Get(host)
	if !ok {
		used = new(int)
		c.from.Put(host, used, day.Add(24*time.Hour))
	}
	*used++
	return *used <= MaxFromAddress
}

// digestOf is a keyed digest of texts.
func digestOf(key []byte, texts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join(texts, "\x00")))
	return mac.Sum(nil)[:16]
}

func keyContext(day int64) []byte { return fmt.Appendf(nil, "referral day\n%d", day) }

// Sealed lists the column that holds the sealed keys of days.
func Sealed() store.Sealed {
	return store.Sealed{Table: "referral_keys", Column: "sealed", Key: []string{"day"}, Context: func(key []any) []byte {
		day, _ := key[0].(int64)
		return keyContext(day)
	}}
}

// keyOf returns the key of a day, which all processes share.
func (c *counter) keyOf(ctx context.Context, day time.Time) (dayKey, error) {
	c.keyMu.Lock()
	defer c.keyMu.Unlock()
	if c.key.key != nil && c.key.day.Equal(day) {
		return c.key, nil
	}
	if c.next.key == nil || !c.next.day.Equal(day) {
		key, err := c.readKey(ctx, day)
		if err != nil {
			return dayKey{}, err
		}
		c.next = key
	}
	c.key, c.next = c.next, dayKey{} // the one before is forgotten
	return c.key, nil
}

// prepare reads the key of today and, some minutes before midnight, that of tomorrow, so that no visitor waits for it.
func (c *counter) prepare(ctx context.Context) error {
	now := c.cfg.Now()
	if _, err := c.keyOf(ctx, dayOf(now)); err != nil {
		return err
	}
	tomorrow := dayOf(now.Add(keyAhead))
	c.keyMu.Lock()
	defer c.keyMu.Unlock()
	if tomorrow.Equal(c.key.day) || c.next.key != nil && tomorrow.Equal(c.next.day) {
		return nil
	}
	key, err := c.readKey(ctx, tomorrow)
	if err == nil {
		c.next = key
	}
	return err
}

// readKey reads the key of a day. The first who asks makes it.
func (c *counter) readKey(ctx context.Context, day time.Time) (dayKey, error) {
	at := store.Micros(day)
	fresh := make([]byte, sha256.Size)
	rand.Read(fresh)
	var sealed []byte
	err := c.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO referral_keys (day, sealed, ends, visits) VALUES ($1, $2, $3, 0) ON CONFLICT (day) DO NOTHING`,
			at, c.cfg.Keys.Seal(fresh, keyContext(at)), store.Micros(day.Add(24*time.Hour)))
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT sealed FROM referral_keys WHERE day = $1`, at).Scan(&sealed)
	})
	if err != nil {
		return dayKey{}, fmt.Errorf("read the key of a day: %w", err)
	}
	key, err := c.cfg.Keys.Open(sealed, keyContext(at))
	if err != nil {
		return dayKey{}, fmt.Errorf("read the key of a day: %w", err)
	}
	return dayKey{day, key}, nil
}

// run writes clicks until ctx ends, and then what is left.
func (c *counter) run(ctx context.Context) {
	tick := time.NewTicker(FlushEvery)
	defer tick.Stop()
	for {
		if err := c.prepare(ctx); err != nil && ctx.Err() == nil {
			c.cfg.Logger.ErrorContext(ctx, "the key of a day cannot be read; clicks are not counted", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			c.report(last, c.flush(last))
			return
		case <-tick.C:
		case <-c.wake:
		}
		c.report(ctx, c.flush(ctx))
	}
}

func (c *counter) report(ctx context.Context, err error) {
	c.mu.Lock()
	dropped := c.dropped
	c.dropped = 0
	c.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		c.cfg.Logger.ErrorContext(ctx, "clicks could not be written; they are tried again", "error", err.Error())
	}
	if dropped > 0 {
		c.cfg.Logger.WarnContext(ctx, "clicks are not counted: more wait to be written than are held", "clicks", dropped)
	}
}

// flush writes what waits. What fails waits again.
func (c *counter) flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	for {
		c.mu.Lock()
		batch := slices.Clone(c.pending[:min(len(c.pending), flushSize)])
		c.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		var visits int64
		err := c.cfg.DB.Tx(ctx, func(tx store.Tx) (err error) {
			visits, err = writeClicks(ctx, tx, batch)
			return err
		})
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.pending = append(c.pending[:0], c.pending[len(batch):]...) // meanwhile add has only appended
		if visits >= MaxVisits {
			c.full = batch[0].keyDay
		}
		c.mu.Unlock()
	}
}

// A tally is what a batch adds to a day of a party.
type tally struct{ clicks, visitors int64 }

// writeClicks writes clicks and returns how many digests there are of the day of the last one. What another process, or this
// one, wrote before is not counted again.
func writeClicks(ctx context.Context, tx store.Tx, batch []click) (visits int64, err error) {
	fresh, err := insertDigests(ctx, tx, batch)
	if err != nil {
		return 0, err
	}
	type partyDay struct {
		Party
		day int64
	}
	links, days, made := map[string]int64{}, map[partyDay]tally{}, map[int64]int64{}
	take := func(d digest) bool {
		ok := fresh[d]
		delete(fresh, d)
		return ok
	}
	for _, k := range batch {
		at := partyDay{k.party, k.day}
		t := days[at]
		if take(k.perLink) {
			links[k.link]++
			t.clicks++
			made[k.keyDay]++
		}
		if take(k.perParty) {
			t.visitors++
			made[k.keyDay]++
		}
		days[at] = t
	}
	for _, link := range slices.Sorted(maps.Keys(links)) { // in one order, for the locks
		if err := addClicks(ctx, tx, link, links[link]); err != nil {
			return 0, err
		}
	}
	order := func(a, b partyDay) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}
	for _, at := range slices.SortedFunc(maps.Keys(days), order) {
		if err := addDay(ctx, tx, at.Party, at.day, days[at]); err != nil {
			return 0, err
		}
	}
	for day, n := range made {
		if visits, err = addVisits(ctx, tx, day, n); err != nil {
			return 0, err
		}
	}
	return visits, nil
}

// insertDigests adds the digests of clicks and returns those that were not there.
func insertDigests(ctx context.Context, tx store.Tx, batch []click) (map[digest]bool, error) {
	ends := map[digest]int64{}
	for _, k := range batch {
		ends[k.perLink], ends[k.perParty] = k.ends, k.ends
	}
	all := slices.SortedFunc(maps.Keys(ends), func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	var values strings.Builder
	args := make([]any, 0, 2*len(all))
	for i, d := range all {
		if i > 0 {
			values.WriteString(", ")
		}
		fmt.Fprintf(&values, "($%d, $%d)", 2*i+1, 2*i+2)
		args = append(args, d[:], ends[d])
	}
	inserted, err := store.Collect(ctx, tx, store.ScanOne[[]byte],
		`INSERT INTO referral_visits (digest, ends) VALUES `+values.String()+` ON CONFLICT DO NOTHING RETURNING digest`, args...)
	if err != nil {
		return nil, fmt.Errorf("add digests: %w", err)
	}
	fresh := make(map[digest]bool, len(inserted))
	for _, d := range inserted {
		fresh[digest(d)] = true
	}
	return fresh, nil
}
