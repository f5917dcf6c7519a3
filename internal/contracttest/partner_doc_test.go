package contracttest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/partner"
)

const partnerDoc = "docs/partner.md"

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// included is a file that a document quotes word for word.
var included = regexp.MustCompile("(?s)<!-- file ([^ ]+) -->\n```[a-z]+\n(.*?)```\n")

// What partners copy from the document is what runs in tests.
func TestPartnerDocHoldsItsExamples(t *testing.T) {
	t.Parallel()
	text := readFile(t, partnerDoc)
	var found []string
	filled := included.ReplaceAllStringFunc(text, func(block string) string {
		m := included.FindStringSubmatch(block)
		found = append(found, m[1])
		file := readFile(t, m[1])
		if file != m[2] && !*update {
			t.Errorf("%s holds another %s than there is; make golden mends it", partnerDoc, m[1])
		}
		return strings.TrimSuffix(block, m[2]+"```\n") + file + "```\n"
	})
	var want []string
	for _, program := range []string{"sign", "verify"} {
		for _, file := range []string{".sh", "/main.go", ".mjs", ".py"} {
			want = append(want, "examples/partner/"+program+file)
		}
	}
	if !slices.Equal(found, want) {
		t.Errorf("%s includes %q, want %q", partnerDoc, found, want)
	}
	if *update && filled != text {
		if err := os.WriteFile(filepath.Join("..", "..", partnerDoc), []byte(filled), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// signInOnly are the codes that have to do with bearer tokens, which no partner sends.
var signInOnly = []fault.Code{fault.AuthenticationRequired, fault.InvalidToken, fault.InsufficientScope}

func TestPartnerDocTellsOfAllFailures(t *testing.T) {
	t.Parallel()
	text := readFile(t, partnerDoc)
	for _, row := range fault.Codes() {
		line := fmt.Sprintf("\n| %d | `%s` | %s | ", row.Status, row.Code, row.When)
		if told := strings.Contains(text, line); told == slices.Contains(signInOnly, row.Code) {
			t.Errorf("%s holds %q: %v, want %v", partnerDoc, line, told, !told)
		}
	}
}

func TestPartnerDocTellsTheLimits(t *testing.T) {
	t.Parallel()
	text := readFile(t, partnerDoc)
	for class, quota := range map[string]int{
		string(partner.ClassSearch): partner.SearchQuota, string(partner.ClassWrite): partner.WriteQuota,
		string(partner.ClassReporting): partner.ReportingQuota,
	} {
		if line := fmt.Sprintf("\n| `%s` | %d | ", class, quota); !strings.Contains(text, line) {
			t.Errorf("%s lacks %q", partnerDoc, line)
		}
	}
}
