package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

type echoIn struct {
	Text  string `json:"text" jsonschema:"anything"`
	Real  bool   `json:"real,omitzero"`
	Times int    `json:"times,omitzero"`
}

type echoOut struct {
	Text string `json:"text"`
}

// in is the input of a batch with a field that holds for all of it.
type in struct {
	Operations batch.Items `json:"operations"`
	Real       bool        `json:"real,omitzero"`
}

func (in in) Batch() batch.Items { return in.Operations }

func (in in) Allow(ctx context.Context) error {
	if !in.Real {
		return nil
	}
	return op.CallerFrom(ctx).Need("pricing:read")
}

func newSet(t testing.TB, keep time.Duration) *op.Set {
	t.Helper()
	set := op.NewSet(time.Now, op.Operation[echoIn, echoOut]{
		Name: "echo", Title: "Echo", Doc: "Says it again.", Route: op.Route{Method: "POST", Path: "/echo"}, Batch: true,
		Limit: op.Lookup,
		Cost: func(_ context.Context, in echoIn) []op.Charge {
			return []op.Charge{{Class: op.Lookup, Count: len(in.Text)}}
		},
		Cache:   &op.Cache[echoIn, echoOut]{For: func(echoIn, echoOut) time.Duration { return keep }},
		Example: echoIn{Text: "hey"},
		Do: func(ctx context.Context, in echoIn) (echoOut, error) {
			switch {
			case in.Text == "broken":
				return echoOut{}, errors.New("disk on fire")
			case in.Real:
				return echoOut{}, op.CallerFrom(ctx).Need("pricing:read")
			}
			return echoOut{strings.Repeat(in.Text, max(1, in.Times))}, nil
		},
	}, op.Operation[echoIn, echoOut]{
		Name: "lonely", Title: "Lonely", Doc: "Is no part of a batch.", Route: op.Route{Method: "POST", Path: "/lonely"}, Limit: op.Read,
		Do: func(context.Context, echoIn) (echoOut, error) { return echoOut{}, nil },
	})
	batch.Add(set, in{Operations: batch.Items{{ID: "a", Op: "echo"}}}, func(o batch.Out) string { return strconv.Itoa(len(o.Results)) })
	return set
}

func TestResultsComeInRequestOrderAndFailAlone(t *testing.T) {
	t.Parallel()
	var reported []string
	ctx := op.WithReporter(t.Context(), func(err error) { reported = append(reported, err.Error()) })
	answer, err := newSet(t, 0).Named("batch_lookup").Call(ctx, []byte(`{"operations":[
		{"id":"a","op":"echo","params":{"text":"one <&>"}},
		{"id":"b","op":"echo"},
		{"id":"c","op":"lonely","params":{"text":"x"}},
		{"id":"d","op":"batch_lookup","params":{}},
		{"id":"e","op":"echo","params":{"text":"broken"}},
		{"id":"f","op":"echo","params":{"text":"x","real":true}},
		{"id":"g","op":"echo","params":{"text":"two"}}]}`))
	want := `{"results":[` + strings.Join([]string{
		`{"id":"a","op":"echo","ok":true,"status":200,"result":{"text":"one <&>"}}`,
		`{"id":"b","op":"echo","ok":false,"status":400,"error":{"code":"validation_error","message":"text is required: anything","details":[{"field":"text","reason":"is required: anything"}]}}`,
		`{"id":"c","op":"lonely","ok":false,"status":400,"error":{"code":"validation_error","message":"op is not a batch operation; GET /api/batch lists them","details":[{"field":"op","reason":"is not a batch operation; GET /api/batch lists them"}]}}`,
		`{"id":"d","op":"batch_lookup","ok":false,"status":400,"error":{"code":"validation_error","message":"op is not a batch operation; GET /api/batch lists them","details":[{"field":"op","reason":"is not a batch operation; GET /api/batch lists them"}]}}`,
		`{"id":"e","op":"echo","ok":false,"status":500,"error":{"code":"internal_error","message":"something failed on our side; retry with exponential back-off, and send us the request id if it lasts"}}`,
		`{"id":"f","op":"echo","ok":false,"status":401,"error":{"code":"authentication_required","message":"this needs a signed-in caller; sign in with OAuth and ask for the scope pricing:read"}}`,
		`{"id":"g","op":"echo","ok":true,"status":200,"result":{"text":"two"}}`,
	}, ",") + `]}`
	if err != nil || string(answer.JSON) != want {
		t.Errorf("batch\n got %s, %v\nwant %s", answer.JSON, err, want)
	}
	if fmt.Sprint(reported) != "[batch operation echo: disk on fire]" {
		t.Errorf("reported %v, want the error that is ours", reported)
	}
}

