package lookup_test

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/lookup"
)

// fakeNames resolves host names to fixed addresses.
type fakeNames map[string]string

func (n fakeNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(n[host])
	return []netip.Addr{a}, err
}

func ExampleParseRegistry() {
	r, err := lookup.ParseRegistry([]byte(`{"rdap_servers":{"com":"http://127.0.0.1:9001"},"whois_servers":{"de":"127.0.0.1"}}`))
	fmt.Println(r.RDAP["com"], r.WHOIS["de"], err)
	_, err = lookup.ParseRegistry([]byte(`{"rdap_server":{}}`))
	fmt.Println(err)
	// Output:
	// [http://127.0.0.1:9001/] 127.0.0.1:43 <nil>
	// registry file: "rdap_server": unknown key; the keys are rdap_servers, whois_servers, dns_servers, allow_private_cidrs, ports, rate_per_host and ca_file
}

func TestParseRegistry(t *testing.T) {
	t.Parallel()
	got := parse(t, `{"rdap_servers":{"com":"http://127.0.0.1:9001/","Co.Uk":["https://a.example/x","https://b.example"],".bücher":"https://c.example/"},
		"whois_servers":{"com":"127.0.0.1:9043","de":"whois.denic.de","jp":"[::1]:43","kr":"::1"},
		"dns_servers":["127.0.0.1:9053","[::1]"],"allow_private_cidrs":["127.0.0.1/8","fd00::/8"],"ports":[9100],"rate_per_host":1000,"ca_file":"ca.pem"}`)
	want := lookup.Registry{
		RDAP:  map[string][]string{"com": {"http://127.0.0.1:9001/"}, "co.uk": {"https://a.example/x/", "https://b.example/"}, "xn--bcher-kva": {"https://c.example/"}},
		WHOIS: map[string]string{"com": "127.0.0.1:9043", "de": "whois.denic.de:43", "jp": "[::1]:43", "kr": "[::1]:43"},
		DNS:   []string{"127.0.0.1:9053", "[::1]:53"},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		Ports: []uint16{9100}, RatePerHost: 1000, CAFile: "ca.pem",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("ParseRegistry\n got %+v\nwant %+v", got, want)
	}
	if got := parse(t, `{}`); !reflect.DeepEqual(got, lookup.Registry{}) {
		t.Errorf("ParseRegistry({}): got %+v, want the zero Registry", got)
	}
}

func TestParseRegistryRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, file, want string }{
		{"nothing", ``, "JSON object"},
		{"a list", `[]`, "JSON object"},
		{"broken JSON", `{"rdap_servers":`, `"rdap_servers": not valid JSON`},
		{"an object cut short", `{"rate_per_host":1`, "not valid JSON"},
		{"something behind", `{} {}`, "something follows"},
		{"an unknown key", `{"rdap":{}}`, `"rdap": unknown key`},
		{"a key in capitals", `{"RDAP_servers":{}}`, `"RDAP_servers": unknown key`},
		{"a repeated key", `{"rate_per_host":1,"rate_per_host":2}`, `"rate_per_host": is there twice`},
		{"a repeated suffix", `{"whois_servers":{"com":"a.example","com":"b.example"}}`, `"com": is there twice`},
		{"a suffix in two spellings", `{"rdap_servers":{"com":"http://a.example/","COM":"http://b.example/"}}`, `"COM": the TLD is there twice`},
		{"a suffix that is none", `{"rdap_servers":{"a b":"http://a.example/"}}`, `"a b": the TLD holds a space`},
		{"servers that are no object", `{"rdap_servers":"x"}`, `"rdap_servers": must be a JSON object`},
		{"an RDAP server that is no URL", `{"rdap_servers":{"com":"127.0.0.1:9001"}}`, "must be an http or https URL"},
		{"an RDAP server with a query", `{"rdap_servers":{"com":"http://a.example/?x"}}`, "must be an http or https URL"},
		{"an RDAP server with a user", `{"rdap_servers":{"com":"http://u:secret@a.example/"}}`, "must be an http or https URL"},
		{"an RDAP server of another kind", `{"rdap_servers":{"com":1}}`, "must be a URL or a list"},
		{"an empty list of RDAP servers", `{"rdap_servers":{"com":[]}}`, "must be a URL or a list"},
		{"an RDAP port out of range", `{"rdap_servers":{"com":"http://a.example:99999/"}}`, "the port must be"},
		{"a WHOIS port out of range", `{"whois_servers":{"com":"a.example:0"}}`, "the port must be"},
		{"an empty WHOIS server", `{"whois_servers":{"com":""}}`, "the host is empty"},
		{"a WHOIS server of another kind", `{"whois_servers":{"com":["a"]}}`, "must be a host"},
		{"DNS servers of another kind", `{"dns_servers":"127.0.0.1"}`, "must be a list"},
		{"a DNS server with a bad host", `{"dns_servers":["127.0.0.1","a b:53"]}`, "entry 2: the host"},
		{"CIDRs of another kind", `{"allow_private_cidrs":"127.0.0.0/8"}`, "must be a list"},
		{"a CIDR without its length", `{"allow_private_cidrs":["127.0.0.1"]}`, "entry 1: must be a CIDR"},
		{"port 0", `{"ports":[0]}`, "must be a list of port numbers"},
		{"a port out of range", `{"ports":[65536]}`, "must be a list of port numbers"},
		{"rate 0", `{"rate_per_host":0}`, "above 0"},
		{"a negative rate", `{"rate_per_host":-1}`, "above 0"},
		{"a rate as a string", `{"rate_per_host":"2"}`, "above 0"},
		{"a huge rate", `{"rate_per_host":1e300}`, "above 0"},
		{"an empty CA file", `{"ca_file":""}`, "path of a PEM file"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			r, err := lookup.ParseRegistry([]byte(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) || !reflect.DeepEqual(r, lookup.Registry{}) {
				t.Errorf("ParseRegistry(%s)\n got %+v, %v\nwant an error with %q", c.file, r, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats a value: %v", err)
			}
		})
	}
}

func FuzzParseRegistry(f *testing.F) {
	f.Add(`{"rdap_servers":{"com":"http://127.0.0.1:9001/"},"whois_servers":{"com":"127.0.0.1:9043"},"dns_servers":["127.0.0.1:9053"],"allow_private_cidrs":["127.0.0.0/8"],"rate_per_host":1000,"ca_file":"ca.pem"}`)
	f.Add(`{"rdap_servers":{"com":["https://[::1]/"]},"ports":[1]}`)
	f.Fuzz(func(t *testing.T, file string) {
		r, err := lookup.ParseRegistry([]byte(file))
		if err != nil {
			return
		}
		for suffix, urls := range r.RDAP {
			again, err := lookup.ParseRegistry(fmt.Appendf(nil, `{"rdap_servers":{%q:%q}}`, suffix, urls[0]))
			if err == nil && again.RDAP[suffix][0] != urls[0] {
				t.Errorf("ParseRegistry(%q): %q reads as %q the second time", file, urls[0], again.RDAP[suffix][0])
			}
		}
	})
}
