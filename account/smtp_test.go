package account

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

const sender = "Namewharf <signin@names.example>"

func newMailer(t *testing.T, s *smtpServer, cfg SMTP) Mailer {
	t.Helper()
	cfg.Addr, cfg.From, cfg.Roots = s.Addr().String(), sender, s.roots
	m, err := NewSMTP(cfg)
	must(t, "new mailer", err)
	return m
}

func TestMailArrivesOverSMTP(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := newSMTPServer(t, nil)
		r, ctx := newFixture(t, db, func(c *Config) { c.Mail = newMailer(t, s, SMTP{}) }), t.Context()
		who := r.account("ada@names.example")
		must(t, "ask for a reset", r.RequestReset(ctx, who.Email, home))
		var d delivery
		select {
		case d = <-s.mails:
		case <-time.After(10 * time.Second):
			t.Fatal("no mail came within 10 s")
		}
		if !strings.HasPrefix(d.from, "FROM:<signin@names.example>") || !strings.HasPrefix(d.to, "TO:<ada@names.example>") {
			t.Errorf("envelope: got %s, %s", d.from, d.to)
		}
		m, err := mail.ReadMessage(strings.NewReader(d.data))
		must(t, "read the mail", err)
		for name, expected := range map[string]string{"Subject": resetMail.subject, "To": "<ada@names.example>", "From": `"Namewharf" <signin@names.example>`, "Auto-Submitted": "auto-generated"} {
			want(t, name, m.Header.Get(name), expected)
		}
		for _, name := range []string{"Date", "Message-Id"} {
			if m.Header.Get(name) == "" {
				t.Errorf("the mail has no %s", name)
			}
		}
		body, err := io.ReadAll(m.Body)
		must(t, "read the text", err)
		_, err = r.ResetPassword(ctx, Reset{Token: tokenIn(t, string(body), ResetPath, TokenParameter), Password: "a fresh password"}, home)
		must(t, "use the link in the mail", err)
	})
}

func TestMailOverTLSAndWithAPassword(t *testing.T) {
	t.Parallel()
	message := Message{To: "ada@names.example", Subject: "Hello", Text: ".\n.dots and\nlines\n"}
	tests := []struct {
		name  string
		sink  func(*smtpServer)
		cfg   SMTP
		ok    bool
		check func(delivery) bool
	}{
		{"plain to loopback", nil, SMTP{}, true, func(d delivery) bool {
			return !d.secure && strings.HasSuffix(d.data, "\r\n.\r\n.dots and\r\nlines\r\n")
		}},
		{"TLS where it is offered", offerTLS, SMTP{}, true, func(d delivery) bool { return d.secure }},
		{"TLS from the first byte", func(s *smtpServer) { offerTLS(s); s.implicit = true }, SMTP{TLS: TLSImplicit}, true, func(d delivery) bool { return d.secure }},
		{"TLS required", offerTLS, SMTP{TLS: TLSRequired}, true, func(d delivery) bool { return d.secure }},
		{"TLS required and not offered", nil, SMTP{TLS: TLSRequired}, false, nil},
		{"a certificate of an unknown authority", func(s *smtpServer) { offerTLS(s); s.roots = nil }, SMTP{}, false, nil},
		{"password over TLS", func(s *smtpServer) { offerTLS(s); s.login = "wharf s3cret" }, SMTP{User: "wharf", Password: "s3cret"}, true, func(d delivery) bool { return d.login }},
		{"wrong password", func(s *smtpServer) { offerTLS(s); s.login = "wharf s3cret" }, SMTP{User: "wharf", Password: "wrong-s3cret"}, false, nil},
		{"recipient refused", func(s *smtpServer) { s.refuse = "550 no such mailbox" }, SMTP{}, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSMTPServer(t, tt.sink)
			err := newMailer(t, s, tt.cfg).Send(t.Context(), message)
			if (err == nil) != tt.ok {
				t.Fatalf("send: got %v, want ok %v", err, tt.ok)
			}
			if err != nil {
				if text := err.Error(); strings.Contains(text, "s3cret") || strings.Contains(text, "dots") {
					t.Errorf("the error holds the password or the text: %v", err)
				}
				return
			}
			if d := <-s.mails; !tt.check(d) {
				t.Errorf("delivery: got %+v", d)
			}
		})
	}
}

// A silent server delays for the time of one mail at most.
func TestMailServerThatIsSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, "listen", err)
	defer l.Close()
	m, err := NewSMTP(SMTP{Addr: l.Addr().String(), From: sender})
	must(t, "new mailer", err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := m.Send(ctx, Message{To: "ada@names.example"}); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("send: got %v after %v, want an error when the context ends", err, time.Since(began))
	}
}

func TestSMTPThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]SMTP{
		"no port":       {Addr: "mail.example", From: sender},
		"no host":       {Addr: ":25", From: sender},
		"bad port":      {Addr: "mail.example:smtp", From: sender},
		"no sender":     {Addr: "mail.example:25"},
		"bad sender":    {Addr: "mail.example:25", From: "signin"},
		"unknown TLS":   {Addr: "mail.example:25", From: sender, TLS: "maybe"},
		"header inside": {Addr: "mail.example:25", From: "a@b.example\r\nBcc: c@d.example"},
	} {
		if _, err := NewSMTP(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMailGoesToTheLogWhereThereIsNoServer(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	must(t, "send", LogMail(slog.New(slog.NewTextHandler(&text, nil))).Send(t.Context(), Message{To: "ada@names.example", Subject: "Hello", Text: "A link"}))
	for _, part := range []string{"to=ada@names.example", "subject=Hello", `text="A link"`} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("log: got %s, want %s in it", text.String(), part)
		}
	}
}

func TestMailsThatFailAreLoggedWithoutTheirText(t *testing.T) {
	t.Parallel()
	s := newSMTPServer(t, func(s *smtpServer) { s.refuse = "550 no such mailbox" })
	r := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), func(c *Config) { c.Mail = newMailer(t, s, SMTP{}) })
	who := r.account("ada@names.example")
	must(t, "ask", r.RequestLink(t.Context(), who.Email, home))
	r.mailQueue.close()
	if log := r.log.String(); !strings.Contains(log, "mail was not sent") || strings.Contains(log, oneTimePrefix) {
		t.Errorf("log: got %s, want word of the mail without its link", log)
	}
}
