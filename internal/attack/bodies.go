package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// stalledBodies opens connections that each send all but the last bytes of a body, so that the server buffers it. They come
// from several addresses and go to every path that reads a body, with bodies of the largest size of all or of the path.
// Requests to the partner API name an existing key and have a wrong signature. A refused connection tries the next kind of
// body; one that was held until it was closed repeats the same.
func stalledBodies(ctx context.Context, s *server, size string, r *report) error {
	connections, addresses, lasts := 60, 3, 8*time.Second
	if size == full {
		connections, addresses, lasts = 200, 5, 45*time.Second
	}
	key, err := s.printed(ctx, "key")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	var attackers sync.WaitGroup
	for i := range connections {
		attackers.Go(func() {
			for at := i; ctx.Err() == nil; {
				outcome, held := stallBody(ctx, s, uint16(i%addresses), stalledPaths[at%len(stalledPaths)], key)
				if r.count(outcome); !held {
					at++ // where more is taken
				}
				select {
				case <-time.After(reconnectDelay):
				case <-ctx.Done():
				}
			}
		})
	}
	attackers.Wait()
	return nil
}

// reconnectDelay is the pause before a closed connection is opened again.
const reconnectDelay = 200 * time.Millisecond

// A stalledPath is a path that reads a body, with the media type and the announced length of the body.
type stalledPath struct {
	path, mediaType string
	announced       int
}

var stalledPaths = []stalledPath{
	{"/api/domain/search", "application/json", 1 << 20},
	{"/api/domain/search", "application/json", 4 << 10},
	{"/api/batch", "application/json", 1 << 20},
	{"/api/batch", "application/json", 256 << 10},
	{"/api/partner/v1/orders", "application/json", 1 << 20},
	{"/api/partner/v1/orders", "application/json", 16 << 10},
	{"/mcp", "application/json", 1 << 20},
	{"/mcp", "application/json", 256 << 10},
	{"/api/oauth/token", "application/x-www-form-urlencoded", 1 << 20},
	{"/api/oauth/token", "application/x-www-form-urlencoded", 16 << 10},
	{"/signin", "application/x-www-form-urlencoded", 1 << 20},
	{"/signin", "application/x-www-form-urlencoded", 32 << 10},
}

// stallBody sends one body without its end and waits for the server's reaction. It returns the outcome, and whether the server
// held the body.
func stallBody(ctx context.Context, s *server, from uint16, to stalledPath, key string) (outcome string, held bool) {
	const missing = 8
	what := fmt.Sprintf("%s, %d KiB", to.path, to.announced>>10)
	conn, err := s.dial(ctx, from)
	if err != nil {
		return what + ": no connection", false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nX-Service-Key-Id: %s\r\nX-Service-Timestamp: %d\r\n"+
			"X-Service-Nonce: 0123456789abcdef\r\nX-Service-Signature: v1=00\r\nContent-Length: %d\r\n\r\n%s",
			to.path, s.addr, to.mediaType, key, time.Now().Unix(), to.announced, strings.Repeat(" ", to.announced-missing))
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	_ = conn.Close() // which ends the sending too
	<-sent
	timeout := net.Error(nil)
	switch {
	case err == nil:
		_ = answer.Body.Close()
		return what + ": " + answer.Status, answer.StatusCode == http.StatusRequestTimeout
	case errors.As(err, &timeout) && timeout.Timeout():
		return what + ": held to the end", true
	}
	return what + ": closed", false
}
