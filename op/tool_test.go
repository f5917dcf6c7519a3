package op_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/op"
)

// A tool may do a dry run where a program acts: the default holds for calls of the tool alone, and shows in its schema alone.
func TestToolDefaults(t *testing.T) {
	t.Parallel()
	careful := brew(func(_ context.Context, in brewIn) (brewOut, error) {
		if in.Milk {
			return brewOut{Cup: "white"}, nil
		}
		return brewOut{Cup: "black"}, nil
	})
	careful.ToolDefaults = op.Object(`{"milk":true,"shots":2}`)
	o := op.NewSet(time.Now, careful).Named("brew")
	for _, test := range []struct{ name, in, tool, want string }{
		{"left out", `{"bean":"a"}`, `{"milk":true,"shots":2,"bean":"a"}`, "white"},
		{"given", `{"bean":"a","milk":false}`, `{"shots":2,"bean":"a","milk":false}`, "black"},
		{"all given", ` {"bean":"a","milk":true,"shots":1}`, `{"bean":"a","milk":true,"shots":1}`, "white"},
		{"nothing given", "\n{ }", `{"milk":true,"shots":2 }`, ""},
		{"given twice stays so", `{"bean":"a","milk":true,"milk":true}`, `{"shots":2,"bean":"a","milk":true,"milk":true}`, ""},
		{"in another case stays so", `{"bean":"a","Milk":false}`, `{"milk":true,"shots":2,"bean":"a","Milk":false}`, ""},
		{"no object", `[1]`, `[1]`, ""},
		{"null", `null`, `null`, ""},
		{"not JSON", `{"bean"`, `{"bean"`, ""},
	} {
		tool := o.ToolInput([]byte(test.in))
		answer, err := o.Call(t.Context(), tool)
		if string(tool) != test.tool || (err == nil) != (test.want != "") || !strings.Contains(string(answer.JSON), test.want) {
			t.Errorf("%s: ToolInput(%s) = %s, which answers %s, %v; want %s and %s", test.name, test.in, tool, answer.JSON, err, test.tool, test.want)
		}
	}
	if answer, err := o.Call(t.Context(), []byte(`{"bean":"a"}`)); err != nil || !strings.Contains(string(answer.JSON), "black") {
		t.Errorf("not as a tool: %s, %v; want black", answer.JSON, err)
	}
	tool, _ := json.Marshal(o.ToolIn().Properties["milk"])
	plain, _ := json.Marshal(o.In.Properties["milk"])
	if string(tool) != `{"type":"boolean","default":true}` || string(plain) != `{"type":"boolean"}` {
		t.Errorf("schemas: %s as a tool, %s elsewhere; want the default in the first only", tool, plain)
	}
	without := op.NewSet(time.Now, brew(careful.Do)).Named("brew")
	if in := []byte(`{"bean":"a"}`); without.ToolIn() != without.In || string(without.ToolInput(in)) != string(in) {
		t.Error("an operation without defaults is changed by being a tool")
	}
	for _, bad := range []string{`{"bean":"a"}`, `{"sugar":1}`, `[]`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("tool defaults %s are taken", bad)
				}
			}()
			careful.ToolDefaults = op.Object(bad)
			op.NewSet(time.Now, careful)
		}()
	}
}
