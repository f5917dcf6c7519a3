// Package op is the idea of an operation: what the service can do, described once for every transport.
//
// An [Operation] is a typed value: a name, when to use it, a route, input and output types, limits and a function.
// A [Set] of them is all that a transport needs: it finds an operation by name or by route, checks raw JSON input
// against the schema that the input type implies, runs the operation for the caller in the context, and gets the
// answer as encoded JSON. No transport knows what an operation means; no operation knows which transport was used.
package op

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Operation is one thing that the service can do for a caller.
//
// In and Out are structs of plain values: no pointers, optional fields marked omitzero, constraints in the Schema
// method of a named type. Their JSON Schemas are inferred once, by [NewSet].
type Operation[In, Out any] struct {
	Name  string // a promise: the tool name, the batch op and the operationId at once
	Title string // a short name for people
	Doc   string // tells a person or a model when to use the operation and what it cannot do

	Route  Route  // in the HTTP API
	Batch  bool   // may be a part of a batch
	Tool   bool   // is offered as an MCP tool
	Scope  string // the scope that a caller needs; empty: none is needed
	Effect Effect // whether it changes anything

	Idempotency Idempotency // whether it takes an idempotency key

	Gone      bool                               // may fail with [fault.Gone]: what is asked for is stored for a limited time
	Limit     Class                              // the rate limit that a call draws on
	Cost      func(context.Context, In) []Charge // what a call draws; nil: one of Limit
	Cache     *Cache[In, Out]                    // how encoded answers are cached; nil: not
	PerCaller bool                               // answers depend on the caller though Cache does not say so
	MaxAge    time.Duration                      // how long any cache may use a public answer; zero: it must revalidate
	Wrap      func(In, error) error              // rewrites the errors of Do for this operation; nil: none

	// Text renders an answer for who reads text alone, such as a model: see [Op.Text]. It is needed where Tool is set.
	Text func(Out) string

	// ToolDefaults are the values of optional fields that a tool call leaves out, where they differ from the zero value.
	ToolDefaults Object

	CSV Export[In] // writes all that the input selects as CSV, for transports that stream; nil: there is only JSON

	Example In // a call that works against the demo data
	Do      func(context.Context, In) (Out, error)

	// Plan replaces Cost and Do where the cost is known only after a part of the work: it returns what a call draws, and the
	// function that runs then.
	Plan func(context.Context, In) ([]Charge, func(context.Context) (Out, error))

	// Kept replaces Do where there is an Idempotency, and only there: its answers are stored. [Once] and [Outside] make it.
	Kept Kept[In, Out]
}

// A Route is a method and a path with {name} wildcards that are fields of the input.
type Route struct {
	Method string
	Path   string
	Status int // of success; zero: 200
	Also   int // another status of success, for answers that say so; zero: none
}

// An Effect says whether an operation changes anything.
type Effect int

// The effects. Only reads may be repeated and cached freely.
const (
	Reads  Effect = iota // changes nothing
	Writes               // changes something of the caller's, and may destroy
	Adds                 // adds something of the caller's; nothing is destroyed, and to repeat it changes nothing more
)

// A Class names a rate limit.
type Class string

// The limit classes of the public API.
const (
	Lookup Class = "lookup" // asks other services
	Read   Class = "read"   // answers from memory or the store
)

// Page is the limit class of the HTML pages. It is separate from the API's, so that browsing does not use up the limits of programs.
const Page Class = "page"

// Unsigned is the limit class, by address, of requests whose signature is missing or wrong.
const Unsigned Class = "unsigned"

// A Charge is what a call draws on a limit.
type Charge struct {
	Class Class
	Count int
}

// Cache says how long an encoded answer is reused. Requests share an answer whose input bytes, view and stamp are equal.
type Cache[In, Out any] struct {
	For   func(In, Out) time.Duration  // how long this answer is valid; zero: it is not cached
	View  func(context.Context) string // callers with equal views get equal answers; "" is the public view; nil: all are public
	Stamp func() uint64                // changes whenever stored data behind the answers does; nil: never
}

// A Definition is an [Operation] of any types. [NewSet] takes them.
type Definition interface{ erase(*Set) (*Op, error) }

