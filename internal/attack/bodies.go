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

// stalledBodies opens connections that each announce the largest body there may be, send it but for a few bytes, and
// then nothing, so that the server holds what it has read. They come from several addresses, to everything that reads a
// body; those to the partner API name a key that there is, and sign nothing.
func stalledBodies(ctx context.Context, s *server, size string, r *report) error {
	connections, addresses, holds := 60, 3, 8*time.Second
	if size == full {
		connections, addresses, holds = 200, 5, 45*time.Second
	}
	key, err := s.printed(ctx, "key")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, holds)
	defer cancel()
	var attackers sync.WaitGroup
	for i := range connections {
		attackers.Go(func() { r.count(stallBody(ctx, s, uint16(i%addresses), stalledPaths[i%len(stalledPaths)], key)) })
	}
	attackers.Wait()
	return nil
}

// stalledPaths are what reads a body, and what it wants that to be.
var stalledPaths = []struct{ path, mediaType string }{
	{"/api/domain/search", "application/json"},
	{"/api/batch", "application/json"},
	{"/api/partner/v1/orders", "application/json"},
	{"/mcp", "application/json"},
	{"/api/oauth/token", "application/x-www-form-urlencoded"},
	{"/signin", "application/x-www-form-urlencoded"},
}

// stallBody sends one body but for its end and waits for what the server does about it. It tells the outcome.
func stallBody(ctx context.Context, s *server, from uint16, to struct{ path, mediaType string }, key string) string {
	conn, err := s.dial(ctx, from)
	if err != nil {
		return to.path + ": no connection"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	const announced, missing = 1 << 20, 8
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nX-Service-Key-Id: %s\r\nX-Service-Timestamp: %d\r\n"+
			"X-Service-Nonce: 0123456789abcdef\r\nX-Service-Signature: v1=00\r\nContent-Length: %d\r\n\r\n%s",
			to.path, s.addr, to.mediaType, key, time.Now().Unix(), announced, strings.Repeat(" ", announced-missing))
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	_ = conn.Close() // which ends the sending too
	<-sent
	timeout := net.Error(nil)
	switch {
	case err == nil:
		_ = answer.Body.Close()
		return to.path + ": " + answer.Status
	case errors.As(err, &timeout) && timeout.Timeout():
		return to.path + ": held to the end"
	}
	return to.path + ": closed"
}
