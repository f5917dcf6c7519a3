package event

import (
	"math/rand/v2"
	"time"
)

// schedule is the delay of each retry after a failed attempt. After the last retry the delivery has failed.
var schedule = [...]time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour, 48 * time.Hour,
}

// jitter is the part of a delay by which a retry may come earlier, so that simultaneous failures are not retried together.
const jitter = 0.1

// An outcome is the new state of a delivery after an attempt.
type outcome struct {
	stream   Stream
	number   int64
	status   Status
	attempt  int
	retries  int
	due      time.Time
	attempts []Attempt
}

// after returns the outcome of an attempt that ended now.
func (r deliveryRow) after(s Stream, a Attempt, ok bool, now time.Time) outcome {
	o := outcome{stream: s, number: r.number, attempt: r.attempt + 1, retries: r.retries, due: r.due}
	kept := r.attempts[max(0, len(r.attempts)-MaxAttempts+1):]
	o.attempts = append(append([]Attempt(nil), kept...), a)
	switch {
	case ok:
		o.status = Delivered
	case r.retries == len(schedule):
		o.status = Failed
	default:
		wait := schedule[r.retries]
		o.status, o.due = Pending, now.Add(wait-time.Duration(jitter*rand.Float64()*float64(wait)))
		o.retries++
	}
	return o
}
