// Package batch runs many operations of a set in one call.
package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// Max is how many operations one batch may hold.
const Max = 20

// An Input is the input of a batch: a struct with a field for the [Items], and with the fields that hold for all of them.
type Input interface {
	// Batch returns the operations to run.
	Batch() Items
	// Allow is nil where the caller in the context may ask for this batch, else a *[fault.Error].
	Allow(ctx context.Context) error
}

// Items is 1 to [Max] operations with ids of their own.
type Items []Item

// Schema bounds the list.
func (Items) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "array", MinItems: new(1), MaxItems: new(Max),
		Items: &jsonschema.Schema{
			Type: "object", Required: []string{"id", "op"},
			Properties: map[string]*jsonschema.Schema{
				"id":     {Type: "string", MinLength: new(1), MaxLength: new(128), Description: "your own name for this operation, unique in the batch"},
				"op":     {Type: "string", MinLength: new(1), MaxLength: new(64), Description: "name of an operation; GET /api/batch lists them"},
				"params": {Type: "object", Description: "input of the operation"},
			},
			PropertyOrder:        []string{"id", "op", "params"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		},
	}
}

// An Item is one operation of a batch.
type Item struct {
	ID     string    `json:"id"`
	Op     string    `json:"op"`
	Params op.Object `json:"params,omitzero"`
}

// Out is a result for each operation, in request order.
type Out struct {
	Results []Result `json:"results"`

	unused []op.Charge
}

// Unused is what the operations drew and did not need.
func (o Out) Unused() []op.Charge { return o.unused }

// A Result is how one operation ended: with its answer, or with an error as it would have alone.
type Result struct {
	ID     string    `json:"id"`
	Op     string    `json:"op"`
	OK     bool      `json:"ok"`
	Status int       `json:"status" jsonschema:"the HTTP status that the operation has alone"`
	Result op.Object `json:"result,omitzero"`
	Error  Error     `json:"error,omitzero"`

	unused []op.Charge
}

// An Error is an error body without the request id, which is the batch's own.
type Error struct {
	Code       fault.Code    `json:"code"`
	Message    string        `json:"message"`
	Details    []fault.Field `json:"details,omitzero"`
	RetryAfter int           `json:"retry_after_s,omitzero"`
}

// AppendJSON writes the results around the answers, which are JSON already.
func (o Out) AppendJSON(b []byte) ([]byte, error) {
	size := 0
	for _, r := range o.Results {
		size += len(r.Result) + 256
	}
	b = slices.Grow(b, size)
	b = append(b, `{"results":[`...)
	for i, r := range o.Results {
		if i > 0 {
			b = append(b, ',')
		}
		answer := r.Result
		r.Result = nil
		head, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		if len(answer) > 0 {
			b = append(b, head[:len(head)-1]...)
			b = append(append(append(b, `,"result":`...), answer...), '}')
			continue
		}
		b = append(b, head...)
	}
	return append(b, "]}"...), nil
}

// Add adds to the set the operation that runs its batchable operations, and the one that lists them. text renders answers of
// the first: see [op.Operation].
func Add[In Input](set *op.Set, example In, text func(Out) string) {
	r := runner{set}
	set.Add(lookup(r, example, text), r.catalogue())
}

type runner struct{ set *op.Set }

func lookup[In Input](r runner, example In, text func(Out) string) op.Operation[In, Out] {
	return op.Operation[In, Out]{
		Name:      "batch_lookup",
		Title:     "Run several operations",
		Doc:       "Runs 1 to 20 read operations in one call, side by side; each succeeds or fails alone. Use it instead of many calls.",
		Route:     op.Route{Method: "POST", Path: "/api/batch"},
		Tool:      true,
		Effect:    op.Reads,
		Limit:     op.Read,
		PerCaller: true,
		Text:      text,
		Example:   example,
		Plan: func(ctx context.Context, in In) ([]op.Charge, func(context.Context) (Out, error)) {
			return r.plan(ctx, in)
		},
	}
}

// A task is an operation of the batch that has begun, or the error for which it has not.
type task struct {
	Item
	op   *op.Op
	call *op.Call
	err  error
}

// plan begins each operation and returns what the batch costs: the sum of its operations in each class.
func (r runner) plan(ctx context.Context, in Input) (sum []op.Charge, run func(context.Context) (Out, error)) {
	items := in.Batch()
	tasks := make([]task, len(items))
	inner := op.WithoutEmitter(ctx)
	for i, item := range items {
		t := task{Item: item, op: r.named(item.Op)}
		charges := []op.Charge{{Class: op.Read, Count: 1}}
		if t.op == nil {
			t.err = fault.Invalid("op", "is not a batch operation; GET /api/batch lists them")
		} else if t.call, t.err = t.op.Begin(inner, item.params()); t.err == nil {
			charges = t.call.Charges
		} else {
			charges = t.op.Refused()
		}
		sum = add(sum, charges)
		tasks[i] = t
	}
	return sum, func(ctx context.Context) (Out, error) {
		if err := in.Allow(ctx); err != nil {
			return Out{}, err
		}
		if err := items.check(); err != nil {
			return Out{}, err
		}
		return runAll(ctx, tasks), nil
	}
}

