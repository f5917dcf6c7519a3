package tokens_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/namewharf/namewharf/internal/tokens"
)

// counts are the tokens of the files in testdata in the encoding o200k_base, counted by the npm package gpt-tokenizer 4.0.0.
var counts = map[string]int{
	"check_domains.json": 395, "check_domains.txt": 127,
	"market_listings.json": 207, "market_listings.txt": 112,
	"search_domain.json": 801, "search_domain.txt": 210,
	"search_phrase.json": 1312, "search_phrase.txt": 358,
	"tld_metadata.json": 296, "tld_metadata.txt": 116,
	"tool_bulk_domains.in": 227, "tool_bulk_domains_output.json": 165,
	"tool_market_listings.in": 292, "tool_market_listings_output.json": 201,
	"tool_whois_lookup.in": 114, "tool_whois_lookup_output.json": 343,
	"whois_lookup.json": 277, "whois_lookup.txt": 118,
}

// Budgets that are kept by the estimate are kept by the true counts too, but for an eighth.
func TestEstimate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) != len(counts) {
		t.Fatalf("%d files in testdata, %v; want the %d that were counted", len(files), err, len(counts))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, want := tokens.Estimate(string(text)), counts[filepath.Base(file)]
		if got*8 < want*7 || got*4 > want*5 {
			t.Errorf("%s: estimated %d tokens, counted %d; want at least 7/8 and at most 5/4 of that", file, got, want)
		}
	}
}

func FuzzEstimate(f *testing.F) {
	f.Add("acme.com: \"free\" 123\n\té\xff aB")
	f.Fuzz(func(t *testing.T, text string) {
		if n := tokens.Estimate(text); n < 0 || n > len(text) {
			t.Errorf("%q: estimated %d tokens of %d bytes", text, n, len(text))
		}
	})
}
