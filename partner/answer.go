package partner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
)

// AnswerLife is how long the answer to a request with an idempotency key is kept.
const AnswerLife = 30 * 24 * time.Hour

const maxKey = 255 // characters of an idempotency key

// An answerID names the answer to a request: SHA-256 of its credential, its path and its idempotency key. The zero one
// names none.
type answerID [sha256.Size]byte

// answerID is that of the request. It fails with [fault.MissingIdempotencyKey] where a key is required and there is none,
// and with [fault.Validation] for one of another form.
func (c *call) answerID(required bool) (answerID, error) {
	switch {
	case len(c.keys) == 0 && !required:
		return answerID{}, nil
	case len(c.keys) == 0, required && c.keys[0] == "":
		return answerID{}, fault.New(fault.MissingIdempotencyKey, "the request carries no %s", HeaderIdem).
			WithHint("send a fresh UUID with every order, and the same again when you repeat the request")
	case len(c.keys) > 1:
		return answerID{}, fault.Invalid(HeaderIdem, "must be given once")
	}
	key := c.keys[0]
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return answerID{}, fault.Invalid(HeaderIdem, "must be of printable ASCII characters")
		}
	}
	if key == "" || len(key) > maxKey {
		return answerID{}, fault.Invalid(HeaderIdem, "must have 1 to %d characters", maxKey)
	}
	h := sha256.New()
	for _, part := range [...]string{c.caller.Key, c.path, key} {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return answerID(h.Sum(nil)), nil
}

// repeated finds what was answered to the request when it came first; false: nothing is known of it. It fails with
// [fault.Conflict] where the key came with another body.
func (c *call) repeated(ctx context.Context, tx store.Tx, id answerID, now time.Time) (op.Answer, bool, error) {
	if id == (answerID{}) {
		return op.Answer{}, false, nil
	}
	var fingerprint []byte
	a := op.Answer{Repeated: true}
	err := tx.QueryRow(ctx, `SELECT fingerprint, status, body FROM partner_answers WHERE id = $1 AND created_at > $2`,
		id[:], store.Micros(now.Add(-AnswerLife))).Scan(&fingerprint, &a.Status, &a.JSON)
	switch {
	case store.IsNoRows(err):
		return op.Answer{}, false, nil
	case err != nil:
		return op.Answer{}, false, fmt.Errorf("look up an answer: %w", err)
	case !bytes.Equal(fingerprint, c.body[:]):
		return op.Answer{}, false, fault.New(fault.Conflict, "the idempotency key was used with another body").
			WithHint("repeat a request with the body it had, and send a fresh key with a new one")
	}
	return a, true, nil
}

// keep stores the answer of a request in the transaction of what the request did.
func (c *call) keep(ctx context.Context, tx store.Tx, id answerID, a op.Answer, now time.Time) error {
	if id == (answerID{}) {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO partner_answers (id, fingerprint, status, body, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
			body = excluded.body, created_at = excluded.created_at`, // of one that is too old to be found
		id[:], c.body[:], a.Status, string(a.JSON), store.Micros(now))
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

// An effect is what a request does to the world, within a transaction; now is the party's time.
type effect[Out any] func(ctx context.Context, tx store.Tx, now time.Time) (Out, error)

// once runs what a request does, and keeps the answer with it, all in one transaction; or it gives the answer again that
// the request got when it came first. Requests with one key that come at once wait for one another. It reports whether
// the effect took place now.
func once[Out any](ctx context.Context, a *API, status int, keyed bool, do effect[Out]) (answer op.Answer, did bool, err error) {
	c := callFrom(ctx)
	if c == nil {
		return op.Answer{}, false, fmt.Errorf("run a partner's operation for nobody")
	}
	id, err := c.answerID(keyed)
	if err != nil {
		return op.Answer{}, false, err
	}
	err = a.desk.Tx(ctx, string(c.party.Environment), func(tx store.Tx) error {
		now := a.cfg.Now()
		before, again, err := c.repeated(ctx, tx, id, now)
		if err != nil || again {
			answer, did = before, false
			return err
		}
		local, err := timeOf(ctx, tx, now, c.party)
		if err != nil {
			return err
		}
		out, err := do(ctx, tx, local)
		if err != nil {
			return err
		}
		body, err := op.Encode(out)
		if err != nil {
			return fmt.Errorf("encode an answer: %w", err)
		}
		answer, did = op.Answer{JSON: body, Status: status}, true
		return c.keep(ctx, tx, id, answer, now)
	})
	if store.IsRetryable(err) {
		return op.Answer{}, false, fault.New(fault.Conflict, "another request is changing the same: %w", err).
			WithHint("repeat the request with the same idempotency key").WithRetry(time.Second)
	}
	return answer, did, err
}

// told is once for requests whose work is not done in a transaction, because it stores nothing or what it does is the
// business of another package: its answer alone is kept.
func told[Out any](ctx context.Context, a *API, status int, do func(context.Context) (Out, error)) (op.Answer, error) {
	c := callFrom(ctx)
	if c == nil {
		return op.Answer{}, fmt.Errorf("run a partner's operation for nobody")
	}
	id, err := c.answerID(false)
	if err != nil {
		return op.Answer{}, err
	}
	if id != (answerID{}) {
		var answer op.Answer
		var again bool
		err := a.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
			answer, again, err = c.repeated(ctx, tx, id, a.cfg.Now())
			return err
		})
		if err != nil || again {
			return answer, err
		}
	}
	out, err := do(ctx)
	if err != nil {
		return op.Answer{}, err
	}
	if id == (answerID{}) {
		body, err := op.Encode(out)
		return op.Answer{JSON: body, Status: status}, err
	}
	answer, _, err := once(ctx, a, status, false, func(context.Context, store.Tx, time.Time) (Out, error) { return out, nil })
	return answer, err
}
