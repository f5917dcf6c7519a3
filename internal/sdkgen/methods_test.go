package sdkgen_test

import (
	"regexp"
	"testing"

	"github.com/namewharf/namewharf/internal/sdkgen"
)

// Every public operation has a method, which somebody has to write; those of partners are generated.
func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	source := string(read(t, "sdk/js/src/namewharf.ts"))
	operations := 0
	for _, o := range load(t).Operations {
		if o.Partner {
			continue
		}
		operations++
		if used := regexp.MustCompile(`\boperations\.` + sdkgen.Camel(o.ID) + `\b`); !used.MatchString(source) {
			t.Errorf("sdk/js/src/namewharf.ts: no method of Namewharf sends operations.%s: write one, with an example in sdk/js/README.md", sdkgen.Camel(o.ID))
		}
	}
	if operations < 5 {
		t.Errorf("%d public operations in the document", operations)
	}
}
