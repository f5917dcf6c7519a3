package tld

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/op"
)

func TestTableHoldsEveryDelegatedSuffix(t *testing.T) {
	t.Parallel()
	table := DefaultTable()
	types, rdap, whois := map[Type]int{}, map[RDAPSource]int{}, 0
	for _, top := range table.Delegated() {
		m, err := table.Metadata(fqdn.MustParse(top))
		if err != nil {
			t.Fatalf("Metadata(%s): %v", top, err)
		}
		if m.Registry.Name == "" {
			t.Errorf("%s has no registry", top)
		}
		types[m.Type]++
		rdap[table.RDAPSource(top)]++
		if table.WHOIS(top) != "" {
			whois++
		}
		if (len(table.RDAP(top)) == 0) != (table.RDAPSource(top) == "") {
			t.Errorf("%s: RDAP %v from %q", top, table.RDAP(top), table.RDAPSource(top))
		}
		for _, base := range table.RDAP(top) {
			if !strings.HasSuffix(base, "/") {
				t.Errorf("%s: RDAP base %s has no slash at its end", top, base)
			}
		}
	}
	wantTypes := map[Type]int{Generic: 747, CountryCode: 309, Brand: 367, Sponsored: 14, Infrastructure: 1}
	if !reflect.DeepEqual(types, wantTypes) {
		t.Errorf("types: got %v, want %v", types, wantTypes)
	}
	wantRDAP := map[RDAPSource]int{FromIANA: 1200, Supplement: 19, "": 219}
	if !reflect.DeepEqual(rdap, wantRDAP) {
		t.Errorf("RDAP sources: got %v, want %v", rdap, wantRDAP)
	}
	if whois != 872 {
		t.Errorf("WHOIS servers: got %d, want 872", whois)
	}
}

func TestTableHoldsRules(t *testing.T) {
	t.Parallel()
	table := DefaultTable()
	full, longer := 0, 0
	for _, suffix := range table.All() {
		m, err := table.Metadata(suffix)
		if err != nil {
			t.Fatalf("Metadata(%s): %v", suffix, err)
		}
		rules := 0
		for _, f := range facts {
			if f.block == "rules" && f.place(&m).known() {
				rules++
			}
		}
		if rules > 0 {
			full++
			if !slices.ContainsFunc(m.Sources, func(s string) bool { return !strings.Contains(s, "iana.org/") }) {
				t.Errorf("%s has rules without a source: %v", suffix, m.Sources)
			}
		}
		if suffix.Dots() > 0 {
			longer++
		}
	}
	if full != 97 || longer != 10+20 {
		t.Errorf("got %d suffixes with rules and %d below a top-level domain, want 97 and 30", full, longer)
	}
	if all := table.All(); !slices.IsSortedFunc(all, compareNames) || len(slices.Compact(all)) != 1438+30 {
		t.Errorf("All is out of order or repeats: %d names", len(all))
	}
}

// Every fact is either in the answer or named in unknown, for every suffix.
func TestUnknownNamesWhatIsAbsent(t *testing.T) {
	t.Parallel()
	table := DefaultTable()
	for _, suffix := range table.All() {
		m, err := table.Metadata(suffix)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := json.Unmarshal(wire, &tree); err != nil {
			t.Fatal(err)
		}
		for _, f := range facts {
			group, leaf, nested := strings.Cut(f.path, ".")
			value, present := tree[group]
			if nested {
				value, present = value.(map[string]any)[leaf]
			}
			if present == slices.Contains(m.Unknown, f.path) {
				t.Errorf("%s: %s is %v, and unknown is %v", suffix, f.path, value, m.Unknown)
			}
		}
		var back Metadata
		if err := json.Unmarshal(wire, &back); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%s read back (%v):\n got %+v\nwant %+v", suffix, err, back, m)
		}
	}
}