// An Op is an operation with its types erased, as transports see it. Its fields must not be changed.
type Op struct {
	Name, Title, Doc string
	Route            Route
	Batch, Tool      bool
	Scope            string
	Effect           Effect
	Idempotency      Idempotency
	Gone             bool
	Limit            Class
	MaxAge           time.Duration
	PerCaller        bool               // different callers may get different answers
	In, Out          *jsonschema.Schema // schemas of input and output, types inlined
	MaxBody          int64              // bytes of a request body that holds an input
	Example          json.RawMessage    // an input that works against the demo data

	toolDefaults map[string]json.RawMessage

	text   func(raw []byte) string // nil: none
	check  *checker
	export func(ctx context.Context, raw []byte, w io.Writer) error
	begin  func(ctx context.Context, o *Op, raw []byte) (*Call, error)
	zero   func() any
}

// An Answer is the encoded result of a call. JSON must not be changed: other calls may share it.
type Answer struct {
	JSON     []byte
	ETag     string   // strong, quoted (RFC 9110, section 8.8.3); only of what is fetched with GET
	Public   bool     // holds nothing that only this caller may see
	Status   int      // of this answer; zero: that of the route
	Repeated bool     // the stored answer of an earlier request with the same idempotency key
	Unused   []Charge // what the call drew and did not need; the transport gives it back

	text func() string // renders JSON for [Op.Text]; nil: it is to be decoded first
}

// A Saver is an output of an operation that draws the most that it may need: Unused is what it did not need.
type Saver interface {
	Unused() []Charge
}

// A Call is an operation about to run: its input is checked, its cost is known.
type Call struct {
	Charges []Charge
	Known   bool // the answer is cached: Run only returns it
	run     func(context.Context) (Answer, error)
}

// Run runs the operation, or returns the cached answer.
func (c *Call) Run(ctx context.Context) (Answer, error) { return c.run(ctx) }

// Begin checks the caller's scope and the raw input, a JSON object, and says what the call costs. Errors are
// *fault.Error: [fault.AuthenticationRequired], [fault.InsufficientScope] or [fault.Validation].
func (o *Op) Begin(ctx context.Context, raw []byte) (*Call, error) {
	if err := CallerFrom(ctx).Need(o.Scope); err != nil {
		return nil, err
	}
	return o.begin(ctx, o, raw)
}

// Call begins and runs.
func (o *Op) Call(ctx context.Context, raw []byte) (Answer, error) {
	c, err := o.Begin(ctx, raw)
	if err != nil {
		return Answer{}, err
	}
	return c.Run(ctx)
}

// Zero returns the encoded zero output. A test checks it against Out.
func (o *Op) Zero() ([]byte, error) { return encode(o.zero()) }

// charge is what a call costs for which no Cost was given, or whose input was refused.
func (o *Op) charge() []Charge { return []Charge{{o.Limit, 1}} }

// Refused is what a call costs whose input was refused.
func (o *Op) Refused() []Charge { return o.charge() }

func (d Operation[In, Out]) erase(set *Set) (*Op, error) {
	in, err := inferSchema(reflect.TypeFor[In]())
	if err != nil {
		return nil, err
	}
	out, err := inferSchema(reflect.TypeFor[Out]())
	if err != nil {
		return nil, err
	}
	check, err := compile(in)
	if err != nil {
		return nil, err
	}
	if d.ways() != 1 || d.Doc == "" || d.Title == "" || d.Limit == "" {
		return nil, errors.New("needs a Title, a Doc, a Limit, and one of Do, Plan and Kept")
	}
	if (d.Idempotency != None) != d.Kept.given() || d.Idempotency != None && d.Effect == Reads {
		return nil, errors.New("an operation that takes idempotency keys writes and stores its answers, by Kept, and no other does")
	}
	example, err := json.Marshal(d.Example)
	if err != nil {
		return nil, err
	}
	if err := check.check(example); err != nil {
		return nil, fmt.Errorf("the example does not fit the schema: %w", err)
	}
	toolDefaults, err := readToolDefaults(d.ToolDefaults, in)
	if err != nil {
		return nil, err
	}
	if d.Route.Status == 0 {
		d.Route.Status = http.StatusOK
	}
	in.Examples = nil
	return &Op{
		Name: d.Name, Title: d.Title, Doc: d.Doc, Route: d.Route, Batch: d.Batch, Tool: d.Tool, Scope: d.Scope,
		Effect: d.Effect, Idempotency: d.Idempotency, Gone: d.Gone, Limit: d.Limit, MaxAge: d.MaxAge, In: in, Out: out, MaxBody: maxBody(in),
		Example: example, check: check, export: d.CSV.exporter(d.Name),
		toolDefaults: toolDefaults,
		text:         d.textOf(),
		PerCaller:    d.PerCaller || d.Scope != "" || d.Cache != nil && d.Cache.View != nil,
		begin:        d.beginner(set, newFiller(reflect.TypeFor[Out]())),
		zero: func() any {
			var out Out
			newFiller(reflect.TypeFor[Out]()).fill(reflect.ValueOf(&out).Elem())
			return out
		},
	}, nil
}

