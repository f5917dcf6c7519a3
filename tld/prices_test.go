package tld

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// A watched is an operator's file and what Watch reported about it.
type watched struct {
	t      *testing.T
	path   string
	prices *Prices

	mu      sync.Mutex
	reports []error
}

// watch starts Watch in the bubble that the test runs in.
func watch(t *testing.T, path string) *watched {
	w := &watched{t: t, path: path, prices: NewPrices(DefaultBook())}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { w.prices.Watch(ctx, path, w.report) })
	t.Cleanup(func() { stop(); done.Wait() })
	synctest.Wait()
	return w
}

func (w *watched) report(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports = append(w.reports, err)
}

// taken returns the reports since the last call.
func (w *watched) taken() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.reports
	w.reports = nil
	return got
}

// wait lets Watch look twice and wants the price of com and the reports since the last wait.
func (w *watched) wait(cents int64, reports ...string) {
	w.t.Helper()
	time.Sleep(2 * watchEvery)
	synctest.Wait()
	p, err := w.prices.Price(fqdn.MustParse("com"), Register)
	if err != nil || p.Amount.Cents != cents {
		w.t.Errorf("the price of com is %v, %v, want %d cents", p.Amount, err, cents)
	}
	got := w.taken()
	ok := len(got) == len(reports)
	for i := 0; ok && i < len(got); i++ {
		ok = strings.Contains(fmt.Sprint(got[i]), reports[i])
	}
	if !ok {
		w.t.Errorf("reports: got %v, want %q", got, reports)
	}
}

func (w *watched) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

const loaded = "<nil>"

func TestWatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.csv")
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, path)
		w.wait(1088) // no file yet: silence
		w.write("suffix,register,as_of\ncom,1,2026-05-06\n")
		w.wait(1, loaded)
		w.wait(1) // unchanged: not read again
		w.write("suffix,register,as_of\ncom,22,2026-05-06\nnet,x,2026-05-06\n")
		w.wait(1, "1 rows of the price list are wrong, the first: row 3: register is not a whole number")
		w.wait(1) // still wrong: not said again
		w.write("<html>")
		w.wait(1, "column 1 is not one of suffix")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		w.wait(1, "no such file")
		w.wait(1)
		if err := mustCSV(t, "suffix,register,as_of\ncom,333,2026-05-06\n").Save(path); err != nil {
			t.Fatal(err)
		}
		w.wait(333, loaded)
	})
}

func TestWatchTakesAFileThatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.csv")
	if err := mustCSV(t, "suffix,register,as_of\ncom,7,2026-05-06\n").Save(path); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { watch(t, path).wait(7, loaded) })
}

func TestLoadKeepsTheBookOnErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	prices := NewPrices(DefaultBook())
	for name, path := range map[string]string{
		"a file that is not there": filepath.Join(dir, "none"),
		"a directory":              dir,
		"a pipe without a writer":  pipe,
		"a file below a file":      filepath.Join(pipe, "x"),
	} {
		if err := prices.Load(path); err == nil || prices.Book() != DefaultBook() || prices.Version() != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "prices.csv")
	for range 2 { // the second time over the first
		if err := DefaultBook().Save(path); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != csvOf(t, DefaultBook()) {
		t.Errorf("Save wrote %d bytes, %v", len(text), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("Save left %v, %v", left, err)
	}
	if err := DefaultBook().Save(filepath.Join(dir, "none", "prices.csv")); err == nil {
		t.Errorf("Save made a directory")
	}
}

// Readers see one book or the other while books are replaced; the race detector watches.
func TestPricesAreSharedSafely(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.csv")
	if err := mustCSV(t, "suffix,register,as_of\ncom,7,2026-05-06\n").Save(path); err != nil {
		t.Fatal(err)
	}
	prices := NewPrices(DefaultBook())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 1000 {
				p, err := prices.Price(fqdn.MustParse("com"), Register)
				if err != nil || p.Amount.Cents != 7 && p.Amount.Cents != 1088 {
					t.Errorf("got %+v, %v", p, err)
				}
			}
		})
	}
	for range 10 {
		if err := prices.Load(path); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
	if v := prices.Version(); v != 10 {
		t.Errorf("version %d after 10 loads, want 10", v)
	}
}
