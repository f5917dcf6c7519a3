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

// NewReference returns the documents of a set that [New] made and a batch was added to.
func NewReference(set *op.Set, table *tld.Table) *Reference { return &Reference{set, table} }

// Catalogue lists the operations with their schemas, as GET /api/batch does.
func (r *Reference) Catalogue(ctx context.Context) ([]byte, error) {
	answer, err := r.set.Named("batch_catalogue").Call(ctx, []byte(`{}`))
	return answer.JSON, err
}

// EPPStatus explains the status codes of registrations.
func (r *Reference) EPPStatus(context.Context) ([]byte, error) {
	return json.Marshal(struct {
		Terms []Term `json:"terms"`
	}{glossary})
}

// TLD is what tld_metadata answers for the suffix.
func (r *Reference) TLD(ctx context.Context, suffix string) ([]byte, error) {
	in, err := json.Marshal(MetadataIn{SuffixText(suffix)})
	if err != nil {
		return nil, err
	}
	answer, err := r.set.Named("tld_metadata").Call(ctx, in)
	return answer.JSON, err
}

// CompleteTLD returns at most limit suffixes that begin with prefix, those of a usual search first, and how many
// there are altogether.
func (r *Reference) CompleteTLD(prefix string, limit int) (suffixes []string, total int) {
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
