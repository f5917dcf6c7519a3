// Package tld is what a suffix costs and what it asks of a registrant.
//
// A [Table] holds the facts: who runs a suffix, which servers answer for it and under which rules names are
// registered there. A [Book] holds the prices, and [Prices] the book in force, which an operator's file can replace
// while the program runs. The facts and a default book are built in: see [DefaultTable] and [DefaultBook].
package tld

import (
	"iter"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
)

// ParseSuffix reads a suffix as people write it: Unicode or A-label form, with or without a leading dot.
// The error names the field tld.
func ParseSuffix(s string) (fqdn.Name, error) {
	name, err := fqdn.Parse(strings.TrimPrefix(strings.TrimSpace(s), "."))
	if err != nil {
		return fqdn.Name{}, fault.Invalid("tld", "%v", err)
	}
	return name, nil
}

// An Action is something that is paid for to hold a name.
type Action string

// The actions, in the order of price lists.
const (
	Register Action = "register"
	Renew    Action = "renew"
	Transfer Action = "transfer" // to another registrar
	Restore  Action = "restore"  // from the redemption period, before the name is deleted for good
)

// Actions returns all actions in the order of price lists.
func Actions() []Action { return []Action{Register, Renew, Transfer, Restore} }

// Schema is the enumeration of the actions.
func (Action) Schema() *jsonschema.Schema {
	return enum(Register, Renew, Transfer, Restore)
}

// slot is the place of the action in a row of prices.
func (a Action) slot() (int, bool) {
	switch a {
	case Register:
		return 0, true
	case Renew:
		return 1, true
	case Transfer:
		return 2, true
	case Restore:
		return 3, true
	}
	return 0, false
}

// compareNames is the order of all lists of suffixes.
func compareNames(a, b fqdn.Name) int { return strings.Compare(a.String(), b.String()) }

func sorted(names iter.Seq[fqdn.Name]) []fqdn.Name { return slices.SortedFunc(names, compareNames) }

func enum[S ~string](values ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}
