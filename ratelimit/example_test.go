package ratelimit_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/ratelimit"
)

// A client, its network, and all clients: a call draws from all three or from none.
func ExampleLimiter_Take() {
	layers := ratelimit.Layers{
		Host: ratelimit.NewPolicy("registrations", ratelimit.Quota{Burst: 2, Rate: 60, Per: time.Hour}),
		Site: ratelimit.NewPolicy("registrations-network", ratelimit.PerHour(100)),
		All:  ratelimit.NewPolicy("registrations-all", ratelimit.PerDay(10000)),
	}
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	limiter := ratelimit.New(64<<10, func() time.Time { return clock }, layers.Policies()...)
	client := netip.MustParseAddr("2001:db8:1:2::3")
	for range 3 {
		draws := limiter.Draws(nil, layers, client, 1)
		refused := limiter.Take(draws)
		h := http.Header{}
		ratelimit.WriteHeader(h, draws[:1])
		if refused == nil {
			fmt.Println("granted", h.Get("RateLimit"))
			continue
		}
		ratelimit.WriteRetryAfter(h, refused.Wait())
		detail, _ := refused.Reason()
		fmt.Println(detail+"; Retry-After:", h.Get("Retry-After"))
	}
	// Output:
	// granted "registrations";r=1;t=60
	// granted "registrations";r=0;t=120
	// the limit "registrations" of 2 at once and 60 an hour is used up; Retry-After: 60
}

// A bucket in a database, stored as the time at which it is full again.
func ExamplePolicy_Draw() {
	policy := ratelimit.NewPolicy("orders", ratelimit.PerMinute(20))
	fullAgainIn := 58 * time.Second // read from the database
	draw := policy.Draw(fullAgainIn, 1)
	fmt.Println(draw.Refused(), draw.Wait(), draw.Reset())
	// Output: true 1s 58s
}
