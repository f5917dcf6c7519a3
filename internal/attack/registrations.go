package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the engine of the server's store
)

// proxyFlags make this machine a proxy that the server trusts, so that an attack can come from any address.
func proxyFlags(string) ([]string, error) { return []string{"-trusted-proxies", "127.0.0.0/8"}, nil }

// manyRegistrations registers unused applications from more and more addresses: the /64s of one /48, the /48s of one /32, and
// then of several /32s. An honest application registers beside it from another network.
func manyRegistrations(ctx context.Context, s *server, size string, r *report) error {
	each, workers := 200, 4
	if size == full {
		each, workers = 6000, 16
	}
	for phase, from := range []struct {
		name    string
		address func(n int64) string
	}{
		{"/64s of one /48", func(n int64) string { return fmt.Sprintf("2001:db8:1:%x::1", n) }},
		{"/48s of one /32", func(n int64) string { return fmt.Sprintf("2001:db9:%x::1", n) }},
		{"/48s of four /32s", func(n int64) string { return fmt.Sprintf("2001:%x:%x::1", 0xd00+n%4, n) }},
		{"/48s of forty /32s", func(n int64) string { return fmt.Sprintf("2001:%x:%x::1", 0xe00+n%40, n) }},
	} {
		ctx, stop := context.WithCancel(ctx)
		var honest, attackers sync.WaitGroup
		honest.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				status := s.register(ctx, fmt.Sprintf("203.0.%d.%d", phase, n%250))
				if ctx.Err() == nil {
					r.count(honestPrefix + status + " beside " + from.name)
				}
				sleep(ctx, 100*time.Millisecond)
			}
		})
		var next atomic.Int64
		for range workers {
			attackers.Go(func() {
				for n := next.Add(1); n <= int64(each) && ctx.Err() == nil; n = next.Add(1) {
					r.count("from many " + from.name + ": " + s.register(ctx, from.address(n)))
				}
			})
		}
		attackers.Wait()
		stop()
		honest.Wait()
	}
	return s.countClients(ctx, r)
}

// honestPrefix begins the outcomes of the honest application.
const honestPrefix = "the honest application: "

// register registers an application with an address in X-Forwarded-For, and returns the status of the answer.
func (s *server) register(ctx context.Context, from string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/oauth/register", strings.NewReader(`{"redirect_uris":["https://app.example/cb"]}`))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-For", from)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "no answer"
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.Status
}

// countClients counts the rows that the attack left.
func (s *server) countClients(ctx context.Context, r *report) error {
	file := url.URL{Scheme: "file", Path: filepath.Join(filepath.Dir(s.log.Name()), "data", "namewharf.db"), RawQuery: "mode=ro"}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return err
	}
	defer db.Close()
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM oauth_clients").Scan(&r.rows)
}
