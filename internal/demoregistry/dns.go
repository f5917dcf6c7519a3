package demoregistry

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/miekg/dns"
)

const ttl = 60 // seconds; also of negative answers (RFC 2308)

// serveDNS answers over UDP and TCP on one port until Close. The server is the authority for every suffix and, so
// that whatever is asked is answered by this one server, for every delegated domain below it as well.
func (r *Registry) serveDNS() error {
	udp, tcp, err := listenBoth(r.cfg.ListenHost)
	if err != nil {
		return err
	}
	r.dnsAddr = udp.LocalAddr().String()
	for _, srv := range []*dns.Server{{PacketConn: udp}, {Listener: tcp}} {
		started := make(chan struct{})
		srv.Handler = dns.HandlerFunc(r.dnsQuery)
		srv.NotifyStartedFunc = func() { close(started) }
		r.running.Go(func() {
			if err := srv.ActivateAndServe(); err != nil {
				r.failed(fmt.Errorf("serving DNS: %w", err))
			}
		})
		<-started
		r.stops = append(r.stops, func() { srv.Shutdown() })
	}
	return nil
}

// listenBoth opens one port for UDP and TCP.
func listenBoth(host string) (net.PacketConn, net.Listener, error) {
	var failed error
	for range 20 { // the port that UDP got may be taken for TCP
		udp, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, nil, err
		}
		tcp, err := net.Listen("tcp", udp.LocalAddr().String())
		if err == nil {
			return udp, tcp, nil
		}
		udp.Close()
		failed = errors.Join(failed, err)
	}
	return nil, nil, fmt.Errorf("finding a port for DNS: %w", failed)
}

// dnsFaults are the response codes of the faults of DNS; a negative one means no answer.
var dnsFaults = map[Fault]int{DNSFailure: dns.RcodeServerFailure, DNSRefused: dns.RcodeRefused, DNSSilent: -1}

// dnsQuery answers one query (RFC 1034, section 4.3.2).
func (r *Registry) dnsQuery(w dns.ResponseWriter, req *dns.Msg) {
	m := new(dns.Msg).SetReply(req)
	if req.Opcode != dns.OpcodeQuery || len(req.Question) != 1 {
		w.WriteMsg(m.SetRcode(req, dns.RcodeFormatError))
		return
	}
	q := req.Question[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name, "."))
	r.arrived(name, Count{DNS: 1})
	r.pause()
	suffix := suffixOf(name)
	domain := registrable(name, suffix)
	code, faulty := dnsFaults[faultOf(r, domain, operatorOf[suffix], dnsFaults)]
	switch {
	case faulty && code < 0:
		return
	case faulty:
		m.Rcode = code
	case suffix == "" || q.Qclass != dns.ClassINET:
		m.Rcode = dns.RcodeRefused
	default:
		m.Authoritative = true
		r.answer(m, q, name, domain, suffix)
	}
	size := dns.MinMsgSize
	if opt := req.IsEdns0(); opt != nil {
		size = int(max(opt.UDPSize(), dns.MinMsgSize))
		m.SetEdns0(dns.DefaultMsgSize, false)
	}
	if w.LocalAddr().Network() == "udp" {
		m.Truncate(size)
	}
	w.WriteMsg(m)
}

// registrable is the name one label below the suffix that the name is or is below; "" for the suffix itself.
func registrable(name, suffix string) string {
	left, below := strings.CutSuffix(name, "."+suffix)
	if suffix == "" || !below {
		return ""
	}
	return left[strings.LastIndexByte(left, '.')+1:] + "." + suffix
}

// answer fills in the records of the name and type asked for, or the SOA of the zone that has none.
func (r *Registry) answer(m *dns.Msg, q dns.Question, name, domain, suffix string) {
	zone := suffix
	var found []dns.RR
	exists := true
	rec, known := record{}, false
	if domain != "" {
		rec, known = r.record(domain)
	}
	switch {
	case domain == "": // the suffix
		found = suffixRecords(suffix)
	case known && len(rec.Nameservers) > 0:
		zone = domain
		found, exists = delegatedRecords(name, rec)
	case operatorOf[suffix].wildcard:
		found = wildcardRecords(name)
	default:
		exists = false
	}
	if txt := r.txtRecords(name); len(txt) > 0 {
		found, exists = append(found, txt...), true
	}
	for _, rr := range found {
		if t := rr.Header().Rrtype; t == q.Qtype || q.Qtype == dns.TypeANY {
			rr.Header().Name = q.Name // in the spelling asked, as resolvers that mix cases expect
			m.Answer = append(m.Answer, rr)
		}
	}
	if len(m.Answer) == 0 {
		m.Ns = []dns.RR{soa(zone)}
		if !exists {
			m.Rcode = dns.RcodeNameError
		}
	}
}

func suffixRecords(suffix string) []dns.RR {
	return []dns.RR{soa(suffix), ns(suffix, "ns1.nic."+suffix), ns(suffix, "ns2.nic."+suffix)}
}

// delegatedRecords are those of a name at or below a domain in use; exists is false for a name that is not there.
func delegatedRecords(name string, rec record) (found []dns.RR, exists bool) {
	for _, server := range rec.Nameservers {
		if name == server.Host {
			for _, address := range server.Addresses {
				found = append(found, host(name, address))
			}
			return found, true
		}
	}
	switch name {
	case rec.Name:
		found = []dns.RR{soa(rec.Name), host(name, "192.0.2.80")}
		for _, server := range rec.Nameservers {
			found = append(found, ns(name, server.Host))
		}
		return found, true
	case "www." + rec.Name:
		return []dns.RR{host(name, "192.0.2.80")}, true
	}
	return nil, false
}

// wildcardRecords are those that a wildcard zone has for whatever is asked (RFC 4592).
func wildcardRecords(name string) []dns.RR {
	return []dns.RR{host(name, "198.51.100.80"), ns(name, "ns1.parking.example"), ns(name, "ns2.parking.example")}
}

func (r *Registry) txtRecords(name string) []dns.RR {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []dns.RR
	for _, value := range r.txt[name] {
		all = append(all, &dns.TXT{Hdr: header(name, dns.TypeTXT), Txt: chunks(value)})
	}
	return all
}

// chunks cuts a value into the character strings of a TXT record (RFC 1035, section 3.3.14), whose text form has
// backslashes escaped.
func chunks(value string) []string {
	const most = 255
	var all []string
	for len(value) > most {
		all, value = append(all, escape(value[:most])), value[most:]
	}
	return append(all, escape(value))
}

func escape(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: dns.Fqdn(name), Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

func ns(name, server string) dns.RR {
	return &dns.NS{Hdr: header(name, dns.TypeNS), Ns: dns.Fqdn(server)}
}

func host(name, address string) dns.RR {
	ip := net.ParseIP(address)
	if ip.To4() == nil {
		return &dns.AAAA{Hdr: header(name, dns.TypeAAAA), AAAA: ip}
	}
	return &dns.A{Hdr: header(name, dns.TypeA), A: ip}
}

func soa(zone string) dns.RR {
	return &dns.SOA{
		Hdr: header(zone, dns.TypeSOA), Ns: dns.Fqdn("ns1.nic." + zone), Mbox: dns.Fqdn("hostmaster.nic." + zone),
		Serial: 1, Refresh: 3600, Retry: 600, Expire: 86400, Minttl: ttl,
	}
}
