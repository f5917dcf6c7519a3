package contracttest

import (
	"os"
	"path/filepath"
	"regexp"
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
	const js, python = "sdk/js/src/namewharf.ts", "sdk/python/src/namewharf/"
	core := readFile(t, python+"_core.py") // what the Python clients share
	sources := map[string]string{
		js: readFile(t, js), python + "_client.py": core + readFile(t, python+"_client.py"), python + "_async_client.py": core + readFile(t, python+"_async_client.py"),
	}
	readmes := map[string]string{"sdk/js": readFile(t, "sdk/js/README.md"), "sdk/python": readFile(t, "sdk/python/README.md")}
	for _, o := range sdkAPI(t).Operations {
		names := map[string]string{"sdk/js": sdkgen.Camel(o.ID), "sdk/python": o.ID}
		if !o.Partner {
			for file, source := range sources {
				sdk := file[:strings.Index(file, "/src/")]
				if !regexp.MustCompile(`\boperations\.` + names[sdk] + `\b`).MatchString(source) {
					t.Errorf("%s: no method sends operations.%s: write one, with an example in %s/README.md", file, names[sdk], sdk)
				}
			}
			continue
		}
		method := strings.TrimPrefix(o.ID, "partner_")
		for sdk, call := range map[string]string{"sdk/js": "await partner." + sdkgen.Camel(method) + "(", "sdk/python": "partner." + method + "("} {
			if !strings.Contains(readmes[sdk], call) {
				t.Errorf("%s/README.md: the examples of the partner API do not have %s…): add a line", sdk, call)
			}
		}
	}
}
