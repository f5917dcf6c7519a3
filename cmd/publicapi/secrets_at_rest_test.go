package main

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/oauthtest"
)

// A sink is a mail server that stores all mail (RFC 5321).
type sink struct {
	address string
	mu      sync.Mutex
	mails   strings.Builder
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{address: l.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return s
}

func (s *sink) serve(conn net.Conn) {
	defer conn.Close()
	say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
	say("220 sink.example")
	for lines, data := bufio.NewScanner(conn), false; lines.Scan(); {
		line := lines.Text()
		switch {
		case data:
			s.mu.Lock()
			s.mails.WriteString(line + "\n")
			s.mu.Unlock()
			if data = line != "."; !data {
				say("250 kept")
			}
		case strings.HasPrefix(line, "EHLO"):
			say("250-sink.example")
			say("250 8BITMIME")
		case line == "DATA":
			data = true
			say("354 go on")
		case line == "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// link waits for a mail with a link to the path.
func (s *sink) link(t testing.TB, _, path string) string {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		text := s.mails.String()
		s.mu.Unlock()
		for word := range strings.FieldsSeq(text) {
			if u, err := url.Parse(word); err == nil && u.Path == path && u.Query().Get("token") != "" {
				return word
			}
		}
	}
	t.Fatalf("no mail with a link to %s came within 20 s, only:\n%s", path, s.mails.String())
	return ""
}

// Nothing that can be used to sign in is stored or logged: not by a server that has a mail server, and without one, where mail
// goes to the log, nothing but its links.
func TestNothingInClear(t *testing.T) {
	t.Parallel()
	t.Run("mail to the log", func(t *testing.T) {
		t.Parallel()
		s := open(t, "-log", "text", "-rate-limits", "off")
		secrets, links := s.wholeLife(t, s.mailed)
		s.wantNone(t, "the log", []byte(s.log.String()), secrets)
		if !strings.Contains(s.log.String(), links[0].value) {
			t.Error("the links of mail are not in the log, where they belong without a mail server")
		}
		s.wantNone(t, "the store", s.stored(t), append(secrets, links...))
	})
	t.Run("mail to a server", func(t *testing.T) {
		t.Parallel()
		mail := newSink(t)
		s := open(t, "-log", "json", "-smtp", "smtp://"+mail.address, "-mail-from", "Namewharf <signin@names.example>")
		secrets, links := s.wholeLife(t, mail.link)
		s.wantNone(t, "the log", []byte(s.log.String()), append(secrets, links...))
		s.forgedAddresses(t)
		s.wantNone(t, "the store", s.stored(t), append(secrets, links...))
	})
}

// forgedAddresses registers from many addresses that no proxy vouches for.
func (s *site) forgedAddresses(t *testing.T) {
	t.Helper()
	oauth, limited := s.oauth(t), 0
	for i := range 30 {
		from := "198.51.100." + strconv.Itoa(i)
		a := oauth.Register(map[string]any{"redirect_uris": []string{"https://app.example/cb"}}, "X-Forwarded-For", from, "Forwarded", "for="+from)
		if a.Status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 5 {
		t.Errorf("%d of 30 registrations from one address under forged ones were refused, want all beyond 20", limited)
	}
}

// A secret is what must not be found, and what it is called.
type secret struct{ name, value string }

// wholeLife goes through all that people and applications do with secrets, and returns these; those of mailed links apart.
func (s *site) wholeLife(t *testing.T, mailed func(t testing.TB, to, path string) string) (secrets, links []secret) {
	t.Helper()
	oauth := s.oauth(t)
	keep := func(name, value string) {
		if len(value) < 12 {
			t.Fatalf("%s is %q, which is too short to look for", name, value)
		}
		secrets = append(secrets, secret{name, value})
	}
	follow := func(to, path string) oauthtest.Answer {
		link := mailed(t, to, path)
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, secret{"the token of " + path, u.Query().Get("token")})
		return oauth.Get(u.RequestURI())
	}
	person := oauth.NewUser().SignUp()
	keep("the password", person.Password)
	keep("what signing up left in the browser", person.Cookie("nw_signup"))
	if a := person.SubmitForm(follow(person.Email, "/verify"), "/verify", nil); a.Status >= 400 {
		t.Fatalf("verify: got %d %s", a.Status, a.Text)
	}
	wrong := person.Password + "-wrong"
	person.Submit("/signin", url.Values{"email": {person.Email}, "password": {wrong}})
	keep("a wrong password", wrong)
	person.SignIn()
	keep("the session", person.Cookie("nw_session"))

	app := oauth.NewClient()
	question := allowed(t, person.Open(app.AuthorizePath(nil)))
	keep("the question", question.Get("interaction"))
	code := person.Submit("/oauth/authorize", question).Location().Query().Get("code")
	keep("the code", code)
	keep("the verifier", app.Verifier)
	grant := func(tokens oauthtest.Tokens) oauthtest.Tokens {
		keep("the access token", tokens.Access)
		keep("the refresh token", tokens.Refresh)
		return tokens
	}
	tokens := grant(oauth.MustToken(app.CodeForm(code)))
	tokens = grant(oauth.MustToken(app.RefreshForm(tokens.Refresh)))
	s.everyTransport(t, tokens.Access)
	oauth.Token(app.CodeForm(code)) // a replay, which is in both logs
	tokens = grant(person.Tokens(app, nil))
	next := grant(oauth.MustToken(app.RefreshForm(tokens.Refresh)))
	oauth.Token(app.RefreshForm(tokens.Refresh))
	if s.good(t, next.Access) {
		t.Error("the reuse of a refresh token went unnoticed")
	}
	oauth.Revoke(grant(person.Tokens(app, nil)).Refresh)
	oauth.Get("/account?session=" + person.Cookie("nw_session")) // secrets where they do not belong
	oauth.Get("/api?access_token=" + next.Access)
	s.do(t, "GET", listings, "", "Authorization", "Token "+next.Access)

	person.Submit("/signin/mail", url.Values{"email": {person.Email}})
	if a := person.SubmitForm(follow(person.Email, "/signin/link"), "/signin/link", nil); a.Status != http.StatusSeeOther {
		t.Fatalf("sign in by link: got %d %s", a.Status, a.Text)
	}
	keep("the session of a link", person.Cookie("nw_session"))
	live, session := grant(person.Tokens(app, nil)), person.Cookie("nw_session")
	person.Submit("/forgot", url.Values{"email": {person.Email}})
	fresh := person.Password + "-fresh"
	if a := person.SubmitForm(follow(person.Email, "/reset"), "/reset", url.Values{"password": {fresh}}); a.Status >= 400 {
		t.Fatalf("reset: got %d %s", a.Status, a.Text)
	}
	if s.good(t, live.Access) || oauth.Token(app.RefreshForm(live.Refresh)).Status == http.StatusOK {
		t.Error("an app is connected after the password was reset")
	}
	if a := oauth.Get("/account", "Cookie", "nw_session="+session); a.Status != http.StatusSeeOther {
		t.Errorf("a session after the password was reset: got %d, want the sign-in page", a.Status)
	}
	keep("the password after the reset", fresh)
	person.Password = fresh
	person.SignIn()
	keep("the last session", person.Cookie("nw_session"))
	return secrets, links
}

// everyTransport shows a token to every transport.
func (s *site) everyTransport(t *testing.T, token string) {
	t.Helper()
	if r := s.asks(t, "POST", search, `{"q":"brewhaven.com","tlds":["com"]}`, token); r.StatusCode != http.StatusOK {
		t.Errorf("search: got %d %s", r.StatusCode, r.text)
	}
	s.asks(t, "GET", "/api/domains", "", token)
	s.asks(t, "POST", search, `{"q":7}`, token)
	s.whoami(t, "/mcp", token)
	s.whoami(t, "/mcp/signed-in", token)
}

// stored is all that is in the directory of the store, the files that SQLite writes beside it included.
func (s *site) stored(t *testing.T) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.data, "namewharf.db*"))
	if err != nil || len(files) < 2 { // the database, and the log of what was written while the site runs
		t.Fatalf("the store is %v, %v", files, err)
	}
	var all []byte
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
	}
	return all
}

func (s *site) wantNone(t *testing.T, where string, text []byte, secrets []secret) {
	t.Helper()
	if !bytes.Contains(text, []byte("people.example")) && !bytes.Contains(text, []byte("grant ended")) {
		t.Fatalf("%s tells nothing of what was done: %d bytes", where, len(text))
	}
	for _, secret := range secrets {
		for form, value := range map[string]string{"": secret.value, ", percent-encoded": url.QueryEscape(secret.value)} {
			if bytes.Contains(text, []byte(value)) {
				t.Errorf("%s is in %s%s", secret.name, where, form)
			}
		}
		// Half a secret, of those with a prefix that tells what they are, is not to be read either.
		if i := strings.LastIndexByte(secret.value[:min(6, len(secret.value))], '_'); i > 0 && bytes.Contains(text, []byte(secret.value[i+1:i+17])) {
			t.Errorf("the beginning of %s is in %s", secret.name, where)
		}
	}
	if len(secrets) < 15 {
		t.Errorf("%s: %d secrets were looked for", where, len(secrets))
	}
}
