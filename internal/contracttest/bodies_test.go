package contracttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/op"
)

// bodyLimits are the longest bodies of some operations, in KiB; the others need no row.
var bodyLimits = map[string]int64{
	"search_domain": 4, "check_domains": 64, "suggest_domains": 4, "whois_lookup": 4, "add_domain": 4, "bulk_domains": 256, "batch_lookup": 256,
	"partner_create_quote": 4, "partner_create_order": 16, "partner_create_refund": 4, "partner_put_webhook": 4,
}

// An operation takes a body as long as its schema says that an input can be, and no longer.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	for _, o := range append(publicSet().All(), partnerAPI(t).Set().All()...) {
		if want := bodyLimits[o.Name]; want > 0 && o.MaxBody != want<<10 {
			t.Errorf("%s: got %d bytes, want %d KiB", o.Name, o.MaxBody, want)
		}
		if o.MaxBody < 4<<10 || o.MaxBody > op.MaxBody {
			t.Errorf("%s: got %d bytes", o.Name, o.MaxBody)
		}
	}
}

// What a client sends that spares nothing fits: names as long as they can be, every letter escaped, every value indented.
func TestLargestInputsFit(t *testing.T) {
	t.Parallel()
	set := publicSet()
	names := func(n int, name string) string { return `["` + strings.Repeat(name+`", "`, n-1) + name + `"]` }
	longest := strings.Repeat(strings.Repeat("a", 61)+".", 4) + "museum"
	escaped := strings.Repeat(`\u044f`, 20) + ".com"
	for name, input := range map[string]string{
		"search_domain": fmt.Sprintf(`{"q": "%s", "tlds": %s}`, strings.Repeat(`\u044f`, 253), names(30, "international")),
		"suggest_domains": fmt.Sprintf(`{"q": "%s", "tlds": %s, "styles": ["short", "compound", "prefix", "suffix", "blend", "synonym", "hack"], "limit": 50, "max_length": 30}`,
			strings.Repeat(`\u044f`, 200), names(10, "international")),
		"check_domains": `{"domains": ` + names(200, longest) + `}`,
		"bulk_domains":  `{"domains": ` + names(1000, longest[6:]) + `, "params": {"priceCents": 123456789, "currency": "USD"}}`,
		"bulk_domains ": `{"domains": ` + names(1000, escaped) + `}`,
		"batch_lookup":  `{"operations": [` + strings.Repeat(`{"id": "`+strings.Repeat("i", 64)+`", "op": "check_domains", "params": {"domains": `+names(40, longest)+`}},`, 19) + `{}]}`,
	} {
		if !json.Valid([]byte(input)) {
			t.Fatalf("%s: the test's input is not JSON", name)
		}
		if limit := set.Named(strings.TrimSpace(name)).MaxBody; int64(len(input)) > limit {
			t.Errorf("%s: an input of %d bytes is over the limit of %d", name, len(input), limit)
		}
	}
}
