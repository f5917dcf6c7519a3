package lookup

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
)

// A Registry is what the operator says about servers. A suffix that RDAP or WHOIS names uses what they say and
// nothing else, except that the WHOIS phrases and query template of the suffix are kept. Keys are suffixes in A-label
// form, also longer ones such as "co.uk" (the longest wins) and ones that are not delegated.
type Registry struct {
	RDAP        map[string][]string // base URLs by suffix
	WHOIS       map[string]string   // host:port by suffix
	DNS         []string            // host:port of DNS servers
	Allow       []netip.Prefix      // addresses that may be asked although they are not public
	Ports       []uint16            // ports that may be asked beside the standard ones and those of the servers above
	RatePerHost float64             // requests a second to one host; zero: the default
	CAFile      string              // PEM file of certificate authorities, trusted beside the system's; read by New
}

// Roots are the certificate authorities of CAFile beside the system's; nil, which is the system's alone, without one.
func (r Registry) Roots() (*x509.CertPool, error) {
	if r.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(r.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading ca_file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("reading ca_file: it holds no certificate in PEM form")
	}
	return pool, nil
}

// maxRatePerHost is the highest rate_per_host that is accepted.
const maxRatePerHost = 1e6

// ParseRegistry reads a registry file: a JSON object with any of rdap_servers, whois_servers, dns_servers,
// allow_private_cidrs, ports, rate_per_host and ca_file. Its errors name the key at fault; unknown and repeated keys are
// refused. A value of rdap_servers is a URL or a list of URLs.
func ParseRegistry(data []byte) (Registry, error) {
	var r Registry
	err := eachMember(data, func(key string, value json.RawMessage) error {
		switch key {
		case "rdap_servers":
			return r.parseRDAP(value)
		case "whois_servers":
			return r.parseWHOIS(value)
		case "dns_servers":
			return parseDNS(value, &r.DNS)
		case "allow_private_cidrs":
			return parseCIDRs(value, &r.Allow)
		case "ports":
			return parsePorts(value, &r.Ports)
		case "rate_per_host":
			if json.Unmarshal(value, &r.RatePerHost) != nil || !(r.RatePerHost > 0) || r.RatePerHost > maxRatePerHost {
				return fmt.Errorf("must be a number above 0 and at most %g", float64(maxRatePerHost))
			}
		case "ca_file":
			if json.Unmarshal(value, &r.CAFile) != nil || r.CAFile == "" {
				return fmt.Errorf("must be the path of a PEM file")
			}
		default:
			return fmt.Errorf("unknown key; the keys are rdap_servers, whois_servers, dns_servers, allow_private_cidrs, ports, rate_per_host and ca_file")
		}
		return nil
	})
	if err != nil {
		return Registry{}, fmt.Errorf("registry file: %w", err)
	}
	return r, nil
}

// eachMember calls f for the members of a JSON object and puts the key in front of its errors.
func eachMember(data []byte, f func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("must be a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return fmt.Errorf("not valid JSON: %w", err)
		}
		key, _ := t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("%q: not valid JSON: %w", key, err)
		}
		if seen[key] {
			return fmt.Errorf("%q: is there twice", key)
		}
		seen[key] = true
		if err := f(key, value); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON object")
	}
	return nil
}

func (r *Registry) parseRDAP(value json.RawMessage) error {
	r.RDAP = map[string][]string{}
	return eachMember(value, func(key string, value json.RawMessage) error {
		suffix, err := suffixKey(key)
		if err != nil {
			return err
		}
		if _, twice := r.RDAP[suffix]; twice {
			return fmt.Errorf("the TLD is there twice")
		}
		var one string
		var urls []string
		if json.Unmarshal(value, &one) == nil && one != "" {
			urls = []string{one}
		} else if json.Unmarshal(value, &urls) != nil || len(urls) == 0 {
			return fmt.Errorf("must be a URL or a list of URLs")
		}
		for i, u := range urls {
			if urls[i], err = baseURL(u); err != nil {
				return err
			}
		}
		r.RDAP[suffix] = urls
		return nil
	})
}

func (r *Registry) parseWHOIS(value json.RawMessage) error {
	r.WHOIS = map[string]string{}
	return eachMember(value, func(key string, value json.RawMessage) error {
		suffix, err := suffixKey(key)
		if err != nil {
			return err
		}
		if _, twice := r.WHOIS[suffix]; twice {
			return fmt.Errorf("the TLD is there twice")
		}
		var server string
		if json.Unmarshal(value, &server) != nil {
			return fmt.Errorf("must be a host or host:port")
		}
		r.WHOIS[suffix], err = hostPort(server, "43")
		return err
	})
}

func parseDNS(value json.RawMessage, to *[]string) error {
	if json.Unmarshal(value, to) != nil {
		return fmt.Errorf("must be a list of host:port")
	}
	for i, server := range *to {
		normal, err := hostPort(server, "53")
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		(*to)[i] = normal
	}
	return nil
}

func parseCIDRs(value json.RawMessage, to *[]netip.Prefix) error {
	var texts []string
	if json.Unmarshal(value, &texts) != nil {
		return fmt.Errorf("must be a list of CIDRs such as 127.0.0.0/8")
	}
	for i, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("entry %d: must be a CIDR such as 127.0.0.0/8", i+1)
		}
		*to = append(*to, p.Masked())
	}
	return nil
}

func parsePorts(value json.RawMessage, to *[]uint16) error {
	if json.Unmarshal(value, to) != nil || slices.Contains(*to, 0) {
		return fmt.Errorf("must be a list of port numbers from 1 to 65535")
	}
	return nil
}

// suffixKey brings a suffix into A-label form; a leading dot is allowed.
func suffixKey(key string) (string, error) {
	n, err := fqdn.Parse(strings.TrimPrefix(key, "."))
	if err != nil {
		return "", fmt.Errorf("the TLD %w", err)
	}
	return n.String(), nil
}

// baseURL checks the base URL of an RDAP server and gives it its final slash (RFC 9224, section 3).
func baseURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("must be an http or https URL without user, query and fragment")
	}
	if port := u.Port(); port != "" {
		if _, err := portNumber(port); err != nil {
			return "", err
		}
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u.String(), nil
}

// hostPort checks a server and gives it the port if it has none.
func hostPort(s, port string) (string, error) {
	s = strings.TrimSpace(s)
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		host, p = strings.Trim(s, "[]"), port
	}
	if _, err := portNumber(p); err != nil {
		return "", err
	}
	if _, err := netip.ParseAddr(host); err != nil {
		n, err := fqdn.Parse(host)
		if err != nil {
			return "", fmt.Errorf("the host %w", err)
		}
		host = n.String()
	}
	return net.JoinHostPort(host, p), nil
}

func portNumber(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("the port must be a number from 1 to 65535")
	}
	return uint16(n), nil
}

// suffixes are those that the operator names.
func (r Registry) suffixes() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(r.RDAP)), maps.Keys(r.WHOIS))
}

// allPorts are those that the operator names, in whatever way.
func (r Registry) allPorts() []uint16 {
	all := slices.Clone(r.Ports)
	for _, urls := range r.RDAP {
		for _, u := range urls {
			all = append(all, urlPort(u)...)
		}
	}
	for _, server := range slices.AppendSeq(slices.Clone(r.DNS), maps.Values(r.WHOIS)) {
		if _, port, err := net.SplitHostPort(server); err == nil {
			if n, err := portNumber(port); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// urlPort is the port that the URL names; none if it names none.
func urlPort(raw string) []uint16 {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	n, err := portNumber(u.Port())
	if err != nil {
		return nil
	}
	return []uint16{n}
}
