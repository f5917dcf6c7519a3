package contracttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/sdkgen"
)

func sdkAPI(t *testing.T) *sdkgen.API {
	t.Helper()
	api, err := sdkgen.Load(openAPI(t), catalogue(t))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// The generated files of the SDKs are those of the operations.
func TestSDKsAreGenerated(t *testing.T) {
	t.Parallel()
	api := sdkAPI(t)
	for folder, files := range map[string]map[string]string{
		"sdk/js/src/generated":     sdkgen.TypeScript(api),
		"sdk/python/src/namewharf": sdkgen.Python(api),
	} {
		for name, want := range files {
			file := filepath.Join("..", "..", filepath.FromSlash(folder), name)
			got, err := os.ReadFile(file)
			switch {
			case err == nil && string(got) == want:
			case !*update:
				t.Errorf("%s/%s is not what the operations say (%v): run make golden", folder, name, err)
			default:
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// Every operation has a method and an example in the SDKs. The methods of partner operations are generated; those of the
// others are written by hand.
func TestSDKsCoverEveryOperation(t *testing.T) {
	t.Parallel()
	source, readme := readFile(t, "sdk/js/src/namewharf.ts"), readFile(t, "sdk/js/README.md")
	for _, o := range sdkAPI(t).Operations {
		switch method := sdkgen.Camel(strings.TrimPrefix(o.ID, "partner_")); {
		case !o.Partner && !strings.Contains(source, "operations."+sdkgen.Camel(o.ID)+","):
			t.Errorf("sdk/js/src/namewharf.ts: no method sends operations.%s: write one, with an example in sdk/js/README.md", sdkgen.Camel(o.ID))
		case o.Partner && !strings.Contains(readme, "await partner."+method+"("):
			t.Errorf("sdk/js/README.md: the examples of the partner API do not call partner.%s(): add a line", method)
		}
	}
}
