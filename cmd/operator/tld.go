package main

import (
	"fmt"

	"golang.org/x/net/publicsuffix"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/spelling"
	"github.com/namewharf/namewharf/tld"
)

// reserved are reserved TLDs (RFC 2606), for listings in tests.
var reserved = []string{"example", "test"}

// A suffixList knows under which TLDs names may be listed and priced.
type suffixList struct {
	known *fqdn.Suffixes
	roots []string // top-level domains
	book  *tld.Book
}

func newSuffixList() suffixList {
	roots := append([]string{"com", "net", "org"}, tld.DefaultTable().Delegated()...) // which are meant most often
	return suffixList{fqdn.NewSuffixes(roots, reserved, tld.DefaultTable().ASCIIOnly()...), append(roots, reserved...), tld.DefaultBook()}
}

// listable says why a name cannot be listed because of its TLD, in words that complete "the domain …".
func (s suffixList) listable(name fqdn.Name) error {
	if _, known := s.known.Of(name); !known {
		return s.unknown(name)
	}
	registrable, _, err := s.known.Registrable(name)
	if err != nil {
		return err
	}
	if registrable != name {
		return fmt.Errorf("is below the name that is registered, %s", registrable)
	}
	return nil
}

// priced fails if there can be no price of a TLD, with a text that completes "the TLD …". Names of registries and of
// private registries such as uk.com may have a price.
func (s suffixList) priced(suffix fqdn.Name) error {
	if _, known := s.known.Of(suffix); !known {
		return s.unknown(suffix)
	}
	if shared, _ := publicsuffix.PublicSuffix(suffix.String()); s.known.Known(suffix) || shared == suffix.String() || len(s.book.Prices(suffix)) > 0 {
		return nil
	}
	return fmt.Errorf("%s is a name under a TLD, not one", suffix)
}

func (s suffixList) unknown(name fqdn.Name) error {
	return fmt.Errorf("has the unknown TLD .%s, which is not a delegated top-level domain%s", name.TLD(), spelling.DidYouMean(name.TLD(), s.roots))
}
