package partner

import (
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// document fetches the OpenAPI document of a stand and checks that it is one.
func document(t *testing.T, s *stand) *openapi3.T {
	t.Helper()
	response, err := http.Get(s.http.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("OPENAPI_OUT"); path != "" {
		os.WriteFile(path, raw, 0o644)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	document(t, lite(t))
}