// ways counts the functions that run the operation.
func (d Operation[In, Out]) ways() (n int) {
	for _, given := range [...]bool{d.Do != nil, d.Plan != nil, d.Kept.given()} {
		if given {
			n++
		}
	}
	return n
}

// beginner returns the function behind [Op.Begin]: the cached answer if there is one, else check, decode and run.
func (d Operation[In, Out]) beginner(set *Set, filler *filler) func(context.Context, *Op, []byte) (*Call, error) {
	return func(ctx context.Context, o *Op, raw []byte) (*Call, error) {
		public, reusable := d.Scope == "" && (!d.PerCaller || CallerFrom(ctx).Anonymous()), false
		var key answerKey
		if d.Cache != nil && len(raw) <= maxReusedInput && emitterFrom(ctx) == nil {
			key, reusable = d.Cache.key(ctx, o.Name, raw), true
			if known, ok := set.answers.Get(key); ok {
				return &known.Call, nil
			}
		}
		if d.Cache != nil && d.Cache.View != nil {
			public = d.Cache.View(ctx) == ""
		}
		if err := o.check.check(raw); err != nil {
			return nil, err
		}
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, fmt.Errorf("decode checked input of %s: %w", o.Name, err)
		}
		if d.Kept.given() {
			return &Call{Charges: o.charge(), run: func(ctx context.Context) (Answer, error) { return d.Kept.call(ctx, o, in) }}, nil
		}
		charges, do := d.plan(ctx, o, in)
		return &Call{Charges: charges, run: func(ctx context.Context) (Answer, error) {
			out, err := do(ctx)
			if err != nil {
				if d.Wrap != nil {
					err = d.Wrap(in, err)
				}
				return Answer{}, err
			}
			filler.fill(reflect.ValueOf(&out).Elem())
			body, err := encode(out)
			if err != nil {
				return Answer{}, fmt.Errorf("encode answer of %s: %w", o.Name, err)
			}
			answer := Answer{JSON: body, Public: public, text: d.textLater(o, out, body, reusable)}
			if s, ok := any(out).(Saver); ok {
				answer.Unused = s.Unused()
			}
			if d.Route.Method == http.MethodGet {
				answer.ETag = etag(body)
			}
			if reusable && answer.Unused == nil {
				set.store(key, answer, charges, d.Cache.For(in, out))
			}
			return answer, nil
		}}, nil
	}
}

// plan returns what a call draws, and the function that runs it.
func (d Operation[In, Out]) plan(ctx context.Context, o *Op, in In) ([]Charge, func(context.Context) (Out, error)) {
	if d.Plan != nil {
		return d.Plan(ctx, in)
	}
	charges := o.charge()
	if d.Cost != nil {
		charges = d.Cost(ctx, in)
	}
	return charges, func(ctx context.Context) (Out, error) { return d.Do(ctx, in) }
}

func (r *Cache[In, Out]) key(ctx context.Context, name string, raw []byte) answerKey {
	key := answerKey{op: name, input: string(raw)}
	if r.View != nil {
		key.view = r.View(ctx)
	}
	if r.Stamp != nil {
		key.stamp = r.Stamp()
	}
	return key
}

// An Appender is an output that writes its own JSON, because it is put together from parts that are JSON already.
type Appender interface {
	AppendJSON([]byte) ([]byte, error)
}

// encodeFilled encodes an output as an answer has it: slices are never null.
func encodeFilled[Out any](out Out) ([]byte, error) {
	newFiller(reflect.TypeFor[Out]()).fill(reflect.ValueOf(&out).Elem())
	return encode(out)
}

// encode is Marshal that leaves the work to an [Appender].
func encode(v any) ([]byte, error) {
	if a, ok := v.(Appender); ok {
		return a.AppendJSON(nil)
	}
	return Marshal(v)
}

// Marshal is [json.Marshal] without the escaping of <, > and & that only script blocks in HTML need. All JSON that is
// served or sent is written by it.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
