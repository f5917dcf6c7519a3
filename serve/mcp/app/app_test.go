package app

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// The page is small, loads nothing, and its policy allows its own style and script alone.
func TestPage(t *testing.T) {
	t.Parallel()
	html := Names().HTML
	if len(html) > 60_000 {
		t.Errorf("the page has %d bytes, want at most 60 000", len(html))
	}
	for _, part := range []struct {
		tag  string
		body []byte
	}{{"style", style}, {"script", script}} {
		found := regexp.MustCompile(`(?s)<`+part.tag+`>(.*?)</`+part.tag+`>`).FindAllStringSubmatch(html, -1)
		if len(found) != 1 || found[0][1] != string(part.body) {
			t.Fatalf("%d elements %s, want one with the file", len(found), part.tag)
		}
		sum := sha256.Sum256([]byte(found[0][1]))
		if !strings.Contains(html, part.tag+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy lacks the hash of the %s", part.tag)
		}
	}
	for _, banned := range []string{"{{", "http:", "https:", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "unsafe", "localStorage", "url("} {
		if strings.Contains(html, banned) {
			t.Errorf("the page has %q", banned)
		}
	}
	if regexp.MustCompile(`(?i)\son[a-z]+\s*=\s*["']`).MatchString(html) {
		t.Error("the page has a handler in an attribute")
	}
	if !strings.Contains(html, `content="default-src 'none';`) {
		t.Error("the policy does not begin with none")
	}
}
