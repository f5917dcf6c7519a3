package partnercli

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/namewharf/namewharf/event"
)

const webhooks = "/api/partner/webhooks"

// Register registers an address as the partner's webhook, and returns a function that removes it. It fails rather than
// replace a webhook of another host, whose secret it could not restore.
func (c *Client) Register(ctx context.Context, address, secret string) (remove func(context.Context) error, err error) {
	was, err := c.webhook(ctx)
	if err != nil {
		return nil, err
	}
	if was.URL != "" && was.URL != address && !onLoopback(was.URL) {
		return nil, fmt.Errorf("the partner has a webhook at %s, which would be lost; remove it with DELETE %s first", was.URL, webhooks)
	}
	in := struct {
		URL    string `json:"url"`
		Secret string `json:"secret"`
	}{address, secret}
	if err := c.doJSON(ctx, http.MethodPut, webhooks, in, &event.Endpoint{}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		is, err := c.webhook(ctx)
		if err != nil || is.URL != address { // removed or replaced meanwhile
			return err
		}
		return c.doJSON(ctx, http.MethodDelete, webhooks, nil, &event.Endpoint{})
	}, nil
}

// webhook returns the partner's webhook, zero if there is none.
func (c *Client) webhook(ctx context.Context) (e event.Endpoint, err error) {
	a, err := c.Do(ctx, Request{Method: http.MethodGet, Target: webhooks})
	if err != nil || a.Status == http.StatusNotFound {
		return event.Endpoint{}, err
	}
	if err := a.Err(); err != nil {
		return event.Endpoint{}, err
	}
	err = a.decode(&e)
	return e, err
}

// onLoopback reports whether a URL names this machine.
func onLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// Trigger sends a test event and returns its delivery after the first attempt, or without one after [pollIntervals].
func (c *Client) Trigger(ctx context.Context) (event.Delivery, error) {
	var sent struct {
		EventID string `json:"event_id"`
	}
	if err := c.doJSON(ctx, http.MethodPost, webhooks+"/test", nil, &sent); err != nil {
		return event.Delivery{}, err
	}
	for wait := range pollIntervals {
		select {
		case <-ctx.Done():
			return event.Delivery{}, ctx.Err()
		case <-time.After(pollIntervals[wait]):
		}
		var page struct{ Deliveries []event.Delivery }
		if err := c.doJSON(ctx, http.MethodGet, webhooks+"/deliveries?limit=20", nil, &page); err != nil {
			return event.Delivery{}, err
		}
		for _, d := range page.Deliveries {
			if d.EventID == sent.EventID && (len(d.Attempts) > 0 || wait == len(pollIntervals)-1) {
				return d, nil
			}
		}
	}
	return event.Delivery{EventID: sent.EventID, EventType: event.TestType, Status: event.Pending}, nil
}

// pollIntervals are the waits between polls of a delivery. Their sum is longer than an attempt may take.
var pollIntervals = [...]time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second}
