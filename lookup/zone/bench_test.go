package zone

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/namewharf/namewharf/fqdn"
)

// benchNames is how many names the benchmarks index: ZONE_NAMES, else a million.
func benchNames(b *testing.B) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ZONE_NAMES"), 10, 64); err == nil {
		return n
	}
	return 1_000_000
}

// BenchmarkBuild indexes a synthetic master file, packed by gzip, on disk. ZONE_NAMES=10000000 is the size of the speed page.
func BenchmarkBuild(b *testing.B) {
	n := benchNames(b)
	file := filepath.Join(b.TempDir(), "zone")
	f, err := os.Create(file)
	if err == nil {
		z, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err = Synthetic(z, "quarry", n, zoneDate); err == nil {
			err = z.Close()
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for b.Loop() {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		info, err := Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: f, Now: clock}.Run(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Bytes)/float64(info.Names), "bytes/name")
	}
}

// BenchmarkLook asks for names at random: half of them are in the zone.
func BenchmarkLook(b *testing.B) {
	n, dir := benchNames(b), b.TempDir()
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(Synthetic(pw, "quarry", n, zoneDate)) }()
	if _, err := (Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: pr, Now: clock}).Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	ix, err := Open(dir, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	names := make([]fqdn.Name, 1<<16)
	for i := range names {
		names[i] = fqdn.MustParse(fmt.Sprintf("%s.quarry", SyntheticLabel(rand.Uint64N(2*n))))
	}
	wrong := 0
	const absent = 1 << 20
	for i := range uint64(absent) {
		if present, _, _ := ix.Look(fqdn.MustParse(SyntheticLabel(n+i) + ".quarry")); present {
			wrong++
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		ix.Look(names[i&(len(names)-1)])
		i++
	}
	b.ReportMetric(100*float64(wrong)/absent, "%false")
}
