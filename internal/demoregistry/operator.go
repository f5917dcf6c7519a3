package demoregistry

import (
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
)

// An operator runs the hosts of its suffixes.
type operator struct {
	name     string
	suffixes []string
	rdap     bool           // has an RDAP host
	style    *registryStyle // how its WHOIS host writes; nil: it has none
	thin     bool           // knows no registrant; its replies lead to the registrar's hosts
	wildcard bool           // DNS answers for every name below its suffixes
	faults   bool           // names below its suffixes may be those of faults
	rests    bool           // of faults that make a client stay away for a while
}

// registrarName is the operator that plays every registrar: it serves the registered names of thin suffixes.
const registrarName = "northgate"

var operators = []operator{
	{name: "meridian", suffixes: []string{"com", "net"}, rdap: true, style: &meridianStyle, thin: true},
	{name: registrarName, rdap: true, style: &registrarStyle},
	{name: "commons", suffixes: []string{"org", "info", "io", "ai"}, rdap: true, style: &commonsStyle},
	{name: "adriatic", suffixes: []string{"me"}, style: &commonsStyle},
	{name: "workshop", suffixes: []string{"app", "dev"}, rdap: true},
	{name: "bazaar", suffixes: []string{"xyz", "shop"}, rdap: true, style: &bazaarStyle},
	{name: "andes", suffixes: []string{"co", "us"}, rdap: true, style: &andesStyle},
	{name: "albion", suffixes: []string{"uk", "co.uk"}, rdap: true, style: &albionStyle},
	{name: "rhein", suffixes: []string{"de"}, style: &rheinStyle},
	{name: "union", suffixes: []string{"eu"}, style: &unionStyle},
	{name: "hinode", suffixes: []string{"jp"}, style: &hinodeStyle},
	{name: "hexagon", suffixes: []string{"fr"}, rdap: true},
	{name: "alpine", suffixes: []string{"ch"}, rdap: true},
	{name: "lagoon", suffixes: []string{"ws"}, rdap: true, wildcard: true},
	{name: "bench", suffixes: []string{"test"}, rdap: true},
	{name: "folio", suffixes: []string{"example"}, style: &commonsStyle},
	{name: "broken", suffixes: []string{"broken.test"}, rdap: true, faults: true},
	{name: "throttled", suffixes: []string{"throttled.test"}, rdap: true, faults: true, rests: true},
	{name: "broken-whois", suffixes: []string{"broken.example"}, style: &commonsStyle, faults: true},
	{name: "throttled-whois", suffixes: []string{"throttled.example"}, style: &commonsStyle, faults: true, rests: true},
}

// operatorOf is the operator of each suffix.
var operatorOf = func() map[string]*operator {
	m := map[string]*operator{}
	for i := range operators {
		for _, s := range operators[i].suffixes {
			m[s] = &operators[i]
		}
	}
	return m
}()

// Suffixes returns the suffixes under which the registry has names, in alphabetical order.
func Suffixes() []string {
	all := make([]string, 0, len(operatorOf))
	for s := range operatorOf {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// suffixOf returns the longest suffix of the name that the registry serves; "" when there is none. A suffix is a
// suffix of itself.
func suffixOf(name string) string {
	for rest := name; rest != ""; {
		if operatorOf[rest] != nil {
			return rest
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	return ""
}

// canonical is the A-label form of a name in lower case without the root dot. What is no domain name, such as one
// with an underscore, is only lower-cased.
func canonical(name string) string {
	if n, err := fqdn.Parse(name); err == nil {
		return n.String()
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))
}
