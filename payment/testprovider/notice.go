package testprovider

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/store"
)

// SignatureHeader carries t=<Unix seconds>,v1=<hex HMAC-SHA256 of time, full stop and body>.
const SignatureHeader = "Test-Provider-Signature"

// A notice reports a change. Its exported fields are the body.
type notice struct {
	ID      string `json:"id"`
	Payment string `json:"payment"`
	Kind    string `json:"kind"`

	attempts int
	due      int64
	created  time.Time
}

// A Sender takes a notice, as [payment.Service.Notice] does. A notice that it fails on is sent again.
type Sender func(ctx context.Context, provider string, header http.Header, body []byte) error

// A Signed is a notice as it is sent.
type Signed struct {
	Kind   string // authorize, decline, challenge, cancel, capture, void, refund, dispute, dispute ended
	Header http.Header
	Body   []byte
}

// sign is the notice as it is sent now.
func (p *Provider) sign(n notice) Signed {
	body, err := json.Marshal(n)
	if err != nil {
		panic(err) // it is three texts
	}
	at := strconv.FormatInt(p.cfg.Now().Unix(), 10)
	h := http.Header{}
	h.Set(SignatureHeader, "t="+at+",v1="+hex.EncodeToString(p.mac(at, body)))
	return Signed{Kind: n.Kind, Header: h, Body: body}
}

func (p *Provider) mac(at string, body []byte) []byte {
	h := hmac.New(sha256.New, p.secret)
	h.Write([]byte(at + "."))
	h.Write(body)
	return h.Sum(nil)
}

// verify reads a notice that this provider signed.
func (p *Provider) verify(header http.Header, body []byte, now time.Time) (payment.Notice, error) {
	at, sum, ok := strings.Cut(header.Get(SignatureHeader), ",v1=")
	at, marked := strings.CutPrefix(at, "t=")
	seconds, err := strconv.ParseInt(at, 10, 64)
	given, malformed := hex.DecodeString(sum)
	if !ok || !marked || err != nil || malformed != nil || !hmac.Equal(given, p.mac(at, body)) ||
		now.Sub(time.Unix(seconds, 0)).Abs() > payment.NoticeTolerance {
		return payment.Notice{}, payment.ErrSignature
	}
	var n notice
	if err := json.Unmarshal(body, &n); err != nil {
		return payment.Notice{}, payment.ErrSignature
	}
	return payment.Notice{ID: n.ID, Payment: n.Payment}, nil
}

// Notices are the notices of a payment as they are sent now, in the order of the changes, taken or not. They are for tests,
// which deliver them late, twice, in another order or not at all.
func (p *Provider) Notices(ctx context.Context, id string) ([]Signed, error) {
	var all []notice
	err := p.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		all, err = noticesOf(ctx, tx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read notices: %w", err)
	}
	signed := make([]Signed, len(all))
	for i, n := range all {
		signed[i] = p.sign(n)
	}
	return signed, nil
}

// How notices are sent.
const (
	sendEvery   = time.Second        // a look for notices of other processes
	sendAtOnce  = 32                 // notices a look
	sendTime    = 30 * time.Second   // for the receiver; then it is sent again
	longestWait = 10 * time.Minute   // between two attempts
	sendFor     = 3 * 24 * time.Hour // after which it is given up
)

func (p *Provider) hint() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run sends notices until ctx ends. Any number of processes may run it on one database.
func (p *Provider) Run(ctx context.Context, send Sender) {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for {
		if err := p.sendDue(ctx, send); err != nil && ctx.Err() == nil {
			p.cfg.Logger.ErrorContext(ctx, "the test provider's notices failed", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.wake:
		}
	}
}

// sendDue sends what is due once.
func (p *Provider) sendDue(ctx context.Context, send Sender) error {
	var all []notice
	err := p.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		all, err = dueNotices(ctx, tx, p.cfg.Now(), sendAtOnce)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for notices: %w", err)
	}
	for _, n := range all {
		if err := p.send(ctx, send, n); err != nil {
			return err
		}
	}
	return nil
}

// send claims a notice, sends it, and notes that it was taken.
func (p *Provider) send(ctx context.Context, send Sender, n notice) error {
	now := p.cfg.Now()
	wait := min(sendTime<<min(n.attempts, 10), longestWait)
	claimed := false
	err := p.cfg.DB.Tx(ctx, func(tx store.Tx) (err error) {
		claimed, err = claimNotice(ctx, tx, n, now.Add(wait))
		return err
	})
	if err != nil || !claimed {
		return err
	}
	s := p.sign(n)
	attempt, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if err := send(attempt, Name, s.Header, s.Body); err != nil && now.Sub(n.created) < sendFor {
		p.cfg.Logger.WarnContext(ctx, "a notice of the test provider was not taken", "payment", n.Payment, "error", err.Error())
		return nil
	}
	return p.cfg.DB.Tx(ctx, func(tx store.Tx) error { return noticeSent(ctx, tx, n.ID) })
}
