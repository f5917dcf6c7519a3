package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/payment"
)

// SignatureHeader carries Stripe's signature of a notice.
const SignatureHeader = "Stripe-Signature"

// Events are the types of events that say something about payments; the webhook endpoint at Stripe should send these. Others are
// taken and change nothing.
func Events() []string {
	return []string{
		"checkout.session.completed", "checkout.session.expired",
		"payment_intent.amount_capturable_updated", "payment_intent.succeeded", "payment_intent.canceled", "payment_intent.payment_failed",
		"charge.refunded", "charge.dispute.created", "charge.dispute.closed",
	}
}

// Notice reads an event that Stripe sent. It does not matter in which version of Stripe's API.
func (p *Provider) Notice(header http.Header, body []byte) (payment.Notice, error) {
	if !verify(header.Get(SignatureHeader), body, p.secret, p.now()) {
		return payment.Notice{}, payment.ErrSignature
	}
	return parse(body)
}

// maxSignatures is how many signatures of a header are looked at; Stripe sends one for each secret of the endpoint.
const maxSignatures = 8

// verify checks a signature header: t=<Unix seconds> and one or more v1=<hex HMAC-SHA256 of time, full stop and body>. See
// https://docs.stripe.com/webhooks#verify-manually.
func verify(header string, body, secret []byte, now time.Time) bool {
	var at string
	var sums [][]byte
	for part := range strings.SplitSeq(header, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch key {
		case "t":
			if at != "" {
				return false
			}
			at = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil && len(sums) < maxSignatures {
				sums = append(sums, sum)
			}
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > payment.NoticeTolerance {
		return false
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(at + "."))
	h.Write(body)
	want := h.Sum(nil)
	ok := false
	for _, sum := range sums {
		ok = hmac.Equal(sum, want) || ok
	}
	return ok
}

// An event is the part of Stripe's that is read.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

type object struct {
	ID              string            `json:"id"`
	ClientReference string            `json:"client_reference_id"`
	Metadata        map[string]string `json:"metadata"`
	Intent          reference         `json:"payment_intent"`
}

// A reference is an object's id, alone or in the object.
type reference string

// UnmarshalJSON reads either.
func (r *reference) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(b, &o)
		*r = reference(o.ID)
		return err
	}
	var id string
	err := json.Unmarshal(b, &id)
	*r = reference(id)
	return err
}

// parse reads an event. One that is about no payment names none.
func parse(body []byte) (payment.Notice, error) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" || len(e.ID) > 255 {
		return payment.Notice{}, payment.ErrSignature
	}
	n, o := payment.Notice{ID: e.ID}, object{}
	if !slices.Contains(Events(), e.Type) {
		return n, nil
	}
	if err := json.Unmarshal(e.Data.Object, &o); err != nil {
		return payment.Notice{}, payment.ErrSignature
	}
	switch e.Type {
	case "checkout.session.completed", "checkout.session.expired":
		n.Payment = o.ClientReference
	case "charge.refunded", "charge.dispute.created", "charge.dispute.closed":
		n.Payment, n.Charge = o.Metadata[metadataKey], string(o.Intent)
	default: // payment_intent.…
		n.Payment, n.Charge = o.Metadata[metadataKey], o.ID
	}
	return n, nil
}