func add(sum, charges []op.Charge) []op.Charge {
next:
	for _, c := range charges {
		for i := range sum {
			if sum[i].Class == c.Class {
				sum[i].Count += c.Count
				continue next
			}
		}
		sum = append(sum, c)
	}
	return sum
}

func (i Item) params() []byte {
	if len(i.Params) == 0 {
		return []byte("{}")
	}
	return i.Params
}

// named is the batchable operation of that name, or nil.
func (r runner) named(name string) *op.Op {
	if o := r.set.Named(name); o != nil && o.Batch {
		return o
	}
	return nil
}

// check refuses ids that are not unique, which the schema cannot.
func (items Items) check() error {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		if first, twice := seen[item.ID]; twice {
			return fault.Invalid("operations["+strconv.Itoa(i)+"].id", "is the same as that of operations[%d]; give each operation an id of its own", first)
		}
		seen[item.ID] = i
	}
	return nil
}

// runAll runs the tasks side by side. Answers that are known need no goroutine.
func runAll(ctx context.Context, tasks []task) Out {
	out := Out{Results: make([]Result, len(tasks))}
	var wait sync.WaitGroup
	var mu sync.Mutex // one event at a time, in the order of their counts
	done := 0
	inner := op.WithoutEmitter(ctx)
	run := func(i int) {
		out.Results[i] = tasks[i].run(inner)
		mu.Lock()
		defer mu.Unlock()
		out.unused = add(out.unused, out.Results[i].unused)
		done++
		op.Emit(ctx, op.Event{Item: out.Results[i], Done: done, Total: len(tasks)})
	}
	for i := range tasks {
		if call := tasks[i].call; call != nil && !call.Known {
			wait.Go(func() { run(i) })
		}
	}
	for i := range tasks {
		if call := tasks[i].call; call == nil || call.Known {
			run(i)
		}
	}
	wait.Wait()
	return out
}

// run runs an operation as it would run alone.
func (t *task) run(ctx context.Context) Result {
	result := Result{ID: t.ID, Op: t.Op}
	if t.err != nil {
		return t.fail(ctx, result, t.err)
	}
	answer, err := t.call.Run(ctx)
	if err != nil {
		return t.fail(ctx, result, err)
	}
	result.OK, result.Status, result.Result, result.unused = true, t.op.Route.Status, answer.JSON, answer.Unused
	return result
}

// fail is the result with an error, which is reported to the transport if it is ours.
func (t *task) fail(ctx context.Context, r Result, err error) Result {
	f := fault.From(err)
	if f.Code == fault.Internal {
		op.Report(ctx, fmt.Errorf("batch operation %s: %w", t.Op, err))
	}
	r.Status = f.Code.Status()
	r.Error = Error{Code: f.Code, Message: f.Message(), Details: f.Fields, RetryAfter: f.RetrySeconds()}
	return r
}

// CatalogueIn has no fields.
type CatalogueIn struct{}

// CatalogueOut lists the operations that a batch may hold.
type CatalogueOut struct {
	MaxOperations int     `json:"max_operations"`
	Operations    []Entry `json:"operations"`
}

// An Entry describes one operation.
type Entry struct {
	Op          string    `json:"op"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Params      op.Object `json:"params" jsonschema:"JSON Schema of params"`
	Result      op.Object `json:"result" jsonschema:"JSON Schema of result"`
	Example     op.Object `json:"example" jsonschema:"params that work"`
}

// catalogueMaxAge is how long a client may cache the catalogue, which changes with the version of the service.
const catalogueMaxAge = time.Hour

func (r runner) catalogue() op.Operation[CatalogueIn, CatalogueOut] {
	return op.Operation[CatalogueIn, CatalogueOut]{
		Name:   "batch_catalogue",
		Title:  "List batch operations",
		Doc:    "Every operation that a batch may hold, with the JSON Schemas of its params and its result.",
		Route:  op.Route{Method: "GET", Path: "/api/batch"},
		Effect: op.Reads,
		Limit:  op.Read,
		MaxAge: catalogueMaxAge,
		Cache:  &op.Cache[CatalogueIn, CatalogueOut]{For: func(CatalogueIn, CatalogueOut) time.Duration { return catalogueMaxAge }},
		Do: func(context.Context, CatalogueIn) (CatalogueOut, error) {
			return r.list()
		},
	}
}

func (r runner) list() (CatalogueOut, error) {
	out := CatalogueOut{MaxOperations: Max}
	for _, o := range r.set.All() {
		if !o.Batch {
			continue
		}
		params, err := json.Marshal(o.In)
		if err != nil {
			return CatalogueOut{}, err
		}
		result, err := json.Marshal(o.Out)
		if err != nil {
			return CatalogueOut{}, err
		}
		out.Operations = append(out.Operations, Entry{o.Name, o.Title, o.Doc, params, result, bytes.Clone(o.Example)})
	}
	return out, nil
}
