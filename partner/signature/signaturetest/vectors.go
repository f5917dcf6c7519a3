// Package signaturetest provides test vectors for package signature: requests signed by an independent program.
package signaturetest

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
)

//go:embed signed.txt
var signed string

// A Vector is a signed request that an independent signer made.
type Vector struct {
	Name                              string
	Method, Path, Query, Body         string
	Secret, Timestamp, Nonce          string
	CanonicalQuery, Digest, Signature string
}

// Vectors are all vectors of signed.txt.
func Vectors(t testing.TB) (all []Vector) {
	t.Helper()
	for _, part := range strings.Split(signed, "\n-- ")[1:] {
		var v Vector
		for i, line := range strings.Split(strings.TrimSpace(part), "\n") {
			var target string
			switch i {
			case 0:
				v.Name = strings.TrimSuffix(line, " --")
				continue
			case 1:
				v.Method, target, _ = strings.Cut(line, " ")
				v.Path, v.Query, _ = strings.Cut(target, "?")
				continue
			}
			for _, field := range []struct {
				name string
				to   *string
			}{
				{"secret ", &v.Secret},
				{"at ", &v.Timestamp},
				{"nonce ", &v.Nonce},
				{"canonical query ", &v.CanonicalQuery},
				{"canonical query", &v.CanonicalQuery}, // of none
				{"body digest ", &v.Digest},
				{"signature ", &v.Signature},
				{"body ", &v.Body},
			} {
				if value, ok := strings.CutPrefix(line, field.name); ok {
					*field.to = value
					break
				}
			}
		}
		if err := json.Unmarshal([]byte(v.Body), &v.Body); err != nil {
			t.Fatalf("%s: body: %v", v.Name, err)
		}
		all = append(all, v)
	}
	if len(all) < 14 {
		t.Fatalf("%d vectors, want all", len(all))
	}
	return all
}
