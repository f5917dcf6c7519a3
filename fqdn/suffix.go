package fqdn

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Suffixes are the suffixes under which names are registered: the ICANN section of the Public Suffix List (publicsuffix.org)
// for delegated top-level domains, and those that the operator adds. It is immutable.
type Suffixes struct {
	delegated map[string]bool
	added     map[string]bool
	ascii     map[string]bool // those without internationalized names
}

// NewSuffixes takes the delegated top-level domains and the suffixes that the operator adds, both in A-label form. An added
// suffix may be longer than the listed one (the longest wins) or not be delegated at all. Suffixes in asciiOnly have no
// internationalized names.
func NewSuffixes(delegated, added []string, asciiOnly ...string) *Suffixes {
	s := &Suffixes{
		delegated: make(map[string]bool, len(delegated)), added: make(map[string]bool, len(added)), ascii: make(map[string]bool, len(asciiOnly)),
	}
	for _, a := range asciiOnly {
		s.ascii[a] = true
	}
	for _, d := range delegated {
		s.delegated[d] = true
	}
	for _, a := range added {
		s.added[a] = true
	}
	return s
}

// Of returns the suffix of the name, which may be the name itself, and whether it is known: an unknown suffix has no registry.
func (s *Suffixes) Of(n Name) (suffix Name, known bool) {
	listed := icannSuffix(n.ascii)
	tldKnown := s.delegated[n.TLD()]
	for rest := n.ascii; ; {
		if s.added[rest] {
			return Name{rest}, true
		}
		if rest == listed && tldKnown {
			return Name{rest}, true
		}
		_, after, more := strings.Cut(rest, ".")
		if !more {
			return Name{rest}, false
		}
		rest = after
	}
}

// Known reports whether names are registered directly under the suffix.
func (s *Suffixes) Known(suffix Name) bool {
	got, known := s.Of(suffix)
	return known && got == suffix
}

// Registrable is [Suffixes.Split] that also refuses a label that the suffix's registry does not accept, see
// [Suffixes.Check].
func (s *Suffixes) Registrable(n Name) (registrable, suffix Name, err error) {
	registrable, suffix, err = s.Split(n)
	if err == nil {
		err = s.Check(registrable, suffix)
	}
	if err != nil {
		return Name{}, Name{}, err
	}
	return registrable, suffix, nil
}

// Check refuses, with an [*Error], a registrable name whose label IDNA 2008 does not allow, or which is internationalized
// under a suffix without such names.
func (s *Suffixes) Check(registrable, suffix Name) error {
	label := registrable.Label()
	if !strings.HasPrefix(label, "xn--") {
		return nil
	}
	if err := registrableLabel(label); err != nil {
		return err
	}
	if s.ascii[suffix.ascii] {
		return &Error{"holds letters other than a to z, which the registry of " + suffix.ascii + " does not take"}
	}
	return nil
}

// Split returns the name that is registered when n is used, one label under its suffix:
// "www.a.co.uk" gives "a.co.uk". It refuses with an [*Error] a bare suffix and a name under an unknown one.
func (s *Suffixes) Split(n Name) (registrable, suffix Name, err error) {
	suffix, known := s.Of(n)
	if !known {
		return Name{}, Name{}, &Error{"has an unknown TLD: it is not delegated"}
	}
	if n == suffix {
		return Name{}, Name{}, &Error{"is a TLD itself; put a label in front of it, such as example." + suffix.ascii}
	}
	left := strings.TrimSuffix(n.ascii, "."+suffix.ascii)
	return Name{n.ascii[strings.LastIndexByte(left, '.')+1:]}, suffix, nil
}

// icannSuffix is the suffix by the ICANN section: names below a private suffix such as github.io are not registered at a
// registry.
func icannSuffix(ascii string) string {
	for {
		suffix, icann := publicsuffix.PublicSuffix(ascii)
		if icann {
			return suffix
		}
		_, rest, more := strings.Cut(suffix, ".")
		if !more {
			return suffix
		}
		ascii = rest
	}
}
