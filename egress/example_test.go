package egress_test

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/egress"
)

// A home page at a URL from outside is fetched with two redirects within its registrable domain, 256 KiB and six seconds.
func ExampleClient_Fetch() {
	c := egress.New(egress.Config{
		Redirects: egress.Redirects{Max: 2, SameSite: true},
		MaxBody:   256 << 10,
		TotalTime: 6 * time.Second,
		Gzip:      true,
	})
	defer c.Close()
	_, err := c.Fetch(context.Background(), egress.Request{URL: "http://169.254.169.254/latest/meta-data/", Accept: "text/html"})
	fmt.Println(err)
	// Output: refused: the address or port is not allowed
}

func ExampleClient_Dial() {
	c := egress.New(egress.Config{Ports: []uint16{43}})
	defer c.Close()
	_, err := c.Dial(context.Background(), "tcp", "10.0.0.1:43")
	fmt.Println(err)
	// Output: refused: the address or port is not allowed
}
