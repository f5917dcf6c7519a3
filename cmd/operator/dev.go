package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/internal/partnercli"
)

// devCommands are the commands for developers of partners. They need no store.
func (p *program) devCommands() *cobra.Command {
	return group("partners", "dev", "Try the Partner API, without a store",
		p.command(devSign, &cobra.Command{
			Use: "sign METHOD PATH", Short: "Sign a request and print its headers, or send it",
			Long: "Signs a request of the Partner API with -key-id and the secret in " + secretVariable + ", and prints its headers; with -canonical the canonical string, with -curl a command, with -send the answer of -base-url.",
			Example: "  operator dev sign GET \"/api/partner/v1/domains/search?q=wallet\" -key-id nw_sandbox_01k8h3v6e4 -curl\n" +
				"  operator dev sign POST /api/partner/v1/quotes -body quote.json -send",
		}, credentialFlags, signFlags, baseURLFlag),
		p.command(devListen, &cobra.Command{
			Use: "listen", Short: "Receive webhooks on loopback and verify their signatures",
			Long:    "Receives webhooks on loopback and verifies their signatures, until it is interrupted. The secret is in " + webhookSecretVariable + ". -register makes it the partner's webhook meanwhile; -status-code and -delay simulate a failing receiver.",
			Example: "  operator dev listen -register -key-id nw_sandbox_01k8h3v6e4\n  operator dev listen -addr 127.0.0.1:9000 -status-code 500",
		}, credentialFlags, baseURLFlag, listenFlags),
		p.command(devTrigger, &cobra.Command{
			Use: "trigger", Short: "Send a test event to the partner's webhook and print its delivery",
			Example: "  operator dev trigger -key-id nw_sandbox_01k8h3v6e4 -base-url https://names.example",
		}, credentialFlags, baseURLFlag),
		p.command(devBuy, &cobra.Command{
			Use: "buy URL", Short: "Play a buyer at a checkout whose payments are tests",
			Long: "Opens the checkout_url of a session, or the page of a name, and goes through its forms to the end with a test card.",
			Example: "  operator dev buy \"http://127.0.0.1:8080/checkout?pt=…\" -card 4242424242424242\n" +
				"  operator dev buy http://127.0.0.1:8080/market/brewhaven.com -card 4000002500003155 -refuse",
		}, buyFlags),
		p.command(syntheticZone, &cobra.Command{
			Use: "zone FILE", Short: "Write a synthetic zone file for trials",
			Long:    "Writes a zone file of made-up names below the TLD that -tld names, as many as -names says, packed if FILE ends in .gz; - is standard output.",
			Example: "  operator dev zone -tld quarry -names 20000000 quarry.zone.gz",
		}, tldFlag, namesFlag),
	)
}

// devOptions are the flags of the dev commands.
type devOptions struct {
	keyID, secret    string
	body, idempotent string
	timestamp, nonce string
	canonical, curl  bool
	send             bool

	addr, url, webhookSecret string
	register                 bool
	statusCode               int
	delay                    time.Duration

	card, email string
	refuse      bool
}

// Environment variables that hold secrets, which all users of a machine can read in a command line.
const (
	secretVariable        = "NAMEWHARF_PARTNER_SECRET"
	webhookSecretVariable = "NAMEWHARF_WEBHOOK_SECRET"
)

// credential returns the credential of the flags or the environment.
func (p *program) credential() (partnercli.Credential, error) {
	c := partnercli.Credential{KeyID: p.dev.keyID, Secret: p.dev.secret}
	if c.Secret == "" {
		c.Secret, _ = p.environ(secretVariable)
	}
	if c.KeyID == "" || c.Secret == "" {
		return c, usagef("-key-id and the secret in %s, or -secret, are required", secretVariable)
	}
	return c, nil
}

func (p *program) client() (*partnercli.Client, error) {
	by, err := p.credential()
	if err != nil {
		return nil, err
	}
	client, err := partnercli.NewClient(p.baseURL, by)
	if err != nil {
		return nil, usagef("-base-url %w", err)
	}
	return client, nil
}

