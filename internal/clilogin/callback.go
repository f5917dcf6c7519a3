package clilogin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// A callbackServer serves the redirect URI of the sign-in on loopback, for one authorization response.
type callbackServer struct {
	redirect string // the redirect URI
	state    string
	issuer   string
	needIss  bool // the server promised the parameter iss (RFC 9207)

	server  *http.Server
	serving sync.WaitGroup
	taken   atomic.Bool
	answers chan callbackResult
}

// callbackResult is the code of a response, or its error.
type callbackResult struct {
	code string
	err  error
}

const callbackPath = "/callback"

// newCallbackServer listens on a free port of loopback.
func newCallbackServer(issuer string, needIss bool) (*callbackServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	d := &callbackServer{
		redirect: "http://" + l.Addr().String() + callbackPath, state: rand.Text() + rand.Text(),
		issuer: issuer, needIss: needIss, answers: make(chan callbackResult, 1),
	}
	d.server = &http.Server{
		Handler: d, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	d.serving.Go(func() { _ = d.server.Serve(l) }) // ends with close
	return d, nil
}

// wait returns the code of the response.
func (d *callbackServer) wait(ctx context.Context) (code string, err error) {
	select {
	case a := <-d.answers:
		return a.code, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// close shuts the server down after the page that is being sent.
func (d *callbackServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if d.server.Shutdown(ctx) != nil {
		_ = d.server.Close()
	}
	d.serving.Wait()
}

// ServeHTTP takes the authorization response (RFC 6749, section 4.1.2) with our state, once. It ignores any other request.
func (d *callbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case "http://"+r.Host+callbackPath != d.redirect: // DNS rebinding
		writePage(w, http.StatusMisdirectedRequest, "There is nothing here.")
		return
	case r.URL.Path != callbackPath:
		writePage(w, http.StatusNotFound, "There is nothing here.")
		return
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		writePage(w, http.StatusMethodNotAllowed, "There is nothing here.")
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || repeated(query) || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(d.state)) != 1 ||
		!d.taken.CompareAndSwap(false, true) {
		writePage(w, http.StatusBadRequest, "This is not the expected response. Go back to the terminal.")
		return
	}
	code, err := d.checkResponse(query)
	if err != nil {
		writePage(w, http.StatusOK, "You are not signed in. You can close this tab and go back to the terminal.")
	} else {
		writePage(w, http.StatusOK, "Thank you. You can close this tab and go back to the terminal.")
	}
	d.answers <- callbackResult{code, err}
}

// repeated reports whether a known parameter is given twice.
func repeated(query url.Values) bool {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(query[name]) > 1 {
			return true
		}
	}
	return false
}

// checkResponse returns the code of a response with our state. A wrong issuer is a mix-up attack (RFC 9207, section 2.4).
func (d *callbackServer) checkResponse(query url.Values) (code string, err error) {
	iss := query.Get("iss")
	if iss != d.issuer && (d.needIss || query.Has("iss")) {
		return "", errors.New("the response came from the wrong authorization server; no code was exchanged")
	}
	switch word := query.Get("error"); {
	case word == "access_denied":
		return "", errors.New("access was denied")
	case query.Has("error"):
		return "", fmt.Errorf("the authorization server refused%s", codeWord(word))
	case !plainText(query.Get("code"), maxToken):
		return "", errors.New("the response has no code")
	}
	return query.Get("code"), nil
}

// writePage sends a page of one sentence.
func writePage(w http.ResponseWriter, status int, sentence string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Sign-in</title>
<p>%s</p>
</html>
`, sentence)
}
