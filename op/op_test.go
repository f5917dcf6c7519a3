package op_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

type size string

func (size) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"small", "large"}}
}

type word string

func (word) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(5)}
}

type inner struct {
	Tags []string `json:"tags"`
}

type brewIn struct {
	Bean   word      `json:"bean" jsonschema:"a bean, e.g. mocha"`
	Size   size      `json:"size,omitzero"`
	Shots  int8      `json:"shots,omitzero"`
	Milk   bool      `json:"milk,omitzero"`
	Extras []string  `json:"extras,omitzero"`
	Params op.Object `json:"params,omitzero"`
}

type brewOut struct {
	Cup     string    `json:"cup"`
	At      time.Time `json:"at"`
	Steps   []string  `json:"steps"`
	Options []string  `json:"options,omitzero"`
	Inner   inner     `json:"inner"`
	Extra   inner     `json:"extra,omitzero"`
	List    []inner   `json:"list"`
}

func brew(do func(context.Context, brewIn) (brewOut, error)) op.Operation[brewIn, brewOut] {
	return op.Operation[brewIn, brewOut]{
		Name: "brew", Title: "Brew", Doc: "Brews a cup.", Route: op.Route{Method: "POST", Path: "/brew"},
		Batch: true, Tool: true, Limit: op.Read, Example: brewIn{Bean: "mocha"}, Do: do,
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	set := op.NewSet(time.Now, brew(func(_ context.Context, in brewIn) (brewOut, error) {
		return brewOut{Cup: string(in.Bean)}, nil
	}))
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, test := range []struct{ name, in, want string }{
		{"all is well", `{"bean":"mocha","size":"large","shots":2,"milk":true,"extras":["a"],"params":{"x":[1,{"y":null}]}}`, ""},
		{"white space around", " \n{\"bean\":\"a\"}\n ", ""},
		{"a field is missing", `{}`, "bean is required: a bean, e.g. mocha"},
		{"nothing at all", ` `, "the input is empty; send a JSON object"},
		{"not an object", `[1]`, "the input must be a JSON object, not an array"},
		{"null for the whole", `null`, "the input must be a JSON object, not null"},
		{"an unknown field", `{"bean":"a","roast":1}`, "roast is not a known field; known are bean, size, shots, milk, extras, params"},
		{"another case", `{"Bean":"a"}`, "Bean is not a known field; did you mean bean?"},
		{"a key given twice", `{"bean":"a","bean":"b"}`, "bean is given twice"},
		{"a key given twice inside a free object", `{"bean":"a","params":{"x":1,"x":2}}`, "params.x is given twice"},
		{"the wrong type", `{"bean":1}`, "bean must be a string, not a number"},
		{"an object for a string", `{"bean":{"a":1}}`, "bean must be a string, not an object"},
		{"a string for a list", `{"bean":"a","extras":"x"}`, "extras must be an array, not a string"},
		{"a list of other things", `{"bean":"a","extras":["x",2]}`, "extras[1] must be a string, not a number"},
		{"null for a field", `{"bean":"a","milk":null}`, "milk must not be null; leave it out instead"},
		{"an exponent", `{"bean":"a","shots":1e1}`, "shots must be an integer in plain digits"},
		{"a fraction", `{"bean":"a","shots":1.0}`, "shots must be an integer in plain digits"},
		{"digits as a string", `{"bean":"a","shots":"1"}`, "shots must be an integer, not a string"},
		{"out of range", `{"bean":"a","shots":400}`, "shots must be between -128 and 127"},
		{"far out of range", `{"bean":"a","shots":99999999999999999999}`, "shots is out of range"},
		{"not in the enumeration", `{"bean":"a","size":"huge"}`, "size must be one of small, large"},
		{"empty", `{"bean":""}`, "bean must not be empty: a bean, e.g. mocha"},
		{"too long, counted in characters", `{"bean":"ééééé"}`, ""},
		{"too long", `{"bean":"abcdef"}`, "bean must have at most 5 characters"},
		{"a NUL", `{"bean":"a\u0000"}`, "bean holds a NUL character"},
		{"too deep", `{"bean":"a","params":{"x":` + deep + `}}`, "the JSON is nested deeper than 32 levels"},
		{"cut off", `{"bean":"a"`, "the JSON ends too early, at byte 11"},
		{"broken", `{"bean":a}`, "the input is not valid JSON near byte 8"},
		{"more behind it", `{"bean":"a"} {}`, "the input has more after its JSON value; send one JSON object"},
		{"not UTF-8", "{\"bean\":\"\xff\"}", "the input is not valid UTF-8; send JSON encoded as UTF-8"},
		{"control characters in a key are not repeated", `{"bean":"a","\u202ex\u0007":1}`, "x is not a known field; known are bean, size, shots, milk, extras, params"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := set.Named("brew").Call(t.Context(), []byte(test.in))
			got := ""
			if err != nil {
				if !fault.Is(err, fault.Validation) {
					t.Fatalf("Call(%s): %v, want a validation error", test.in, err)
				}
				got = fault.From(err).Message()
			}
			if got != test.want {
				t.Errorf("Call(%s):\n got %q\nwant %q", test.in, got, test.want)
			}
		})
	}
}

func TestSeveralFieldsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	set := op.NewSet(time.Now, brew(func(context.Context, brewIn) (brewOut, error) { return brewOut{}, nil }))
	_, err := set.Named("brew").Call(t.Context(), []byte(`{"size":"huge","shots":true}`))
	want := []fault.Field{
		{Field: "size", Reason: "must be one of small, large"},
		{Field: "shots", Reason: "must be an integer, not a boolean"},
		{Field: "bean", Reason: "is required: a bean, e.g. mocha"},
	}
	if got := fmt.Sprint(fault.From(err).Fields); got != fmt.Sprint(want) {
		t.Errorf("fields at fault\n got %v\nwant %v", got, want)
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	set := op.NewSet(time.Now, brew(func(context.Context, brewIn) (brewOut, error) { return brewOut{}, nil }))
	for _, test := range []struct{ query, want, refused string }{
		{query: "bean=a&shots=3&milk=true&extras=x,y&extras=z", want: `{"bean":"a","extras":["x","y","z"],"milk":true,"shots":3}`},
		{query: "bean=a&shots=03", want: `{"bean":"a","shots":"03"}`},
		{query: "bean=a&milk=yes", want: `{"bean":"a","milk":"yes"}`},
		{query: "bean=a&bean=b", refused: "bean is given twice"},
		{query: "Bean=a", refused: "Bean is not a known parameter; did you mean bean?"},
		{query: "size=small", refused: "size is given twice: in the path and in the query"},
	} {
		query, _ := url.ParseQuery(test.query)
		path := map[string]string{}
		if strings.HasPrefix(test.query, "size=") {
			path["size"] = "large"
		}
		got, err := set.Named("brew").Bind(query, path)
		if refused := fault.From(err); refused != nil && refused.Message() != test.refused || string(got) != test.want {
			t.Errorf("Bind(%s): got %s, %v; want %s, %s", test.query, got, err, test.want, test.refused)
		}
	}
}

// The answer of a zero value holds no null: lists that are always there are empty, optional parts stay away.
func TestZeroAnswer(t *testing.T) {
	t.Parallel()
	set := op.NewSet(time.Now, brew(func(context.Context, brewIn) (brewOut, error) { return brewOut{List: []inner{{}}}, nil }))
	answer, err := set.Named("brew").Call(t.Context(), []byte(`{"bean":"a"}`))
	want := `{"cup":"","at":"0001-01-01T00:00:00Z","steps":[],"inner":{"tags":[]},"list":[{"tags":[]}]}`
	if err != nil || string(answer.JSON) != want {
		t.Errorf("got  %s, %v\nwant %s", answer.JSON, err, want)
	}
	resolved, err := set.Named("brew").Out.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var instance any
	if err := json.Unmarshal(answer.JSON, &instance); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(instance); err != nil {
		t.Errorf("the answer does not fit its schema: %v", err)
	}
}

