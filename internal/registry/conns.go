package registry

import (
	"net"
	"net/http"
	"sync"
)

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
