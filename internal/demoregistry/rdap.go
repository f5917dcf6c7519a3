package demoregistry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// rdapPath is where the base URL of every RDAP host ends (RFC 9082, section 3).
const rdapPath = "/rdap/"

const rdapType = "application/rdap+json" // RFC 7480, section 4.2

// serveRDAP answers on l until Close.
func (r *Registry) serveRDAP(l net.Listener, op *operator) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+rdapPath+"domain/{name}", func(w http.ResponseWriter, req *http.Request) { r.rdapDomain(w, req, op) })
	mux.HandleFunc("GET "+rdapPath+"help", func(w http.ResponseWriter, _ *http.Request) {
		writeRDAP(w, rdapReply{http.StatusOK, map[string]any{"rdapConformance": conformance, "notices": []notice{terms}}})
	})
	mux.HandleFunc("GET "+rdapPath, func(w http.ResponseWriter, _ *http.Request) {
		writeRDAP(w, rdapError(http.StatusNotImplemented, "Not implemented", "Only domains can be looked up here."))
	})
	var conns connections
	srv := &http.Server{
		Handler:           mux,
		ConnState:         conns.track,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	served := make(chan struct{})
	r.running.Go(func() {
		defer close(served)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.failed(fmt.Errorf("serving RDAP: %w", err))
		}
	})
	r.stops = append(r.stops, func() {
		srv.Close()
		<-served
		srv.Close() // a connection accepted during the first
		conns.Wait()
	})
}

// connections waits for the goroutines that [http.Server] starts for its connections, which its Close does not.
type connections struct{ sync.WaitGroup }

// track is an [http.Server.ConnState] hook. The goroutine of a connection reports StateClosed as its last act.
func (c *connections) track(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.Done()
	}
}

// rdapDomain answers a domain query (RFC 9082, section 3.1.3).
func (r *Registry) rdapDomain(w http.ResponseWriter, req *http.Request, op *operator) {
	asked, err := fqdn.Parse(req.PathValue("name"))
	if err != nil {
		writeRDAP(w, rdapError(http.StatusBadRequest, "Bad request", "The name "+err.Error()+"."))
		return
	}
	name := asked.String()
	r.arrived(name, Count{RDAP: 1})
	r.pause()
	self := r.rdap[op.name] + "domain/" + name
	reply := r.rdapReply(name, self, op)
	if play, ok := rdapFaults[faultOf(r, name, op, rdapFaults)]; ok {
		play(r, w, req, rdapQuery{name, self, op, reply})
		return
	}
	writeRDAP(w, reply)
}

// rdapReply is the right answer about a name at an operator's host.
func (r *Registry) rdapReply(name, self string, op *operator) rdapReply {
	served := operatorOf[suffixOf(name)]
	if op.name == registrarName {
		if rec, ok := r.record(name); ok && served != nil && served.thin && rec.State != reserved {
			return rdapReply{http.StatusOK, r.domainObject(rec, self, op)}
		}
	} else if rec, ok := r.record(name); ok && served == op {
		return rdapReply{http.StatusOK, r.domainObject(rec, self, op)}
	}
	return rdapError(http.StatusNotFound, "Not found", "The domain "+name+" was not found.")
}

type rdapReply struct {
	status int
	body   any
}

// rdapError is an error object (RFC 9083, section 6).
func rdapError(status int, title, description string) rdapReply {
	return rdapReply{status, map[string]any{
		"rdapConformance": []string{"rdap_level_0"},
		"errorCode":       status,
		"title":           title,
		"description":     []string{description},
	}}
}

func (reply rdapReply) encode() []byte {
	b, err := json.Marshal(reply.body)
	if err != nil {
		panic("registry: encoding RDAP: " + err.Error()) // our own values always encode
	}
	return b
}

func writeRDAP(w http.ResponseWriter, reply rdapReply) {
	setHeaders(w, rdapType)
	w.WriteHeader(reply.status)
	w.Write(reply.encode())
}

func setHeaders(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Access-Control-Allow-Origin", "*") // RFC 7480, section 5.6
}

// An rdapQuery is what a fault may need to know of a query.
type rdapQuery struct {
	name  string
	self  string // the URL asked
	op    *operator
	reply rdapReply // the right answer
}