// maxBody is more than the service accepts, so that its answer to a long body can be tried.
const maxBody = 8 << 20

// request returns the request of the flags and the arguments.
func (p *program) request(method, target string) (partnercli.Request, error) {
	r := partnercli.Request{
		Method: method, Target: target,
		IdempotencyKey: p.dev.idempotent, Timestamp: p.dev.timestamp, Nonce: p.dev.nonce,
	}
	from := p.stdin
	switch p.dev.body {
	case "":
		return r, nil
	case "-":
	default:
		file, err := os.Open(p.dev.body)
		if err != nil {
			return r, usagef("-body: %w", err)
		}
		defer file.Close()
		from = file
	}
	var err error
	if r.Body, err = io.ReadAll(io.LimitReader(from, maxBody)); err != nil {
		return r, usagef("-body: %w", err)
	}
	return r, nil
}

// devSign signs a request and prints it, or sends it and prints the answer.
func devSign(ctx context.Context, p *program, args []string) error {
	r, err := p.request(args[0], args[1])
	if err != nil {
		return err
	}
	if p.dev.send {
		return p.sendSigned(ctx, r)
	}
	by, err := p.credential()
	if err != nil {
		return err
	}
	signed, err := by.Sign(r, time.Now())
	switch {
	case err != nil:
		return usageError{err}
	case p.dev.canonical:
		_, err = fmt.Fprintln(p.stdout, signed.Canonical)
	case p.dev.curl:
		_, err = fmt.Fprintln(p.stdout, signed.Curl(strings.TrimSuffix(p.baseURL, "/")))
	case p.json:
		headers := map[string]string{}
		for _, h := range signed.Headers {
			headers[h.Name] = h.Value
		}
		return p.print(struct {
			Method    string            `json:"method"`
			Target    string            `json:"target"`
			Headers   map[string]string `json:"headers"`
			Canonical string            `json:"canonical"`
		}{signed.Method, signed.Target, headers, signed.Canonical}, nil)
	default:
		for _, h := range signed.Headers {
			if _, err = fmt.Fprintf(p.stdout, "%s: %s\n", h.Name, h.Value); err != nil {
				return err
			}
		}
	}
	return err
}

// sendSigned sends a request. It prints the body of the answer, and the status to standard error.
func (p *program) sendSigned(ctx context.Context, r partnercli.Request) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	answer, err := client.Do(ctx, r)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.stdout, "%s\n", strings.TrimRight(string(answer.Body), "\n")); err != nil {
		return err
	}
	if answer.Status >= http.StatusMultipleChoices {
		return fmt.Errorf("the service answered %d %s", answer.Status, http.StatusText(answer.Status))
	}
	fmt.Fprintln(p.stderr, answer.Status, http.StatusText(answer.Status))
	return nil
}

// devListen receives webhooks until ctx ends.
func devListen(ctx context.Context, p *program, _ []string) error {
	o := &p.dev
	if o.webhookSecret == "" {
		o.webhookSecret, _ = p.environ(webhookSecretVariable)
	}
	switch {
	case !httpserver.Loopback(o.addr):
		return usagef("-addr must be on loopback; to receive webhooks from another machine, forward a tunnel to it and give its -url")
	case o.statusCode != 0 && (o.statusCode < 200 || o.statusCode > 599):
		return usagef("-status-code must be from 200 to 599")
	case o.delay < 0:
		return usagef("-delay must not be negative")
	case o.url != "" && !o.register:
		return usagef("-url goes with -register")
	case o.webhookSecret == "" && !o.register:
		return usagef("the secret of the webhook in %s, or -webhook-secret, is required", webhookSecretVariable)
	}
	var client *partnercli.Client
	if o.register {
		var err error
		if client, err = p.client(); err != nil {
			return err
		}
	}
	if o.webhookSecret == "" {
		o.webhookSecret = newWebhookSecret()
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return usageError{err}
	}
	return p.listen(ctx, listener, client)
}

