package apiclient

import (
	"context"
	"net"
	"net/http"
)

// Dial makes the API's connections by dial.
func (a *API) Dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	a.client.Transport = &http.Transport{DialContext: dial}
}
