package account

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// An smtpServer is a small SMTP server on loopback (RFC 5321) that stores mail.
type smtpServer struct {
	net.Listener
	tls      *tls.Config // nil: STARTTLS is not offered
	implicit bool        // TLS from the first byte
	roots    *x509.CertPool
	login    string // "user password"; empty: AUTH is not offered
	mails    chan delivery

	refuse string // the answer to RCPT; empty: 250
	done   sync.WaitGroup
}

// A delivery is a received mail.
type delivery struct {
	from, to, data string
	secure, login  bool
}

func newSMTPServer(t *testing.T, change func(*smtpServer)) *smtpServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, "listen", err)
	s := &smtpServer{Listener: l, mails: make(chan delivery, 100)}
	if change != nil {
		change(s)
	}
	s.done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.done.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.done.Wait()
	})
	return s
}

// offerTLS lets the server offer STARTTLS with the certificate of httptest, which is for 127.0.0.1.
func offerTLS(s *smtpServer) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	s.tls = &tls.Config{Certificates: server.TLS.Certificates}
	s.roots = x509.NewCertPool()
	s.roots.AddCert(server.Certificate())
}

func (s *smtpServer) serve(conn net.Conn) {
	defer func() { conn.Close() }()
	var d delivery
	if s.implicit {
		conn, d.secure = tls.Server(conn, s.tls), true
	}
	r := bufio.NewReader(conn)
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	say("220 sink.example")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			say("250-sink.example")
			if s.tls != nil && !d.secure {
				say("250-STARTTLS")
			}
			if s.login != "" {
				say("250-AUTH PLAIN")
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go ahead")
			secure := tls.Server(conn, s.tls)
			if secure.Handshake() != nil {
				return
			}
			conn, r, d = secure, bufio.NewReader(secure), delivery{secure: true}
		case "AUTH":
			raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			if strings.ReplaceAll(strings.TrimPrefix(string(raw), "\x00"), "\x00", " ") != s.login {
				say("535 no")
				continue
			}
			d.login = true
			say("235 welcome")
		case "MAIL":
			d.from = rest
			say("250 ok")
		case "RCPT":
			if s.refuse != "" {
				say("%s", s.refuse)
				continue
			}
			d.to = rest
			say("250 ok")
		case "DATA":
			say("354 go on")
			d.data = readData(r)
			s.mails <- d
			say("250 kept")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// readData reads lines up to the one with a dot, and removes dot-stuffing (RFC 5321, section 4.5.2).
func readData(r *bufio.Reader) string {
	var data strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == ".\r\n" {
			return data.String()
		}
		data.WriteString(strings.TrimPrefix(line, "."))
	}
}
