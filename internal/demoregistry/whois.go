package demoregistry

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

const (
	maxQuery  = 512              // octets of a WHOIS query that are read
	queryTime = 10 * time.Second // how long a client may take to send its query and to read the reply
)

// serveWHOIS answers on l until Close, one query a connection (RFC 3912).
func (r *Registry) serveWHOIS(l net.Listener, op *operator) {
	r.running.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				if !r.sleep(10 * time.Millisecond) { // out of descriptors, most likely
					return
				}
				continue
			}
			r.running.Go(func() { r.whoisQuery(c, op) })
		}
	})
	r.stops = append(r.stops, func() { l.Close() })
}

// whoisQuery reads the query of one connection and answers it.
func (r *Registry) whoisQuery(c net.Conn, op *operator) {
	defer c.Close()
	cut := make(chan struct{})
	stop := context.AfterFunc(r.ctx, func() { c.Close(); close(cut) })
	defer func() {
		if !stop() {
			<-cut
		}
	}()
	c.SetDeadline(time.Now().Add(queryTime))
	line, err := bufio.NewReader(io.LimitReader(c, maxQuery)).ReadString('\n')
	if err != nil {
		return
	}
	name := whoisName(line)
	r.arrived(name, Count{WHOIS: 1})
	r.pause()
	q := whoisQuery{conn: c, name: name, op: op, reply: r.whoisReply(name, op)}
	if play, ok := whoisFaults[faultOf(r, name, op, whoisFaults)]; ok {
		play(r, q)
		return
	}
	io.WriteString(c, q.reply)
}

// whoisName is the name in a query line. The forms of the big registries are understood: "domain x.com", "=x.com",
// "-T dn,ace x.de", "x.jp/e".
func whoisName(line string) string {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return ""
	}
	last := strings.TrimPrefix(fields[len(fields)-1], "=")
	return canonical(strings.TrimSuffix(last, "/e"))
}

// whoisReply is the right answer about a name at an operator's host.
func (r *Registry) whoisReply(name string, op *operator) string {
	suffix := suffixOf(name)
	served := operatorOf[suffix]
	rec, ok := r.record(name)
	switch {
	case op.name == registrarName:
		if !ok || served == nil || !served.thin || rec.State == reserved {
			return r.write(op, op.style.free, record{Name: name})
		}
	case served != op:
		return crlf("Error: this server does not serve that top-level domain.\n")
	case !ok:
		return r.write(op, op.style.free, record{Name: name, Suffix: suffix})
	case rec.State == reserved:
		return r.write(op, op.style.reserved, rec)
	}
	return r.write(op, op.style.taken, rec)
}

// write fills in a text of the operator's style.
func (r *Registry) write(op *operator, t text43, rec record) string {
	v := view{record: rec, Now: r.cfg.Now().UTC(), Thin: op.thin}
	if op.thin || op.name == registrarName {
		v.Referral = r.whois[registrarName]
	}
	return t.fill(v)
}

// A whoisQuery is what a fault may need to know of a query.
type whoisQuery struct {
	conn  net.Conn
	name  string
	op    *operator
	reply string // the right answer
}

// whoisFaults play the faults of WHOIS. The connection is closed behind them.
var whoisFaults = map[Fault]func(*Registry, whoisQuery){
	WhoisThrottle: func(_ *Registry, q whoisQuery) { io.WriteString(q.conn, crlf(q.op.style.throttled)) },
	WhoisDenied: func(_ *Registry, q whoisQuery) {
		io.WriteString(q.conn, crlf("% Access denied: your address is not permitted to query this server.\n"))
	},
	WhoisSilent: func(*Registry, whoisQuery) {},
	WhoisSlow: func(r *Registry, q whoisQuery) {
		q.conn.SetDeadline(time.Time{})
		for i := range len(q.reply) {
			if _, err := io.WriteString(q.conn, q.reply[i:i+1]); err != nil || !r.sleep(dripEvery) {
				return
			}
		}
	},
	WhoisEndless: func(r *Registry, q whoisQuery) {
		q.conn.SetDeadline(time.Time{})
		for chunk := "% " + strings.Repeat("terms of use ", 80) + "\r\n"; r.ctx.Err() == nil; {
			if _, err := io.WriteString(q.conn, chunk); err != nil {
				return
			}
		}
	},
	WhoisWrongName: func(r *Registry, q whoisQuery) {
		other := r.compose(otherLabel+"."+suffixOf(q.name), registered)
		io.WriteString(q.conn, r.write(q.op, q.op.style.taken, other))
	},
	WhoisReferralLoop: func(r *Registry, q whoisQuery) {
		io.WriteString(q.conn, referralTo(r.whois[q.op.name], r.compose(q.name, undelegated)))
	},
	WhoisReferralPrivate: func(r *Registry, q whoisQuery) {
		io.WriteString(q.conn, referralTo(privateHost, r.compose(q.name, undelegated)))
	},
}

// referralTo is a thin registry's reply that names the host as the registrar's.
func referralTo(host string, rec record) string {
	return meridianStyle.taken.fill(view{record: rec, Now: rec.Updated, Thin: true, Referral: host})
}