func TestReuse(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	calls, stamp := 0, uint64(0)
	definition := brew(func(context.Context, brewIn) (brewOut, error) {
		calls++
		return brewOut{Cup: fmt.Sprint(calls)}, nil
	})
	definition.Cache = &op.Cache[brewIn, brewOut]{
		For: func(brewIn, brewOut) time.Duration { return time.Minute },
		View: func(ctx context.Context) string {
			if op.CallerFrom(ctx).Has("pricing:read") {
				return "priced"
			}
			return ""
		},
		Stamp: func() uint64 { return stamp },
	}
	o := op.NewSet(func() time.Time { return now }, definition).Named("brew")
	ask := func(ctx context.Context) (string, bool) {
		t.Helper()
		a, err := o.Call(ctx, []byte(`{"bean":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		var out brewOut
		if err := json.Unmarshal(a.JSON, &out); err != nil {
			t.Fatal(err)
		}
		return out.Cup, a.Public
	}
	priced := op.WithCaller(t.Context(), op.Caller{Account: "acc", Scopes: []string{"pricing:read"}})
	for i, test := range []struct {
		why    string
		before func()
		ctx    context.Context
		want   string
		public bool
	}{
		{"the first call runs", func() {}, t.Context(), "1", true},
		{"an equal one does not", func() {}, t.Context(), "1", true},
		{"another view has its own answer", func() {}, priced, "2", false},
		{"and keeps it", func() {}, priced, "2", false},
		{"changed data", func() { stamp++ }, t.Context(), "3", true},
		{"a passed deadline", func() { now = now.Add(time.Minute) }, t.Context(), "4", true},
	} {
		test.before()
		if got, public := ask(test.ctx); got != test.want || public != test.public {
			t.Errorf("%d: %s: got cup %s public %v, want %s %v", i, test.why, got, public, test.want, test.public)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	definition := brew(func(context.Context, brewIn) (brewOut, error) { return brewOut{}, nil })
	definition.Scope = "domains:write"
	o := op.NewSet(time.Now, definition).Named("brew")
	for _, test := range []struct {
		caller op.Caller
		want   fault.Code
	}{
		{op.Caller{}, fault.AuthenticationRequired},
		{op.Caller{Account: "a", Scopes: []string{"pricing:read"}}, fault.InsufficientScope},
		{op.Caller{Account: "a", Scopes: []string{"domains:write"}}, ""},
	} {
		_, err := o.Call(op.WithCaller(t.Context(), test.caller), []byte(`{"bean":"a"}`))
		var f *fault.Error
		if errors.As(err, &f); f == nil && test.want != "" || f != nil && (f.Code != test.want || f.Scope != "domains:write") {
			t.Errorf("caller %+v: got %v, want %q", test.caller, err, test.want)
		}
	}
}

// What our check accepts, the standard validator accepts too, and it decodes; ours may be stricter, never laxer.
func FuzzCheck(f *testing.F) {
	o := op.NewSet(time.Now, brew(func(_ context.Context, in brewIn) (brewOut, error) { return brewOut{}, nil })).Named("brew")
	resolved, err := o.In.Resolve(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"bean":"mocha"}`, `{"bean":"a","params":{"a":[{}]},"extras":[]}`, `{"bean":1,"shots":1e3}`, `[`, `{"bean":"a","bean":"b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := o.Call(context.Background(), raw); err != nil {
			if !fault.Is(err, fault.Validation) {
				t.Fatalf("Call(%q): %v, want nil or a validation error", raw, err)
			}
			return
		}
		var instance any
		if err := json.Unmarshal(raw, &instance); err != nil {
			t.Fatalf("accepted %q, which is not JSON: %v", raw, err)
		}
		if err := resolved.Validate(instance); err != nil {
			t.Fatalf("accepted %q, which does not fit the schema: %v", raw, err)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	definition := brew(func(_ context.Context, in brewIn) (brewOut, error) { return brewOut{Cup: string(in.Bean)}, nil })
	raw := []byte(`{"bean":"mocha","size":"large","shots":2,"milk":true}`)
	b.Run("checked, run and encoded", func(b *testing.B) {
		o := op.NewSet(time.Now, definition).Named("brew")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.Call(b.Context(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("given again", func(b *testing.B) {
		definition.Cache = &op.Cache[brewIn, brewOut]{For: func(brewIn, brewOut) time.Duration { return time.Hour }}
		o := op.NewSet(time.Now, definition).Named("brew")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.Call(b.Context(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
