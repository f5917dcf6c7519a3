package zone

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/FastFilter/xorfilter"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/namewharf/namewharf/fqdn"
)

// Build says what an index is made of.
type Build struct {
	Dir      string    // where the index goes; made if it is not there
	Suffix   fqdn.Name // of the names: com
	In       io.Reader // a master file or a list of names, packed by gzip or not
	Date     time.Time // of the zone, unless the serial of its SOA record is a date; zero: now
	Now      func() time.Time
	Shrunk   bool            // take a zone with less than half of the names of the index in force
	Progress func(names int) // is called now and then; may be nil
}

// Sizes of the build. A shard has about a million names, and what is in memory of it is some 60 MB.
const (
	shardNames = 1 << 20
	bucketKeys = 8 << 10 // keys of a bucket in memory, 64 KiB
	builders   = 2       // shards built at a time
	report     = 1 << 18 // names between two calls of Progress
)

// ErrShrunk is the refusal of a zone that lost more than half of its names: it may have been cut short.
var ErrShrunk = errors.New("the zone has less than half of the names of the index in force")

// Run reads the names and puts the index in place of the one before, at once and as a whole: who serves it sees the one or
// the other. On an error the one before stays.
func (b Build) Run(ctx context.Context) (Info, error) {
	now := b.Now
	if now == nil {
		now = time.Now
	}
	suffix := b.Suffix.String()
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return Info{}, err
	}
	removeAbandoned(b.Dir)
	spill, err := newSpill(b.Dir)
	if err != nil {
		return Info{}, err
	}
	defer spill.close()
	r, err := readNames(b.In, suffix, func(label []byte) error {
		if spill.keys%report == 0 {
			if b.Progress != nil && spill.keys > 0 {
				b.Progress(int(spill.keys))
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return spill.add(xxhash.Sum64(label))
	})
	if err == nil {
		err = spill.out.Flush()
	}
	if err != nil {
		return Info{}, err
	}
	info := Info{Path: Path(b.Dir, suffix), Suffix: suffix, Serial: r.serial, Built: now().UTC().Truncate(time.Second), Date: b.Date.UTC()}
	if d, ok := dateOf(r.serial, now()); ok {
		info.Date = d
	} else if b.Date.IsZero() {
		info.Date = now().UTC()
	}
	info.Date = info.Date.Truncate(time.Second)
	return info, b.write(ctx, &info, spill)
}

// abandoned is the age of a temporary file whose build was killed: a build takes minutes.
const abandoned = 24 * time.Hour

// removeAbandoned removes what builds that were killed left in the directory. What cannot be removed now is left for the next.
func removeAbandoned(dir string) {
	paths, err := filepath.Glob(filepath.Join(globEscape(dir), ".*.part"))
	if err != nil {
		return
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(path)
		}
	}
}

