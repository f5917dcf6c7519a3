package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// What the program serves as its contract is what docs/ holds, but for its address.
func TestContract(t *testing.T) {
	t.Parallel()
	s := open(t)
	want, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, want); err != nil {
		t.Fatal(err)
	}
	served := strings.ReplaceAll(s.do(t, "GET", "/openapi.json", "").text, s.url, "https://names.example")
	if got := strings.TrimSpace(served); got != compact.String() {
		at := 0
		for at < min(len(got), compact.Len()) && got[at] == compact.Bytes()[at] {
			at++
		}
		t.Errorf("the served document differs from docs/openapi.json at byte %d:\n got …%.200s\nwant …%.200s", at, got[max(0, at-40):], compact.String()[max(0, at-40):])
	}
}