func TestBadBatchRunsNothing(t *testing.T) {
	t.Parallel()
	operations := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id":"%d","op":"echo","params":{"text":"x"}}`, i))
		}
		return `{"operations":[` + strings.Join(list, ",") + `]}`
	}
	for _, test := range []struct{ name, in, want string }{
		{"none", operations(0), "operations must have at least 1 item"},
		{"one too many", operations(21), "operations must have at most 20 items, not 21"},
		{"as many as may be", operations(20), ""},
		{"a repeated id", `{"operations":[{"id":"a","op":"echo"},{"id":"a","op":"echo"}]}`, "operations[1].id is the same as that of operations[0]; give each operation an id of its own"},
		{"no id", `{"operations":[{"op":"echo"}]}`, "operations[0].id is required: your own name for this operation, unique in the batch"},
		{"another field", `{"operations":[{"id":"a","op":"echo","args":{}}]}`, "operations[0].args is not a known field; known are id, op, params"},
		{"params of another type", `{"operations":[{"id":"a","op":"echo","params":[]}]}`, "operations[0].params must be an object, not an array"},
		{"a batch that the caller may not ask for", `{"operations":[{"id":"a","op":"echo"}],"real":true}`, "this needs a signed-in caller; sign in with OAuth and ask for the scope pricing:read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := newSet(t, 0).Named("batch_lookup").Call(t.Context(), []byte(test.in))
			got := ""
			if err != nil {
				got = fault.From(err).Message()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCostIsTheSum(t *testing.T) {
	t.Parallel()
	call, err := newSet(t, 0).Named("batch_lookup").Begin(t.Context(), []byte(`{"operations":[
		{"id":"a","op":"echo","params":{"text":"four"}},{"id":"b","op":"echo","params":{"text":"two"}},{"id":"c","op":"nothing"},{"id":"d","op":"echo"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []op.Charge{{Class: op.Lookup, Count: 4 + 3 + 1}, {Class: op.Read, Count: 1}}
	if fmt.Sprint(call.Charges) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", call.Charges, want)
	}
}

func TestEventsCountUp(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var counts []int
	ctx := op.WithEmitter(t.Context(), func(e op.Event) {
		mu.Lock()
		defer mu.Unlock()
		counts = append(counts, e.Done*10+e.Total)
	})
	_, err := newSet(t, 0).Named("batch_lookup").Call(ctx, []byte(`{"operations":[{"id":"a","op":"echo"},{"id":"b","op":"echo"},{"id":"c","op":"echo"}]}`))
	if err != nil || fmt.Sprint(counts) != "[13 23 33]" {
		t.Errorf("got %v, %v; want done 1, 2, 3 of 3", counts, err)
	}
}

func TestCatalogueHoldsSchemasAndAnExampleThatFits(t *testing.T) {
	t.Parallel()
	set := newSet(t, 0)
	answer, err := set.Named("batch_catalogue").Call(t.Context(), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	var out batch.CatalogueOut
	if err := json.Unmarshal(answer.JSON, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Operations) != 1 || out.Operations[0].Op != "echo" || out.MaxOperations != 20 {
		t.Fatalf("got %s", answer.JSON)
	}
	if _, err := set.Named("echo").Call(t.Context(), out.Operations[0].Example); err != nil {
		t.Errorf("the example: %v", err)
	}
}

// BenchmarkTwentyKnown is a batch of 20 operations whose answers, of 2 KB each, are known.
func BenchmarkTwentyKnown(b *testing.B) {
	set := newSet(b, time.Hour)
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"id":"%d","op":"echo","params":{"text":"name%d.com","times":200}}`, i, i))
	}
	raw := []byte(`{"operations":[` + strings.Join(list, ",") + `]}`)
	o := set.Named("batch_lookup")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Call(b.Context(), raw); err != nil {
			b.Fatal(err)
		}
	}
}
