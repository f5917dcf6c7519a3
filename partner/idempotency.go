package partner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/store"
)

// AnswerLife is how long the answer to a request with an idempotency key is stored.
const AnswerLife = 30 * 24 * time.Hour

const maxKey = 255 // characters of an idempotency key

// write returns an operation whose effect runs in one transaction. The transaction stores the answer for repetitions of
// the request and, last, appends the events. The definition needs no limit, effect or idempotency of its own; a key is
// optional unless it says otherwise.
func write[In, Out any](a *API, def op.Operation[In, Out], effect func(ctx context.Context, tx store.Tx, in In, now time.Time) (Out, error)) op.Operation[In, Out] {
	def.Kept = op.Once(a, effect)
	return asWrite(def)
}

// writeOutside is write for an effect that stores nothing in the database. It may run more than once for one key; one
// answer is stored and returned to all.
func writeOutside[In, Out any](a *API, def op.Operation[In, Out], effect func(ctx context.Context, in In) (Out, error)) op.Operation[In, Out] {
	def.Kept = op.Outside(a, effect)
	return asWrite(def)
}

func asWrite[In, Out any](def op.Operation[In, Out]) op.Operation[In, Out] {
	def.Limit, def.Effect = ClassWrite, op.Writes
	if def.Idempotency == op.None {
		def.Idempotency = op.Optional
	}
	return def
}

// An answerID identifies a stored answer: the SHA-256 of credential, route and idempotency key. It is zero for a request
// without a key.
type answerID [sha256.Size]byte

// answerID returns the id of the request's answer. It fails with [fault.MissingIdempotencyKey] if a required key is
// missing, and with [fault.Validation] for a malformed key.
func (c *signedRequest) answerID(required bool) (answerID, error) {
	switch {
	case len(c.keys) == 0 && !required:
		return answerID{}, nil
	case len(c.keys) == 0, required && c.keys[0] == "":
		return answerID{}, fault.New(fault.MissingIdempotencyKey, "the request carries no %s", signature.HeaderIdempotencyKey).
			WithHint("send a fresh UUID with every order, and the same again when you repeat the request")
	case len(c.keys) > 1:
		return answerID{}, fault.Invalid(signature.HeaderIdempotencyKey, "must be given once")
	}
	key := c.keys[0]
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return answerID{}, fault.Invalid(signature.HeaderIdempotencyKey, "must be of printable ASCII characters")
		}
	}
	if key == "" || len(key) > maxKey {
		return answerID{}, fault.Invalid(signature.HeaderIdempotencyKey, "must have 1 to %d characters", maxKey)
	}
	h := sha256.New()
	for _, part := range [...]string{c.Caller.Key, c.scope, key} {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return answerID(h.Sum(nil)), nil
}

// storedAnswer returns the stored answer to an earlier request with the same key, and whether there is one. It fails with
// [fault.Conflict] if that request had another body.
func (a *API) storedAnswer(ctx context.Context, tx store.Tx, c *signedRequest, r op.Repeatable, id answerID, now time.Time) (op.Answer, bool, error) {
	if id == (answerID{}) {
		return op.Answer{}, false, nil
	}
	var fingerprint []byte
	answer := op.Answer{Repeated: true}
	err := tx.QueryRow(ctx, `SELECT fingerprint, status, body FROM partner_answers WHERE id = $1 AND created_at > $2`,
		id[:], store.Micros(now.Add(-AnswerLife))).Scan(&fingerprint, &answer.Status, &answer.JSON)
	switch {
	case store.IsNoRows(err):
		return op.Answer{}, false, nil
	case err != nil:
		return op.Answer{}, false, fmt.Errorf("look up an answer: %w", err)
	case !bytes.Equal(fingerprint, c.body[:]):
		return op.Answer{}, false, fault.New(fault.Conflict, "the idempotency key was used with another body").
			WithHint("repeat a request with the body it had, and send a fresh key with a new one")
	}
	if answer.JSON, err = a.restorePrivate(ctx, tx, r, answer.JSON); err != nil {
		return op.Answer{}, false, err
	}
	return answer, true, nil
}

