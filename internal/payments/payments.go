// Package payments opens the payment provider of the programs and serves its notices.
package payments

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/stripe"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Settings are the flags of payments. Fill them by [Flags].
type Settings struct {
	Key, KeyFile       string
	Secret, SecretFile string
	APIBase            string
}

// Flags defines the flags of payments.
func Flags(fs *flag.FlagSet) *Settings {
	s := &Settings{}
	fs.StringVar(&s.KeyFile, "stripe-key-file", "", "`file` with Stripe's secret key (sk_… or rk_…), with which buyers of LIVE names pay")
	fs.StringVar(&s.SecretFile, "stripe-webhook-secret-file", "", "`file` with the secret (whsec_…) of Stripe's webhook to "+NoticePath)
	fs.StringVar(&s.Key, "stripe-key", "", "Stripe's secret `key` itself; other users of the machine can read it, so it is for tests")
	fs.StringVar(&s.Secret, "stripe-webhook-secret", "", "the webhook's `secret` itself, for tests")
	fs.StringVar(&s.APIBase, "stripe-api-base", "", "`URL` of Stripe's API (default Stripe's; http on loopback only)")
	return s
}

// Provider is the provider of LIVE payments; nil where none is configured. It fails with one clear line that holds no secret.
func (s *Settings) Provider() (payment.Provider, error) {
	key, err := secret("stripe-key", s.Key, s.KeyFile)
	if err != nil {
		return nil, err
	}
	webhook, err := secret("stripe-webhook-secret", s.Secret, s.SecretFile)
	switch {
	case err != nil:
		return nil, err
	case key == "" && webhook == "" && s.APIBase == "":
		return nil, nil
	case key == "" || webhook == "":
		return nil, errors.New("stripe needs both -stripe-key-file and -stripe-webhook-secret-file")
	}
	return stripe.New(stripe.Config{Key: key, WebhookSecret: webhook, APIBase: s.APIBase})
}

// maxSecret is more than a secret has bytes.
const maxSecret = 4 << 10

func secret(name, text, file string) (string, error) {
	if text != "" && file != "" {
		return "", fmt.Errorf("-%s and -%s-file: give one of them", name, name)
	}
	if file == "" {
		return text, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("-%s-file: %w", name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return "", fmt.Errorf("-%s-file: %w", name, err)
	}
	if text = strings.TrimSpace(string(b)); text == "" {
		return "", fmt.Errorf("-%s-file: the file %s is empty", name, file)
	}
	return text, nil
}

// Off lists what is not configured, a line each.
func (s *Settings) Off() []string {
	if cmp.Or(s.Key, s.KeyFile) == "" {
		return []string{"payments of LIVE names (-stripe-key-file): a checkout is answered 422 payment_unavailable"}
	}
	return nil
}

// NoticePath is where Stripe sends its notices.
const NoticePath = "/api/payments/stripe"

// A Receiver takes the notices of a provider, as [payment.Service] does.
type Receiver interface {
	Notice(ctx context.Context, provider string, header http.Header, body []byte) error
}

// Notices is the handler of [NoticePath]. A notice is answered 200 once it is stored. One that Stripe did not sign is 400 and costs its
// sender a call; one that cannot be stored now is 503, and Stripe sends it again.
func Notices(mw *middleware.Stack, to Receiver) http.Handler {
	return mw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), "payment_notice", "")
		if err := takeNotice(w, r, to); err != nil {
			if fault.Is(err, fault.Validation) || fault.Is(err, fault.NotFound) {
				if limited := mw.Charge(w, r, []op.Charge{{Class: op.Page, Count: 1}}); limited != nil {
					err = limited
				}
			}
			mw.WriteError(w, r, "", err)
			return
		}
		w.WriteHeader(http.StatusOK)
	}))
}

func takeNotice(w http.ResponseWriter, r *http.Request, to Receiver) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return fault.New(fault.MethodNotAllowed, "this path takes POST")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, payment.MaxNotice))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return fault.New(fault.PayloadTooLarge, "a notice has at most %d bytes", payment.MaxNotice)
	}
	if err != nil {
		return fault.Wrap("read a notice", err)
	}
	err = to.Notice(r.Context(), stripe.Name, r.Header, body)
	switch {
	case errors.Is(err, payment.ErrSignature):
		return fault.New(fault.Validation, "the notice is not signed by the payment provider, or too long ago")
	case errors.Is(err, payment.ErrNoProvider):
		return fault.New(fault.NotFound, "this payment provider is not configured")
	case err != nil:
		return fault.New(fault.Unavailable, "the notice could not be stored; send it again").WithCause(err)
	}
	return nil
}
