package account

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"slices"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// TLS says how the connection to a mail server is protected.
type TLS string

// The kinds of protection.
const (
	TLSRequired TLS = "required" // STARTTLS, or nothing is sent
	TLSOptional TLS = "optional" // STARTTLS where the server offers it; for a server on the same machine
	TLSImplicit TLS = "implicit" // from the first byte, as on port 465 (RFC 8314)
)

// SMTP configures [NewSMTP].
type SMTP struct {
	Addr     string // host:port
	From     string // such as "Namewharf <signin@example.com>"
	User     string // empty: no authentication
	Password string // never sent over a connection without TLS, except to loopback
	TLS      TLS    // empty: TLSRequired, on loopback TLSOptional

	Roots *x509.CertPool // certificate authorities for the server; nil: those of the system
}

const smtpTime = 20 * time.Second // one mail, from the connection to the server's last reply

// NewSMTP returns a mailer that sends each mail to an SMTP server. It fails on an invalid configuration; it does not
// connect.
func NewSMTP(cfg SMTP) (Mailer, error) {
	host, portText, err := net.SplitHostPort(cfg.Addr)
	port, err2 := strconv.ParseUint(portText, 10, 16)
	if err != nil || err2 != nil || host == "" {
		return nil, errors.New("smtp: the server must be host:port")
	}
	if _, err := mail.ParseAddress(cfg.From); err != nil {
		return nil, errors.New("smtp: the sender must be an e-mail address")
	}
	if cfg.TLS == "" {
		cfg.TLS = TLSRequired
		if loopback(host) {
			cfg.TLS = TLSOptional
		}
	}
	options := []gomail.Option{gomail.WithPort(int(port)), gomail.WithTimeout(smtpTime), gomail.WithoutNoop()}
	protect := &tls.Config{ServerName: host, RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}
	options = append(options, gomail.WithTLSConfig(protect))
	switch cfg.TLS {
	case TLSRequired:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case TLSOptional:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	case TLSImplicit:
		options = append(options, gomail.WithSSL())
	default:
		return nil, errors.New("smtp: TLS must be required, optional or implicit")
	}
	if cfg.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(cfg.User), gomail.WithPassword(cfg.Password))
	}
	// A client holds one connection, so each mail has its own; this one shows that the options work.
	if _, err := gomail.NewClient(host, options...); err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	m := &smtpMailer{host: host, from: cfg.From, options: options, dial: new(net.Dialer).DialContext}
	if cfg.TLS == TLSImplicit {
		m.dial = (&tls.Dialer{Config: protect}).DialContext
	}
	return m, nil
}

type smtpMailer struct {
	host, from string
	options    []gomail.Option
	dial       gomail.DialContextFunc
}

// Send hands a mail to the server.
func (s *smtpMailer) Send(ctx context.Context, m Message) error {
	msg := gomail.NewMsg(gomail.WithEncoding(gomail.NoEncoding)) // lines are not folded, so that links stay whole
	if err := msg.From(s.from); err != nil {
		return errors.New("smtp: the sender was refused")
	}
	if err := msg.To(m.To); err != nil {
		return errors.New("smtp: the recipient was refused")
	}
	msg.Subject(m.Subject)
	msg.SetDate()
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no automatic replies (RFC 3834, section 5)
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	ctx, cancel := context.WithTimeout(ctx, smtpTime)
	defer cancel()
	// The client waits for a silent server longer than the context lasts, so the connection ends with the context.
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(dialing, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	client, err := gomail.NewClient(s.host, append(slices.Clip(s.options), gomail.WithDialContextFunc(dial))...)
	if err != nil {
		return fmt.Errorf("smtp: %w", err)
	}
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("smtp: %w", err)
	}
	return nil
}
