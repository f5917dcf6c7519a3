package speed_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A runner is a server with the request that it is to answer.
type runner struct {
	name    string
	server  *process
	request string
	want    string // the status

	conns []*conn
	cpu   time.Duration
	wall  time.Duration
	n     int
	took  []time.Duration
}

// connections is how many clients there are, and perRound how often each asks a server before it is the next one's turn.
const (
	connections = 32
	perRound    = 64
)

// race asks the servers in turns, so that whatever else the machine does meets them alike, and reports for each the
// CPU time that the server takes for a request, the requests a second, and the slowest of a hundred.
func race(b *testing.B, runners ...*runner) {
	for _, r := range runners {
		for range connections {
			r.conns = append(r.conns, dial(b, r.server.addr))
		}
		for range 3 { // warm
			r.round(b)
		}
		r.cpu, r.wall, r.n, r.took = 0, 0, 0, nil
	}
	for b.Loop() {
		for _, r := range runners {
			r.round(b)
		}
	}
	for _, r := range runners {
		slices.Sort(r.took)
		b.ReportMetric(r.micros(), r.name+"-cpu-µs")
		b.ReportMetric(r.rate(), r.name+"-req/s")
		b.ReportMetric(float64(r.took[len(r.took)*99/100].Microseconds())/1000, r.name+"-p99-ms")
	}
	b.ReportMetric(0, "ns/op") // of a round, which says nothing
}

// micros is the server's CPU time for a request.
func (r *runner) micros() float64 { return float64(r.cpu.Nanoseconds()) / 1e3 / float64(r.n) }

func (r *runner) rate() float64 { return float64(r.n) / r.wall.Seconds() }

func (r *runner) round(b *testing.B) {
	b.Helper()
	took := make([][perRound]time.Duration, connections)
	cpu, begun := r.server.cpu(b), time.Now()
	var wait sync.WaitGroup
	for i, c := range r.conns {
		wait.Go(func() {
			for j := range perRound {
				asked := time.Now()
				if err := c.exchange(r.request, r.want); err != nil {
					b.Errorf("%s: %v", r.name, err)
					return
				}
				took[i][j] = time.Since(asked)
			}
		})
	}
	wait.Wait()
	r.wall += time.Since(begun)
	r.cpu += r.server.cpu(b) - cpu
	r.n += connections * perRound
	for i := range took {
		r.took = append(r.took, took[i][:]...)
	}
	if b.Failed() {
		b.FailNow()
	}
}

// A conn is a client that does as little as can be done: a prepared write, and a read to the end of the answer.
type conn struct {
	net.Conn
	from *bufio.Reader
	body []byte // of the last answer
}

func dial(b *testing.B, addr string) *conn {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return &conn{Conn: c, from: bufio.NewReaderSize(c, 64<<10)}
}

func (c *conn) exchange(request, want string) error {
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	status, err := c.from.ReadSlice('\n')
	if err != nil {
		return err
	}
	if got := string(status[9:12]); got != want {
		return fmt.Errorf("status %s, want %s", got, want)
	}
	length, chunked := 0, false
	for {
		line, err := c.from.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if n, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
				return err
			}
		}
		chunked = chunked || strings.HasPrefix(string(line), "Transfer-Encoding: chunked")
	}
	c.body = c.body[:0]
	if !chunked {
		return c.read(length)
	}
	for {
		line, err := c.from.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := c.read(int(size)); err != nil {
			return err
		}
		if _, err := c.from.Discard(2); err != nil || size == 0 {
			return err
		}
	}
}

func (c *conn) read(n int) error {
	at := len(c.body)
	c.body = slices.Grow(c.body, n)[:at+n]
	_, err := io.ReadFull(c.from, c.body[at:])
	return err
}

// ask is one exchange on a connection of its own, for its answer.
func ask(b *testing.B, p *process, request string) []byte {
	b.Helper()
	c := dial(b, p.addr)
	if err := c.exchange(request, "200"); err != nil {
		b.Fatal(err)
	}
	return c.body
}