// storeAnswer stores the answer of a request in the transaction of its effect, without what removePrivate takes out. It
// returns the complete answer.
func (c *signedRequest) storeAnswer(ctx context.Context, tx store.Tx, r op.Repeatable, id answerID, out any, now time.Time) (op.Answer, error) {
	answer, err := encodeAnswer(r, r.Status)(out, nil)
	if err != nil || id == (answerID{}) {
		return answer, err
	}
	stored := answer.JSON
	if removePrivate(out) > 0 {
		if stored, err = r.Encode(out); err != nil {
			return op.Answer{}, fmt.Errorf("encode an answer: %w", err)
		}
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO partner_answers (id, fingerprint, status, body, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
			body = excluded.body, created_at = excluded.created_at`, // an expired answer is replaced
		id[:], c.body[:], answer.Status, string(stored), store.Micros(now))
	if err != nil {
		return op.Answer{}, fmt.Errorf("store an answer: %w", err)
	}
	return answer, nil
}

// Once implements [op.Answers]. One transaction runs the effect, stores the answer and, last, appends the events.
func (a *API) Once(ctx context.Context, r op.Repeatable, effect func(context.Context, store.Tx, time.Time) (any, error)) (op.Answer, error) {
	c, id, err := requestAndAnswerID(ctx, r)
	if err != nil {
		return op.Answer{}, err
	}
	var answer op.Answer
	var out *wiring.Outbox
	err = a.sales.Tx(ctx, string(c.Party.Environment), func(tx store.Tx) error {
		now := a.cfg.Now()
		before, again, err := a.storedAnswer(ctx, tx, c, r, id, now)
		if err != nil || again {
			answer, out = before, nil
			return err
		}
		local, err := wiring.LocalTime(ctx, tx, now, c.Party)
		if err != nil {
			return err
		}
		out = &wiring.Outbox{}
		done, err := effect(wiring.WithOutbox(ctx, out), tx, local)
		if err != nil {
			return err
		}
		if answer, err = c.storeAnswer(ctx, tx, r, id, done, now); err != nil {
			return err
		}
		return out.Flush(ctx, tx)
	})
	if store.IsRetryable(err) {
		return op.Answer{}, fault.New(fault.Conflict, "another request is changing the same").WithCause(err).
			WithHint("repeat the request with the same idempotency key").WithRetry(time.Second)
	}
	if err == nil && out != nil {
		a.notify(ctx, c.Party, out)
	}
	return answer, err
}

// notify tells the webhook dispatcher and, after changes of orders, the search index of this process about a commit. A
// failure is reported, and does not fail the request.
func (a *API) notify(ctx context.Context, p credential.Party, out *wiring.Outbox) {
	a.events.Wake(wiring.Stream(p))
	if !out.Orders {
		return
	}
	if err := a.inventory.changed(ctx); err != nil {
		op.Report(ctx, err)
	}
}

// Outside implements [op.Answers].
func (a *API) Outside(ctx context.Context, r op.Repeatable, effect func(context.Context) (any, error)) (op.Answer, error) {
	c, id, err := requestAndAnswerID(ctx, r)
	if err != nil {
		return op.Answer{}, err
	}
	if id == (answerID{}) {
		return encodeAnswer(r, r.Status)(effect(ctx))
	}
	var answer op.Answer
	var again bool
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		answer, again, err = a.storedAnswer(ctx, tx, c, r, id, a.cfg.Now())
		return err
	})
	if err != nil || again {
		return answer, err
	}
	out, err := effect(ctx)
	if err != nil {
		return op.Answer{}, err
	}
	return a.Once(ctx, r, func(context.Context, store.Tx, time.Time) (any, error) { return out, nil })
}

// DryRun implements [op.Answers].
func (a *API) DryRun(ctx context.Context, r op.Repeatable, effect func(context.Context) (any, error)) (op.Answer, error) {
	if _, _, err := requestAndAnswerID(ctx, r); err != nil {
		return op.Answer{}, err
	}
	return encodeAnswer(r, r.DryRunStatus)(effect(ctx))
}

// encodeAnswer returns a function that encodes the result of an effect as an answer with a status.
func encodeAnswer(r op.Repeatable, status int) func(out any, err error) (op.Answer, error) {
	return func(out any, err error) (op.Answer, error) {
		if err != nil {
			return op.Answer{}, err
		}
		body, err := r.Encode(out)
		if err != nil {
			return op.Answer{}, fmt.Errorf("encode an answer: %w", err)
		}
		return op.Answer{JSON: body, Status: status}, nil
	}
}

// requestAndAnswerID returns the signed request of ctx and the id of its answer.
func requestAndAnswerID(ctx context.Context, r op.Repeatable) (*signedRequest, answerID, error) {
	c := signedRequestFrom(ctx)
	if c == nil {
		return nil, answerID{}, errors.New("run a partner operation without a signed request")
	}
	id, err := c.answerID(r.Idempotency == op.Required)
	return c, id, err
}