// write makes the file beside the one before and renames it.
func (b Build) write(ctx context.Context, info *Info, spill *spill) (err error) {
	out, err := os.CreateTemp(b.Dir, "."+info.Suffix+".*.part")
	if err != nil {
		return err
	}
	defer func() {
		out.Close()
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	shards := 1
	for shards < maxShards && int64(shards*2)*shardNames <= spill.keys {
		shards *= 2
	}
	w := &shardWriter{out: out, at: align(int64(headerSize + shards*shardSize + 4)), table: make([]shard, shards)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(builders, runtime.GOMAXPROCS(0)))
	pool := sync.Pool{New: func() any { return new(xorfilter.BinaryFuseBuilder) }}
	var buffers sync.Pool
	for i := range shards {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var keys []uint64
			if used, ok := buffers.Get().(*[]uint64); ok {
				keys = (*used)[:0]
			}
			keys, err := spill.shard(keys, i, shards)
			if err != nil {
				return err
			}
			builder := pool.Get().(*xorfilter.BinaryFuseBuilder)
			defer pool.Put(builder)
			err = w.shard(builder, i, keys)
			buffers.Put(&keys)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	info.Names, info.Bytes = w.names, w.end
	if old, err := Verify(info.Path); err == nil && !b.Shrunk && info.Names < old.Names/2 {
		return fmt.Errorf("%w: %d instead of %d", ErrShrunk, info.Names, old.Names)
	}
	if _, err := out.WriteAt(info.encode(w.table), 0); err != nil {
		return err
	}
	return replace(out, info.Path)
}

// replace puts the finished file into its place.
func replace(out *os.File, path string) error {
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil { // so that the name is there after a crash; not all systems can
		_ = dir.Sync()
		dir.Close()
	}
	return nil
}

func align(n int64) int64 { return (n + 7) &^ 7 }

// A shardWriter writes shards, each where there is room next.
type shardWriter struct {
	out *os.File

	mu    sync.Mutex
	at    int64 // where there is room
	end   int64
	names uint64
	table []shard
}

// shard builds the filter of the keys and writes it.
func (w *shardWriter) shard(builder *xorfilter.BinaryFuseBuilder, i int, keys []uint64) error {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	count := len(keys)
	if count == 0 {
		keys = []uint64{math.MaxUint64} // a filter has a key at least; this one may be called present
	}
	filter, err := xorfilter.BuildBinaryFuse[uint16](builder, keys)
	if err != nil {
		return err
	}
	raw := make([]byte, 2*len(filter.Fingerprints))
	for j, f := range filter.Fingerprints {
		binary.LittleEndian.PutUint16(raw[2*j:], f)
	}
	w.mu.Lock()
	at := w.at
	w.at = align(at + int64(len(raw)))
	w.end = max(w.end, at+int64(len(raw)))
	w.names += uint64(count)
	w.table[i] = shard{
		offset: at, fingerprints: uint32(len(filter.Fingerprints)), crc: crc32.Checksum(raw, castagnoli), seed: filter.Seed,
		segmentLength: filter.SegmentLength, segmentCount: filter.SegmentCount,
	}
	w.mu.Unlock()
	_, err = w.out.WriteAt(raw, at)
	return err
}

// A spill stores the keys in a file, in buckets by their highest eight bits.
type spill struct {
	file    *os.File
	out     *bufio.Writer
	written int64 // bytes
	keys    int64
	buckets [maxShards]bucket
	raw     []byte
}

type bucket struct {
	keys   []uint64
	chunks []int64 // where its full chunks are
}

func newSpill(dir string) (*spill, error) {
	f, err := os.CreateTemp(dir, ".keys.*.part")
	if err != nil {
		return nil, err
	}
	return &spill{file: f, out: bufio.NewWriterSize(f, 1<<18), raw: make([]byte, 8*bucketKeys)}, nil
}

func (s *spill) close() {
	s.file.Close()
	os.Remove(s.file.Name())
}

func (s *spill) add(key uint64) error {
	b := &s.buckets[key>>56]
	b.keys = append(b.keys, key)
	s.keys++
	if len(b.keys) < bucketKeys {
		return nil
	}
	for i, k := range b.keys {
		binary.LittleEndian.PutUint64(s.raw[8*i:], k)
	}
	b.chunks = append(b.chunks, s.written)
	b.keys = b.keys[:0]
	s.written += int64(len(s.raw))
	_, err := s.out.Write(s.raw)
	return err
}

// shard appends the keys of a shard. All keys were added.
func (s *spill) shard(keys []uint64, i, shards int) ([]uint64, error) {
	raw := make([]byte, 8*bucketKeys)
	each := maxShards / shards
	for _, b := range s.buckets[i*each : (i+1)*each] {
		for _, at := range b.chunks {
			if _, err := s.file.ReadAt(raw, at); err != nil {
				return keys, err
			}
			for j := 0; j < len(raw); j += 8 {
				keys = append(keys, binary.LittleEndian.Uint64(raw[j:]))
			}
		}
		keys = append(keys, b.keys...)
	}
	return keys, nil
}