// rdapFaults play the faults of RDAP.
var rdapFaults = map[Fault]func(*Registry, http.ResponseWriter, *http.Request, rdapQuery){
	BadRequest: playStatus(http.StatusBadRequest, "Bad request", nil),
	Denied:     playStatus(http.StatusForbidden, "Forbidden", nil),
	TooMany: playStatus(http.StatusTooManyRequests, "Too many requests", func(*Registry) string {
		return fmt.Sprint(int(RetryAfter / time.Second))
	}),
	TooManyDate: playStatus(http.StatusTooManyRequests, "Too many requests", func(r *Registry) string {
		return r.cfg.Now().UTC().Add(RetryAfter).Format(http.TimeFormat)
	}),
	Broken:       playPage(http.StatusServiceUnavailable),
	HTMLNotFound: playPage(http.StatusNotFound),
	ForeignNotFound: func(r *Registry, w http.ResponseWriter, req *http.Request, q rdapQuery) {
		other := "alpine"
		if q.op.name == other {
			other = "hexagon"
		}
		http.Redirect(w, req, r.rdap[other]+"domain/"+q.name, http.StatusFound)
	},
	WrongName: func(r *Registry, w http.ResponseWriter, _ *http.Request, q rdapQuery) {
		other := r.compose(otherLabel+"."+suffixOf(q.name), registered)
		writeRDAP(w, rdapReply{http.StatusOK, r.domainObject(other, q.self, q.op)})
	},
	Truncated: func(_ *Registry, w http.ResponseWriter, _ *http.Request, q rdapQuery) {
		body := q.reply.encode()
		setHeaders(w, rdapType)
		w.Write(body[:len(body)/2])
	},
	Cut: func(_ *Registry, w http.ResponseWriter, _ *http.Request, q rdapQuery) {
		body := q.reply.encode()
		setHeaders(w, rdapType)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body[:len(body)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	Junk: func(_ *Registry, w http.ResponseWriter, _ *http.Request, _ rdapQuery) {
		setHeaders(w, rdapType)
		w.Write([]byte("\x00\xff\xfe{]the registry is being moved\x1b[2J"))
	},
	Deep: func(_ *Registry, w http.ResponseWriter, _ *http.Request, _ rdapQuery) {
		const depth = 100_000
		setHeaders(w, rdapType)
		w.Write([]byte(strings.Repeat(`{"a":[`, depth/2) + strings.Repeat(`]}`, depth/2)))
	},
	Slow: func(r *Registry, w http.ResponseWriter, _ *http.Request, q rdapQuery) {
		setHeaders(w, rdapType)
		flush := http.NewResponseController(w)
		for _, b := range q.reply.encode() {
			if _, err := w.Write([]byte{b}); err != nil || flush.Flush() != nil || !r.sleep(dripEvery) {
				return
			}
		}
	},
	Endless: func(r *Registry, w http.ResponseWriter, _ *http.Request, _ rdapQuery) {
		setHeaders(w, rdapType)
		w.Write([]byte(`{"objectClassName":"domain","ldhName":"`))
		for chunk := []byte(strings.Repeat("a", 32<<10)); r.ctx.Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	},
	RedirectLoop: func(_ *Registry, w http.ResponseWriter, req *http.Request, q rdapQuery) {
		http.Redirect(w, req, q.self, http.StatusFound)
	},
	RedirectPrivate: func(_ *Registry, w http.ResponseWriter, req *http.Request, q rdapQuery) {
		http.Redirect(w, req, "http://"+linkLocal+rdapPath+"domain/"+q.name, http.StatusFound)
	},
	RelatedPrivate: func(_ *Registry, w http.ResponseWriter, _ *http.Request, q rdapQuery) {
		if d, ok := q.reply.body.(domainObject); ok {
			d.Links = []link{
				{Value: q.self, Rel: "self", Href: q.self, Type: rdapType},
				{Value: q.self, Rel: "related", Href: "http://" + privateHost + rdapPath + "domain/" + q.name, Type: rdapType},
			}
			q.reply.body = d
		}
		writeRDAP(w, q.reply)
	},
}

// playStatus answers an error object, with Retry-After where given.
func playStatus(status int, title string, retryAfter func(*Registry) string) func(*Registry, http.ResponseWriter, *http.Request, rdapQuery) {
	return func(r *Registry, w http.ResponseWriter, _ *http.Request, _ rdapQuery) {
		if retryAfter != nil {
			w.Header().Set("Retry-After", retryAfter(r))
		}
		writeRDAP(w, rdapError(status, title, "This host does not answer the query."))
	}
}

// playPage answers a page of HTML, as load balancers and parked hosts do.
func playPage(status int) func(*Registry, http.ResponseWriter, *http.Request, rdapQuery) {
	return func(_ *Registry, w http.ResponseWriter, _ *http.Request, _ rdapQuery) {
		setHeaders(w, "text/html; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<!doctype html><title>%d</title><h1>%s</h1>", status, http.StatusText(status))
	}
}
