package rest

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/serve/middleware"
)

// A coding is a content coding (RFC 9110, section 8.4.1).
type coding int

const (
	identity coding = iota
	gzipped
	zstandard
)

var codingNames = [...][]string{gzipped: {"gzip"}, zstandard: {"zstd"}}

// minPacked is the smallest body worth compressing: a shorter one fills a packet either way.
const minPacked = 1 << 10

// A packer compresses whole bodies and caches the results for public ones.
type packer struct {
	known *cache.Cache[packedKey, []byte]
	gzip  sync.Pool // of *gzip.Writer
	zstd  *zstd.Encoder
}

// A packedKey identifies a body by its address in memory: answers are never changed, and a cached one is the same memory
// each time. The key holds a reference, so that the memory is not reused.
type packedKey struct {
	first  *byte
	length int
	coding coding
}

const (
	maxPackedBytes   = 16 << 20 // of bodies and what was made of them
	maxPackedEntries = 8 << 10
	maxZstd          = 4           // encoders at once, each over a megabyte; a body takes one for some microseconds
	packedFor        = time.Minute // long enough for answers that are asked for often
)

func newPacker() *packer {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(128<<10),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderConcurrency(maxZstd))
	if err != nil {
		panic("rest: " + err.Error()) // of the options
	}
	return &packer{
		zstd: encoder,
		gzip: sync.Pool{New: func() any { return gzip.NewWriter(nil) }},
		known: cache.New(cache.Config[packedKey, []byte]{
			Entries: maxPackedEntries, Bytes: maxPackedBytes,
			Size: func(k packedKey, body []byte) int64 { return int64(k.length+len(body)) + 128 },
		}),
	}
}

// pack compresses a body, which is not empty.
func (p *packer) pack(c coding, of representation) []byte {
	key := packedKey{&of.body[0], len(of.body), c}
	if of.shared {
		if body, ok := p.known.Get(key); ok {
			return body
		}
	}
	body := p.compress(c, of.body)
	if of.shared {
		p.known.Put(key, body, time.Now().Add(packedFor))
	}
	return body
}

func (p *packer) compress(c coding, body []byte) []byte {
	if c == zstandard {
		return p.zstd.EncodeAll(body, make([]byte, 0, len(body)/3))
	}
	var b bytes.Buffer
	b.Grow(len(body) / 3)
	z := p.gzip.Get().(*gzip.Writer)
	defer p.gzip.Put(z)
	z.Reset(&b)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// negotiate picks the coding that the client weighs highest (RFC 9110, section 12.5.3); zstd where it likes both.
func negotiate(headers []string) coding {
	if len(headers) == 0 {
		return identity
	}
	var weights [zstandard + 1]float64
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				weights[gzipped] = middleware.Weight(params)
			case "zstd":
				weights[zstandard] = middleware.Weight(params)
			case "identity":
				weights[identity] = middleware.Weight(params)
			}
		}
	}
	best := identity
	for c, weight := range weights {
		if weight > 0 && weight >= weights[best] {
			best = coding(c)
		}
	}
	return best
}