func TestMetadataOnTheWire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ suffix, want string }{
		"false and 0 are facts, not gaps": {"co.uk", `{"tld":"co.uk","unicode":"co.uk","type":"country-code",` +
			`"registry":{"name":"Nominet UK","url":"http://www.nic.uk/"},"term":{"min_years":1,"max_years":10},` +
			`"organization":{"required":false,"eligibility":"Open to anyone; transfer by registrar tag change, no auth code","local_presence":false},` +
			`"nameservers":{"min":0,"max":10,"required":false,"must_resolve":false},"transfer":{"auth_code":false,"adds_years":0},` +
			`"lifecycle":{"renew_grace_days":89,"redemption_days":0,"pending_delete_days":0},"label":{"min":1,"max":63,"idn":false},` +
			`"dnssec":true,"rdap":{"url":"https://rdap.nominet.uk/uk/","source":"iana"},"whois":{},` +
			`"unknown":["organization.allowed_countries","lifecycle.add_grace_days","whois.server"],` +
			`"sources":["https://www.iana.org/domains/root/db","https://data.iana.org/rdap/dns.json",` +
			`"https://wiki.hexonet.net/index.php?oldid=7719\u0026title=CO.UK","https://github.com/awsdocs/amazon-route53-docs/blob/2c31968/doc_source/co.uk.md"],` +
			`"as_of":"2026-08-01"}`},
		"a suffix below a domain with rules has its registry, not its rules": {"me.uk", `{"tld":"me.uk","unicode":"me.uk","type":"country-code",` +
			`"registry":{"name":"Nominet UK","url":"http://www.nic.uk/"},"term":{},"organization":{},"nameservers":{},"transfer":{},"lifecycle":{},"label":{},` +
			`"rdap":{"url":"https://rdap.nominet.uk/uk/","source":"iana"},"whois":{},"unknown":[` + unknownRules + `,"whois.server"],` +
			`"sources":["https://www.iana.org/domains/root/db","https://data.iana.org/rdap/dns.json"],"as_of":"2026-08-01"}`},
		"a suffix that another sells has not the facts of its domain": {"uk.com", `{"tld":"uk.com","unicode":"uk.com","type":"generic",` +
			`"registry":{},"term":{},"organization":{},"nameservers":{},"transfer":{},"lifecycle":{},"label":{},"rdap":{},"whois":{},` +
			`"unknown":["registry.name","registry.url",` + unknownRules + `,"rdap.url","rdap.source","whois.server"],` +
			`"sources":["https://www.iana.org/domains/root/db","https://publicsuffix.org/list/"],"as_of":"2026-08-01"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := DefaultTable().Metadata(fqdn.MustParse(c.suffix))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(m)
			if err != nil || string(got) != c.want {
				t.Errorf("Metadata(%s), %v:\n got %s\nwant %s", c.suffix, err, got, c.want)
			}
		})
	}
}

const unknownRules = `"term.min_years","term.max_years","organization.required","organization.eligibility",` +
	`"organization.allowed_countries","organization.local_presence","nameservers.min","nameservers.max","nameservers.required",` +
	`"nameservers.must_resolve","transfer.auth_code","transfer.adds_years","lifecycle.add_grace_days","lifecycle.renew_grace_days",` +
	`"lifecycle.redemption_days","lifecycle.pending_delete_days","label.min","label.max","label.idn","dnssec"`

func TestMetadataFacts(t *testing.T) {
	t.Parallel()
	for suffix, holds := range map[string]func(Metadata) bool{
		"com": func(m Metadata) bool {
			return m.Lifecycle.RedemptionDays == op.CountOf(30) && m.Organization.Required == op.No
		},
		"de":     func(m Metadata) bool { return m.Nameservers.Required == op.Yes && m.RDAP.Source == Supplement },
		"us":     func(m Metadata) bool { return slices.Equal(m.Organization.AllowedCountries, []string{"US"}) },
		"biz":    func(m Metadata) bool { return m.Type == Generic }, // generic-restricted at IANA
		"google": func(m Metadata) bool { return m.Type == Brand },
		"arpa":   func(m Metadata) bool { return m.Type == Infrastructure },
		"museum": func(m Metadata) bool { return m.Type == Sponsored && m.Label.IDN == op.Yes },
		"рф":     func(m Metadata) bool { return m.TLD == "xn--p1ai" && m.Unicode == "рф" },
		"com.br": func(m Metadata) bool { return m.Label.Max == 26 && m.WHOIS.Server == "whois.registro.br" },
		"mx":     func(m Metadata) bool { return m.Registry.Name == "NIC-Mexico, ITESM - Campus Monterrey" },
		"fj":     func(m Metadata) bool { return m.Registry.Name == "The University of the South Pacific, IT Services" },
		"lk":     func(m Metadata) bool { return m.Registry.URL == "http://www.domains.lk/" },
		"sz": func(m Metadata) bool {
			return m.Registry.Name == "University of Swaziland, Department of Computer Science"
		},
		"abb":          func(m Metadata) bool { return m.WHOIS.Server == "whois.nic.abb" },
		"xn--11b4c3d":  func(m Metadata) bool { return m.RDAP.URL == "https://tld-rdap.verisign.com/xn--11b4c3d/v1/" },
		"aarp":         func(m Metadata) bool { return m.RDAP.URL == "https://rdap.nic.aarp" }, // as published
		"公司.香港":        func(m Metadata) bool { return m.Type == CountryCode && m.Registry.Name != "" },
		"कंपनी.भारत":   func(m Metadata) bool { return m.Registry.Name == "" },
		"k12.ak.us":    func(m Metadata) bool { return m.Registry.Name == "Registry Services, LLC" && m.Label.Max == 0 },
		"organic":      func(m Metadata) bool { return m.Sources != nil && m.Unknown != nil },
		"construction": func(m Metadata) bool { return m.Term == Term{} },
	} {
		m, err := DefaultTable().Metadata(fqdn.MustParse(suffix))
		if err != nil || !holds(m) {
			t.Errorf("Metadata(%s): got %+v, %v", suffix, m, err)
		}
	}
}

func TestMetadataOfNoSuffix(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"example", "test", "example.com", "github.io", "www.co.uk", "xn--kgbechtv"} {
		m, err := DefaultTable().Metadata(fqdn.MustParse(name))
		if !fault.Is(err, fault.NotFound) || !reflect.DeepEqual(m, Metadata{}) {
			t.Errorf("Metadata(%s): got %+v, %v, want not_found", name, m, err)
		}
	}
}

func TestMetadataIsTheCallers(t *testing.T) {
	t.Parallel()
	us := fqdn.MustParse("us")
	first, _ := DefaultTable().Metadata(us)
	first.Organization.AllowedCountries[0], first.Sources[0], first.Unknown[0] = "x", "x", "x"
	second, _ := DefaultTable().Metadata(us)
	if second.Organization.AllowedCountries[0] == "x" || second.Sources[0] == "x" || second.Unknown[0] == "x" {
		t.Errorf("what one caller changed, another sees: %+v", second)
	}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	over := mustCSV(t, "suffix,register,as_of\nnot-delegated,1,2026-05-06\ncom,1,2026-05-06\n")
	got := DefaultTable().Catalogue(Merge(DefaultBook(), over))
	if !slices.IsSortedFunc(got, compareNames) {
		t.Error("out of order")
	}
	for suffix, want := range map[string]int{"com": 1, "co.uk": 1, "me.uk": 1, "uk.com": 1, "google": 1, "not-delegated": 0} {
		n := 0
		for _, name := range got {
			if name == fqdn.MustParse(suffix) {
				n++
			}
		}
		if n != want {
			t.Errorf("%s is there %d times, want %d", suffix, n, want)
		}
	}
	for _, suffix := range got {
		if _, err := DefaultTable().Metadata(suffix); err != nil {
			t.Errorf("Metadata(%s): %v", suffix, err)
		}
	}
}

// The price book and the table know the same suffixes, so that a suffix with a price has metadata.
func TestEverySuffixWithPricesHasMetadata(t *testing.T) {
	t.Parallel()
	for _, suffix := range DefaultBook().Suffixes() {
		if _, err := DefaultTable().Metadata(suffix); err != nil {
			t.Errorf("Metadata(%s): %v", suffix, err)
		}
	}
}

func TestMetadataSchema(t *testing.T) {
	t.Parallel()
	own := map[reflect.Type]*jsonschema.Schema{}
	for _, v := range []interface{ Schema() *jsonschema.Schema }{op.Unknown, op.Count{}, Type(""), RDAPSource(""), Date("")} {
		own[reflect.TypeOf(v)] = v.Schema()
	}
	schema, err := jsonschema.For[Metadata](&jsonschema.ForOptions{TypeSchemas: own})
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range DefaultTable().All() {
		m, _ := DefaultTable().Metadata(suffix)
		wire, _ := json.Marshal(m)
		var tree any
		if err := json.Unmarshal(wire, &tree); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(tree); err != nil {
			t.Errorf("%s: %s: %v", suffix, wire, err)
		}
	}
	for _, bad := range []string{`{"nameservers":{"min":-1}}`, `{"dnssec":"yes"}`, `{"type":"test"}`} {
		var tree any
		if err := json.Unmarshal([]byte(bad), &tree); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(tree); err == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

const goodFacts = "source 1 https://a.example/\nas_of 2026-08-01\n" +
	"delegated\n  suffixes aa bb\n  type generic\n  registry.name A {tld} B\n  sources 1\n"

func TestReadTable(t *testing.T) {
	t.Parallel()
	table, err := readTable(goodFacts + "rules\n  suffixes c.aa\n  nameservers.min 0\n  sources 1\n")
	if err != nil {
		t.Fatal(err)
	}
	m, err := table.Metadata(fqdn.MustParse("c.aa"))
	if err != nil || m.Registry.Name != "A aa B" || m.Nameservers.Min != op.CountOf(0) {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestReadTableRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no as_of":                       strings.Replace(goodFacts, "as_of 2026-08-01\n", "", 1),
		"a date that does not exist":     strings.Replace(goodFacts, "08-01", "02-30", 1),
		"an unknown kind of block":       goodFacts + "alias\n  suffixes aa\n",
		"an unknown fact":                strings.Replace(goodFacts, "registry.name", "registry.nmae", 1),
		"a rule in a delegated block":    goodFacts + "delegated\n  suffixes cc\n  type generic\n  dnssec yes\n  sources 1\n",
		"a server in a rules block":      goodFacts + "rules\n  suffixes aa\n  whois.server whois.aa\n  sources 1\n",
		"a fact said twice":              goodFacts + "rules\n  suffixes aa\n  dnssec yes\n  dnssec yes\n  sources 1\n",
		"a suffix delegated twice":       strings.Replace(goodFacts, "aa bb", "aa aa", 1),
		"rules for a suffix twice":       goodFacts + "rules\n  suffixes aa aa\n  dnssec yes\n  sources 1\n",
		"rules without a delegation":     goodFacts + "rules\n  suffixes zz\n  dnssec yes\n  sources 1\n",
		"rules without a rule":           goodFacts + "rules\n  suffixes aa\n  sources 1\n",
		"facts of a sold suffix":         goodFacts + "sold\n  suffixes x.aa\n  dnssec yes\n  sources 1\n",
		"a delegated suffix with a dot":  strings.Replace(goodFacts, "aa bb", "aa.bb", 1),
		"a suffix in Unicode":            strings.Replace(goodFacts, "aa bb", "рф", 1),
		"a suffix in upper case":         strings.Replace(goodFacts, "aa bb", "AA", 1),
		"no suffix":                      strings.Replace(goodFacts, "  suffixes aa bb\n", "", 1),
		"no type":                        strings.Replace(goodFacts, "  type generic\n", "", 1),
		"an unknown type":                strings.Replace(goodFacts, "generic", "test", 1),
		"no source":                      strings.Replace(goodFacts, "  sources 1\n", "", 1),
		"a source that is not there":     strings.Replace(goodFacts, "sources 1", "sources 2", 1),
		"source numbers with a gap":      strings.Replace(goodFacts, "source 1", "source 2", 1),
		"a source that is not cited":     "source 1 https://b.example/\n" + strings.Replace(goodFacts, "source 1", "source 2", 1),
		"a source twice":                 "source 1 https://a.example/\n" + strings.Replace(goodFacts, "source 1", "source 2", 1),
		"a source that is no URL":        strings.Replace(goodFacts, "https://a.example/", "a.example", 1),
		"an answer besides yes and no":   goodFacts + "rules\n  suffixes aa\n  dnssec maybe\n  sources 1\n",
		"a number with a sign":           goodFacts + "rules\n  suffixes aa\n  nameservers.min +1\n  sources 1\n",
		"a term of 0 years":              goodFacts + "rules\n  suffixes aa\n  term.min_years 0\n  sources 1\n",
		"a least over the most":          goodFacts + "rules\n  suffixes aa\n  term.min_years 2\n  term.max_years 1\n  sources 1\n",
		"a label over 63":                goodFacts + "rules\n  suffixes aa\n  label.max 64\n  sources 1\n",
		"a country in lower case":        goodFacts + "rules\n  suffixes aa\n  organization.allowed_countries us\n  sources 1\n",
		"an RDAP server of no source":    goodFacts + "delegated\n  suffixes cc\n  type generic\n  rdap.url https://rdap.cc/\n  sources 1\n",
		"an RDAP server of the operator": goodFacts + "delegated\n  suffixes cc\n  type generic\n  rdap.url https://rdap.cc/\n  rdap.source operator\n  sources 1\n",
		"a field outside a block":        "  suffixes aa\n",
		"two spaces":                     strings.Replace(goodFacts, "type generic", "type  generic", 1),
		"three spaces":                   strings.Replace(goodFacts, "  type", "   type", 1),
		"space at the end":               strings.Replace(goodFacts, "generic", "generic ", 1),
		"a carriage return":              strings.Replace(goodFacts, "generic", "generic\r", 1),
		"a key without a value":          strings.Replace(goodFacts, "type generic", "type", 1),
		"bytes that are not UTF-8":       strings.Replace(goodFacts, "A {tld}", "\xff", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := readTable(text); err == nil {
				t.Errorf("taken:\n%s", text)
			}
		})
	}
}

// Whatever text is taken, its answers are whole: each fact present or named, and readable again.
func FuzzReadTable(f *testing.F) {
	f.Add(goodFacts)
	f.Add(goodFacts + "rules\n  suffixes c.aa\n  nameservers.min 0\n  dnssec no\n  organization.allowed_countries US EEA\n  sources 1\n")
	f.Add(goodFacts + "sold\n  suffixes c.aa\n  sources 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := readTable(text)
		if err != nil {
			return
		}
		for _, suffix := range table.All() {
			m, err := table.Metadata(suffix)
			if err != nil {
				t.Fatalf("%s: %v", suffix, err)
			}
			wire, err := json.Marshal(m)
			if err != nil {
				t.Fatalf("%s: %v", suffix, err)
			}
			var back Metadata
			if err := json.Unmarshal(wire, &back); err != nil || !reflect.DeepEqual(back, m) {
				t.Fatalf("%s read back (%v):\n got %+v\nwant %+v", suffix, err, back, m)
			}
		}
	})
}

func BenchmarkReadTable(b *testing.B) {
	for b.Loop() {
		if _, err := readTable(unpack(factsPacked)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMetadata(b *testing.B) {
	table, com := DefaultTable(), fqdn.MustParse("com")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Metadata(com); err != nil {
			b.Fatal(err)
		}
	}
}
