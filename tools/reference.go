package tools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// A Reference is the documents that an assistant may read beside calling operations.
type Reference struct {
	set   *op.Set
	table *tld.Table
}

// NewReference returns the documents of a set that [New] made.
func NewReference(set *op.Set, table *tld.Table) *Reference { return &Reference{set, table} }

// Resources lists the documents.
func (r *Reference) Resources() []op.Resource {
	return []op.Resource{
		{
			URI: "domains://catalogue", Name: "catalogue", Title: "Catalogue of operations", Read: r.catalogue,
			Doc: "Every operation that a batch may hold, with the JSON Schemas of its parameters and its result.",
		},
		{
			URI: "domains://glossary/epp-status", Name: "epp-status", Title: "Registration status codes", Read: statusCodes,
			Doc: "What the EPP status codes in a WHOIS answer mean, such as clientTransferProhibited.",
		},
		{
			URI: "domains://tlds/{" + argumentTLD + "}", Name: "tld", Title: "Rules of a TLD", Read: r.metadata,
			Doc: "What a TLD asks of a registrant: terms, eligibility, name servers, life cycle.",
		},
	}
}

// catalogue lists the operations with their schemas, as GET /api/batch does.
func (r *Reference) catalogue(ctx context.Context, _ string) ([]byte, error) {
	answer, err := r.set.Named("batch_catalogue").Call(ctx, []byte(`{}`))
	return answer.JSON, err
}

// statusCodes explains the status codes of registrations.
func statusCodes(context.Context, string) ([]byte, error) {
	return json.Marshal(struct {
		Terms []Term `json:"terms"`
	}{glossary})
}

// metadata is what tld_metadata answers for the TLD.
func (r *Reference) metadata(ctx context.Context, suffix string) ([]byte, error) {
	in, err := json.Marshal(MetadataIn{SuffixText(suffix)})
	if err != nil {
		return nil, err
	}
	answer, err := r.set.Named("tld_metadata").Call(ctx, in)
	return answer.JSON, err
}

// Complete returns at most limit TLDs that begin with prefix, those of a usual search first, and how many there are
// altogether. It returns nothing for arguments that are no TLDs.
func (r *Reference) Complete(argument, prefix string, limit int) (suffixes []string, total int) {
	if argument != argumentTLD && argument != argumentTLDs {
		return nil, 0
	}
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "."))
	seen := map[string]bool{}
	add := func(suffix string) {
		if seen[suffix] || !strings.HasPrefix(suffix, prefix) {
			return
		}
		seen[suffix] = true
		if total++; len(suffixes) < limit {
			suffixes = append(suffixes, suffix)
		}
	}
	for _, suffix := range DefaultSuffixes {
		add(suffix)
	}
	for _, suffix := range r.table.All() {
		add(suffix.Unicode())
	}
	return suffixes, total
}
