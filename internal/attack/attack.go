package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// The sizes of an attack.
const (
	small = "small" // some seconds, for the tests
	full  = "full"  // for the figures in docs/attacks.md
)

// attacks are all attacks by name, one file each.
var attacks = map[string]attack{
	"bodies":      {run: stalledBodies},
	"hashing":     {run: repeatedPassword(200)},
	"hashing-560": {run: repeatedPassword(560)},
	"tarpits":     {run: tarpits, flags: documentFlags},

	"registrations": {run: manyRegistrations, flags: proxyFlags},
}

// An attack is one denial-of-service attack on a server.
type attack struct {
	// flags returns more flags of the server than -demo, -addr and -data; dir is an empty directory. nil: none.
	flags func(dir string) ([]string, error)

	// run attacks the server until it is done or ctx ends, and counts the outcomes in the report. The size limits its time
	// and its connections. It leaves no goroutine behind.
	run func(ctx context.Context, s *server, size string, r *report) error
}

// maxDuration limits an attack, the start of its server included.
const maxDuration = 5 * time.Minute

// settleTime is how long the server may take to free memory after its start and after the attack.
const settleTime = 3 * time.Second

// execute starts the program, runs the attack beside an honest client, and reports.
func (a attack) execute(ctx context.Context, program, dir, size string) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, maxDuration)
	defer cancel()
	var flags []string
	if a.flags != nil {
		var err error
		if flags, err = a.flags(dir); err != nil {
			return nil, err
		}
	}
	s, err := start(ctx, program, dir, flags)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	r := &report{outcomes: map[string]int{}}
	client := newHonest(s)
	client.ask(ctx) // so that the report does not include the cost of the first search
	client.latencies, client.failed = nil, 0
	if err := wait(ctx, settleTime); err != nil {
		return nil, err
	}
	if r.before, err = s.memory(); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	beside.Go(func() { client.work(watching) })
	beside.Go(func() { r.during = s.peak(watching) })
	err = a.run(ctx, s, size, r)
	stop()
	beside.Wait()
	r.latencies, r.failed = client.latencies, client.failed
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, settleTime); err != nil {
		return nil, err
	}
	r.after, err = s.memory()
	return r, err
}

// wait waits for d, or returns the error of a context that ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A report is the cost of an attack.
type report struct {
	before, during, after int64 // memory of the server in bytes; during is the maximum

	latencies []time.Duration // of the honest client, for answers of status 200
	failed    int             // requests of the honest client with another answer, or none within 10 s

	signIns       []time.Duration // latencies of the honest sign-ins, where the attack is about them
	failedSignIns int             // honest sign-ins that failed

	rows int // left in the store, where the attack is about that

	mu       sync.Mutex
	outcomes map[string]int // of the attacker's requests, and of some honest ones
}

// count counts an outcome.
func (r *report) count(outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[outcome]++
}

// memoryGrowth returns the maximum memory that the attack took, in bytes.
func (r *report) memoryGrowth() int64 { return r.during - r.before }

// latency returns the time within which a part of the honest client's requests was answered.
func (r *report) latency(part float64) time.Duration { return percentile(r.latencies, part) }

func percentile(waits []time.Duration, part float64) time.Duration {
	if len(waits) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(waits))
	return sorted[int(part*float64(len(sorted)-1))]
}

// String returns the report as a table.
func (r *report) String() string {
	const mb = 1e6
	var b strings.Builder
	fmt.Fprintf(&b, "memory of the server   %.0f MB before, %.0f MB during (%+.0f MB), %.0f MB after\n",
		float64(r.before)/mb, float64(r.during)/mb, float64(r.memoryGrowth())/mb, float64(r.after)/mb)
	fmt.Fprintf(&b, "an honest client       %d answered, %d not; waits %v (median), %v (99 %%), %v (longest)\n", len(r.latencies), r.failed,
		r.latency(0.5).Round(time.Microsecond), r.latency(0.99).Round(time.Microsecond), r.latency(1).Round(time.Microsecond))
	if len(r.signIns)+r.failedSignIns > 0 {
		fmt.Fprintf(&b, "honest sign-ins        %d went on, %d did not; waits %v (median), %v (99 %%), %v (longest)\n", len(r.signIns), r.failedSignIns,
			percentile(r.signIns, 0.5).Round(time.Microsecond), percentile(r.signIns, 0.99).Round(time.Microsecond), percentile(r.signIns, 1).Round(time.Microsecond))
	}
	if r.rows > 0 {
		fmt.Fprintf(&b, "rows in the store      %d\n", r.rows)
	}
	outcomes := make([]string, 0, len(r.outcomes))
	for outcome := range r.outcomes {
		outcomes = append(outcomes, outcome)
	}
	slices.Sort(outcomes)
	for _, outcome := range outcomes {
		fmt.Fprintf(&b, "outcome                %6d × %s\n", r.outcomes[outcome], outcome)
	}
	return b.String()
}
