package speed_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/market/words"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// built is cmd/publicapi as make build builds it.
func built(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "publicapi")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/namewharf/namewharf/cmd/publicapi")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// BenchmarkSize is the size of the stripped program (at most 30 MB).
func BenchmarkSize(b *testing.B) {
	file, err := os.Stat(built(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		continue
	}
	b.ReportMetric(float64(file.Size())/1e6, "MB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReady is the time from the start of the program to its first line, at which it answers: over a store that is
// not there yet (at most 100 ms), over one that is empty, and over one with a million listings (at most 3 s). It also
// reports the resident memory of the idle program (at most 40 MB over an empty store).
func BenchmarkReady(b *testing.B) {
	program := built(b)
	b.Run("fresh", func(b *testing.B) {
		ready(b, program, func() store.Config { return store.Config{Dir: b.TempDir()} })
	})
	b.Run("empty", func(b *testing.B) {
		cfg := store.Config{Dir: b.TempDir()}
		fill(b, cfg, 0)
		ready(b, program, func() store.Config { return cfg })
	})
	b.Run("million", func(b *testing.B) {
		if testing.Short() {
			b.Skip("a million listings take half a minute to import")
		}
		eachStore(b, func(b *testing.B, cfg store.Config) {
			fill(b, cfg, 1_000_000)
			ready(b, program, func() store.Config { return cfg })
		})
	})
}

// eachStore runs a benchmark on a fresh store of each engine.
func eachStore(b *testing.B, run func(b *testing.B, cfg store.Config)) {
	b.Run(string(store.SQLite), func(b *testing.B) { run(b, store.Config{Dir: b.TempDir()}) })
	b.Run(string(store.Postgres), func(b *testing.B) { run(b, store.Config{URL: storetest.Postgres(b)}) })
}

// sealingKeys are the keys of all programs on a PostgreSQL database, which each have a directory of their own.
var sealingKeys = seal.NewText()

// onStore is the flags that have a program use a store.
func onStore(b *testing.B, cfg store.Config) []string {
	if cfg.URL != "" {
		dir := b.TempDir()
		if err := os.WriteFile(filepath.Join(dir, seal.FileName), []byte(sealingKeys), 0o600); err != nil {
			b.Fatal(err)
		}
		return []string{"-db", cfg.URL, "-data", dir}
	}
	return []string{"-data", cfg.Dir}
}

// idle is how long the program is left alone before its memory is read.
const idle = 2 * time.Second

func ready(b *testing.B, program string, on func() store.Config) {
	memory := 0.0
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		cmd := exec.Command(program, append(onStore(b, on()), "-addr", "127.0.0.1:0", "-bootstrap-url", "off")...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			b.Fatal("the program says nothing")
		}
		b.StopTimer()
		time.Sleep(idle)
		memory = max(memory, residentOf(b, cmd.Process.Pid))
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(memory, "idle-MB")
}

// residentOf is a process's resident set, where /proc tells it.
func residentOf(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("there is no /proc to read the memory from")
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib * 1024 / 1e6
}

// fill makes a store with n listings of one to three words.
func fill(b *testing.B, cfg store.Config, n int) {
	b.Helper()
	db, err := store.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if n == 0 {
		return
	}
	lex := words.English()
	r := rand.New(rand.NewPCG(1, 2))
	suffixes := []string{"com", "net", "org", "io", "dev", "de", "co.uk", "app", "shop"}
	out, in := io.Pipe()
	go func() {
		w := bufio.NewWriter(in)
		fmt.Fprintln(w, "domain,price_cents,floor_price_cents,currency,description,keywords")
		for i := range n {
			var label strings.Builder
			for range 1 + r.IntN(3) {
				label.WriteString(lex.Text(words.ID(1 + r.IntN(lex.Len()))))
			}
			price := 1000 + r.IntN(10_000_000)
			fmt.Fprintf(w, "%s%d.%s,%d,%d,USD,A name for a business,\n", label.String()[:min(len(label.String()), 50)], i, suffixes[i%len(suffixes)], price, price/2)
		}
		_ = w.Flush()
		_ = in.Close()
	}()
	report, err := market.Import(b.Context(), db, out, market.ImportOptions{Environment: market.Live})
	if err != nil || len(report.Bad) > 0 {
		b.Fatalf("import: %+v, %v", report, err)
	}
}
