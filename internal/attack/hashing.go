package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// repeatedPassword returns an attack in which connections of one address repeatedly sign in to one account with its correct
// password. Each sign-in makes the server hash a password.
func repeatedPassword(most int) func(ctx context.Context, s *server, size string, r *report) error {
	return func(ctx context.Context, s *server, size string, r *report) error {
		connections, holds := most, 30*time.Second
		if size == small {
			connections, holds = min(most, 60), 5*time.Second
		}
		form, err := demoForm(ctx, s)
		if err != nil {
			return err
		}
		if err := signUp(ctx, s); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, holds)
		defer cancel()
		var attackers sync.WaitGroup
		attackers.Go(func() { honestSignIns(ctx, s, r) })
		for range connections {
			attackers.Go(func() {
				for ctx.Err() == nil {
					r.count(signInFrom(ctx, s, 0, form))
				}
			})
		}
		attackers.Wait()
		return nil
	}
}

// demoForm returns the sign-in form of the demo's account.
func demoForm(ctx context.Context, s *server) (url.Values, error) {
	email, err := s.printed(ctx, "e-mail")
	if err != nil {
		return nil, err
	}
	password, err := s.printed(ctx, "password")
	return url.Values{"email": {email}, "password": {password}}, err
}

// honestUsers is how many users sign in beside an attack, each from its own address.
const honestUsers = 20

func honestForm(i int) url.Values {
	return url.Values{"email": {fmt.Sprintf("person%d@names.example", i)}, "password": {"seven brave otters"}}
}

func honestAddress(i int) uint16 { return uint16(1000 + i) }

// signUp creates the accounts of the honest users.
func signUp(ctx context.Context, s *server) error {
	for i := range honestUsers {
		status, err := post(ctx, s, honestAddress(i), "/signup", honestForm(i))
		if err == nil && status >= http.StatusBadRequest {
			err = fmt.Errorf("it answers %d", status)
		}
		if err != nil {
			return fmt.Errorf("sign an honest user up: %w", err)
		}
	}
	return nil
}

// honestSignIns signs the honest users in, one after the other, until ctx ends.
func honestSignIns(ctx context.Context, s *server, r *report) {
	for i := 0; ctx.Err() == nil; i = (i + 1) % honestUsers {
		began := time.Now()
		status, err := post(ctx, s, honestAddress(i), "/signin", honestForm(i))
		switch {
		case ctx.Err() != nil: // the end of the attack
		case err != nil || status != http.StatusSeeOther:
			r.failedSignIns++
		default:
			r.signIns = append(r.signIns, time.Since(began))
		}
		sleep(ctx, honestInterval)
	}
}

// signInFrom signs in and returns the outcome. After a refusal it waits a moment, to save the CPU of the attacker's machine.
func signInFrom(ctx context.Context, s *server, from uint16, form url.Values) string {
	status, err := post(ctx, s, from, "/signin", form)
	timeout := net.Error(nil)
	switch {
	case ctx.Err() != nil:
		return "sign-in: cut by the end"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "sign-in: no answer in time"
	case err != nil:
		return "sign-in: no answer"
	case status != http.StatusSeeOther:
		sleep(ctx, 100*time.Millisecond)
	}
	return fmt.Sprintf("sign-in: %d %s", status, http.StatusText(status))
}

// postTime is how long an answer to a form may take.
const postTime = 25 * time.Second

// post sends a form on a connection of its own and returns the status of the answer.
func post(ctx context.Context, s *server, from uint16, path string, form url.Values) (int, error) {
	conn, err := s.dial(ctx, from)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if err := conn.SetDeadline(time.Now().Add(postTime)); err != nil {
		return 0, err
	}
	body := form.Encode()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		path, s.addr, len(body), body)
	if err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, nil
}