// listen receives webhooks. With a client it is the partner's webhook meanwhile.
func (p *program) listen(ctx context.Context, listener net.Listener, client *partnercli.Client) error {
	address := "http://" + listener.Addr().String()
	receiver := &partnercli.Receiver{Secret: p.dev.webhookSecret, Status: p.dev.statusCode, Delay: p.dev.delay, OnDelivery: p.printDelivery}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // it receives until the webhook is removed
	ended := make(chan error, 1)
	go func() { ended <- receiver.Serve(serving, listener) }()
	end := func() error { stop(); return <-ended }
	remove := func(context.Context) error { return nil }
	if client != nil {
		var err error
		if remove, err = client.Register(ctx, cmp.Or(p.dev.url, address), p.dev.webhookSecret); err != nil {
			return errors.Join(err, end())
		}
	}
	fmt.Fprintln(p.stdout, "listening on", address)
	<-ctx.Done()
	p.unregister(ctx, remove)
	return end()
}

// unregisterTimeout limits the removal of the webhook.
const unregisterTimeout = 5 * time.Second

func (p *program) unregister(ctx context.Context, remove func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer cancel()
	if err := remove(ctx); err != nil {
		fmt.Fprintln(p.stderr, "operator: the webhook stays registered:", err)
	}
}

// newWebhookSecret returns a random secret in the form of Standard Webhooks.
func newWebhookSecret() string {
	raw := make([]byte, 24)
	rand.Read(raw)
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// printDelivery prints a delivery on one line.
func (p *program) printDelivery(v partnercli.Delivery) {
	if p.json {
		e := json.NewEncoder(p.stdout)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // standard output may be closed
		return
	}
	var body struct {
		Data struct {
			Order struct {
				ID     string `json:"public_id"`
				Domain string `json:"domain"`
				Status string `json:"status"`
			} `json:"order"`
		} `json:"data"`
	}
	_ = json.Unmarshal(v.Event, &body) // missing fields are not shown
	verdict := fmt.Sprintf("X-Service-Signature %s, webhook-signature %s", v.Service, v.Standard)
	if v.Service == partnercli.Good && v.Standard == partnercli.Good {
		verdict = "signatures good"
	}
	order := body.Data.Order
	fields := []string{
		v.At.Format(time.TimeOnly), cmp.Or(v.Type, "(no type)"), cmp.Or(v.EventID, "(no id)"), fmt.Sprintf("attempt %d", v.Attempt),
		verdict, fmt.Sprintf("answered %d", v.Answered),
	}
	if order.ID != "" {
		fields = append(fields, order.ID, order.Domain, order.Status)
	}
	fmt.Fprintln(p.stdout, printable(strings.Join(fields, "  ")))
}

// printable replaces control characters, which could control the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// devTrigger sends a test event. It fails if the event is not delivered.
func devTrigger(ctx context.Context, p *program, _ []string) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	delivery, err := client.Trigger(ctx)
	if err != nil {
		return err
	}
	err = p.print(delivery, func(w io.Writer) {
		fmt.Fprintf(w, "event\t%s\nstatus\t%s\n", delivery.EventID, delivery.Status)
		for _, a := range delivery.Attempts {
			came := a.Error
			if a.StatusCode != 0 {
				came = strings.TrimSuffix(fmt.Sprintf("answered %d, %s", a.StatusCode, a.Error), ", ")
			}
			fmt.Fprintf(w, "%s\t%s after %d ms\n", a.At.UTC().Format(time.TimeOnly), came, a.LatencyMS)
		}
		if !delivery.NextTryAt.IsZero() {
			fmt.Fprintf(w, "next\t%s\n", delivery.NextTryAt.UTC().Format(time.TimeOnly))
		}
	})
	if err == nil && delivery.Status != "delivered" {
		err = errors.New("the event is not delivered yet")
	}
	return err
}
