package op

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"

	"github.com/namewharf/namewharf/cache"
)

// A Set is operations in a fixed order, with their cached answers.
type Set struct {
	ops     []*Op
	byName  map[string]*Op
	answers *cache.Cache[answerKey, knownAnswer]
	now     func() time.Time
	guide   Guide
}

// Bounds of the cached answers. They are encoded bytes of public data, or of one view that many callers share.
const (
	maxReusedInput = 4 << 10  // answers to longer inputs are not cached
	maxAnswers     = 32 << 10 // entries
	maxAnswerBytes = 32 << 20
)

type answerKey struct {
	op, view, input string
	stamp           uint64
}

type knownAnswer struct {
	Call
	size int64
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{2,40}$`)

// NewSet returns the operations in the order given. It panics on a mistake in a definition: a bad or repeated name
// or route, a type without a schema, an example that does not fit.
func NewSet(now func() time.Time, definitions ...Definition) *Set {
	s := &Set{byName: map[string]*Op{}, now: now}
	s.answers = cache.New(cache.Config[answerKey, knownAnswer]{
		Entries: maxAnswers, Bytes: maxAnswerBytes, Now: now,
		Size: func(k answerKey, a knownAnswer) int64 { return a.size + int64(len(k.input)) + 256 },
	})
	s.Add(definitions...)
	return s
}

// Add appends operations that are made of the set itself, as a batch is. It panics as [NewSet] does and must not
// be called once requests are served.
func (s *Set) Add(definitions ...Definition) {
	routes := map[string]string{}
	for _, o := range s.ops {
		routes[o.Route.Method+" "+o.Route.Path] = o.Name
	}
	for _, d := range definitions {
		o, err := d.erase(s)
		if err != nil {
			panic(fmt.Sprintf("op: definition %T: %v", d, err))
		}
		route := o.Route.Method + " " + o.Route.Path
		switch {
		case !validName.MatchString(o.Name):
			panic("op: bad name " + o.Name)
		case s.byName[o.Name] != nil:
			panic("op: two operations named " + o.Name)
		case routes[route] != "":
			panic("op: " + o.Name + " and " + routes[route] + " share the route " + route)
		}
		routes[route] = o.Name
		s.byName[o.Name] = o
		s.ops = append(s.ops, o)
	}
}

// All returns the operations in order. The slice must not be changed.
func (s *Set) All() []*Op { return s.ops }

// Named returns the operation of that name, or nil.
func (s *Set) Named(name string) *Op { return s.byName[name] }

func (s *Set) store(key answerKey, a Answer, charges []Charge, lasts time.Duration) {
	if lasts <= 0 {
		return
	}
	known := knownAnswer{Call: Call{Charges: charges, Known: true, run: func(context.Context) (Answer, error) { return a, nil }}, size: int64(len(a.JSON)) * 3 / 2} // with its text, once that is read
	s.answers.Put(key, known, s.now().Add(lasts))
}

// etag is a strong validator that depends on the bytes alone.
func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
