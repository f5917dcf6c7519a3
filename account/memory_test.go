package account

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// memoryLimits returns the number of simultaneous sign-ins, and the memory that the process may use for them. The race
// detector needs more memory and time.
func memoryLimits() (signIns int, memory int64) {
	if raceDetector {
		return 8, 600 << 20
	}
	return 64, 200 << 20
}

// The peak is that of a process, so the sign-ins run in another process.
func TestManySignInsStayUnder200MB(t *testing.T) {
	t.Parallel()
	if os.Getenv("ACCOUNT_CROWD") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManySignInsStayUnder200MB$", "-test.v")
		cmd.Env = append(os.Environ(), "ACCOUNT_CROWD=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "peak") {
			t.Fatalf("the process with the crowd: %v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	crowd, limit := memoryLimits()
	r := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil)
	r.hasher = newHasher(defaultHashers, fullCost)
	for i := range crowd {
		r.account(fmt.Sprintf("p%d@names.example", i))
	}
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			_, err := r.SignIn(t.Context(), fmt.Sprintf("p%d@names.example", i), passphrase, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
			if err != nil {
				t.Errorf("sign in: %v", err)
			}
		})
	}
	all.Wait()
	peak := peakMemory(t)
	t.Logf("peak %d MB", peak>>20)
	if peak >= limit {
		t.Errorf("peak memory with %d sign-ins at once: got %d MB, want under %d MB", crowd, peak>>20, limit>>20)
	}
}

// peakMemory returns the peak resident memory of this process (proc(5), VmHWM).
func peakMemory(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("only Linux tells the peak: ", err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			if err != nil {
				t.Fatalf("read %q: %v", line, err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmHWM in /proc/self/status")
	return 0
}
