package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/namewharf/namewharf/internal/apiclient"
	"github.com/namewharf/namewharf/internal/clilogin"
	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/tools"
)

// loginOf is the sign-in of this computer's user at the API behind -backend.
func loginOf(backend string, environ func(string) (string, bool)) (*clilogin.Login, error) {
	dir, err := clilogin.Directory(environ)
	if err != nil {
		return nil, err
	}
	login, err := clilogin.Open(dir, backend+"/api", clilogin.Options{
		Name: "MCP on this computer", Scopes: []string{tools.ScopePricing, tools.ScopeDomains},
		Hint: fmt.Sprintf("run %q, or with logout to go on without", "mcp login -backend "+backend),
	})
	if err != nil {
		return nil, fmt.Errorf("-backend %w", err)
	}
	return login, nil
}

// command carries out login or logout. What it tells goes to standard error with everything else a person reads.
func command(ctx context.Context, word string, o *options, environ func(string) (string, bool), stderr io.Writer) error {
	login, err := loginOf(o.backend, environ)
	if err != nil {
		return err
	}
	if word == "login" {
		if err := login.SignIn(ctx, nil, stderr); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "signed in: \"mcp -backend %s\" sees what you may see\n", o.backend)
		return nil
	}
	err = login.SignOut(ctx)
	if errors.Is(err, clilogin.ErrNotSignedIn) {
		fmt.Fprintln(stderr, "no one was signed in")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "signed out")
	return nil
}

// remoteAPI is the API behind -backend, called for the user of stdio: with the token of the environment, else as the
// person who signed in, else anonymously. Over HTTP callers are anonymous.
func remoteAPI(o *options, token string, environ func(string) (string, bool)) (*apiclient.API, error) {
	u, err := url.Parse(o.backend)
	if token != "" || o.server.Addr != "" || err != nil || u.Scheme == "http" && !httpserver.Loopback(net.JoinHostPort(u.Hostname(), "80")) {
		return apiclient.New(o.backend, token)
	}
	login, err := loginOf(o.backend, environ)
	if err != nil {
		return apiclient.New(o.backend, "") // which says what is wrong with the URL, or goes without
	}
	return apiclient.NewVia(o.backend, login.Transport())
}
