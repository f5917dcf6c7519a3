package partner

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/store"
)

// EventsIn asks for a page of events.
type EventsIn struct {
	AfterID Text      `json:"after_id,omitzero" jsonschema:"only events after this one; next_cursor of the page before"`
	Limit   PageLimit `json:"limit,omitzero" jsonschema:"events a page; 50 when left out"`
}

// EventsOut is events in the order in which they happened.
type EventsOut struct {
	Events     []Event       `json:"events"`
	NextCursor op.NextCursor `json:"next_cursor" jsonschema:"after_id of the next page; null when there is nothing more"`
}

// An Event is an event of the partner.
type Event struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"created_at"`
	PartnerID string    `json:"partner_id"`
	Data      op.Object `json:"data" jsonschema:"of an order's event: the order"`
}

func (a *API) listEvents() op.Operation[EventsIn, EventsOut] {
	return op.Operation[EventsIn, EventsOut]{
		Name:  "partner_list_events",
		Title: "Replay events",
		Doc: "What happened to the partner's orders, in the order in which it happened. Follow after_id to miss nothing, " +
			"such as after a webhook receiver was down.",
		Route: op.Route{Method: "GET", Path: root + "/events"},
		Scope: credential.ScopeWebhook, Limit: ClassReporting, Effect: op.Reads, Gone: true,
		Example: EventsIn{Limit: 50},
		Do: func(ctx context.Context, in EventsIn) (EventsOut, error) {
			events, next, err := a.events.History(ctx, wiring.Stream(party(ctx)), string(in.AfterID), int(in.Limit))
			if err != nil {
				return EventsOut{}, err
			}
			out := EventsOut{NextCursor: op.NextCursor(next)}
			for _, e := range events {
				out.Events = append(out.Events, Event{e.ID, e.Type, e.CreatedAt, e.Partner, op.Object(e.Data)})
			}
			return out, nil
		},
	}
}

// Secret is the key that signs webhooks.
type Secret string

// Schema is a bounded text.
func (Secret) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(event.MinSecret), MaxLength: new(event.MaxSecret)}
}

// A WebhookIn is the address and the secret of the webhook.
type WebhookIn struct {
	URL    Text   `json:"url" jsonschema:"https address that takes the events"`
	Secret Secret `json:"secret" jsonschema:"signs every delivery; it is never shown again"`
}

// NoInput is the input of an operation without parameters.
type NoInput struct{}

func (a *API) putWebhook() op.Operation[WebhookIn, event.Endpoint] {
	return op.Operation[WebhookIn, event.Endpoint]{
		Name:  "partner_put_webhook",
		Title: "Register the webhook",
		Doc: "Says where events are sent, and what signs them. There is one webhook; a second PUT changes it. After a change of " +
			"the secret, deliveries are signed with the one before as well, for 24 hours.",
		Route: op.Route{Method: "PUT", Path: webhooks},
		Scope: credential.ScopeWebhook, Limit: ClassWrite, Effect: op.Writes,
		Example: WebhookIn{URL: "https://partner.example/events", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		Do: func(ctx context.Context, in WebhookIn) (event.Endpoint, error) {
			return a.events.Register(ctx, wiring.Stream(party(ctx)), string(in.URL), string(in.Secret))
		},
	}
}

func (a *API) getWebhook() op.Operation[NoInput, event.Endpoint] {
	return op.Operation[NoInput, event.Endpoint]{
		Name:  "partner_get_webhook",
		Title: "Look at the webhook",
		Doc:   "Where events are sent, and whether they are: a webhook to which nothing could be delivered for 5 days is not active.",
		Route: op.Route{Method: "GET", Path: webhooks},
		Scope: credential.ScopeWebhook, Limit: ClassReporting, Effect: op.Reads,
		Do: func(ctx context.Context, _ NoInput) (event.Endpoint, error) {
			return a.events.Endpoint(ctx, wiring.Stream(party(ctx)))
		},
	}
}

func (a *API) deleteWebhook() op.Operation[NoInput, event.Endpoint] {
	return op.Operation[NoInput, event.Endpoint]{
		Name:  "partner_delete_webhook",
		Title: "Remove the webhook",
		Doc:   "Ends the delivery of events; what waits to be delivered is given up, and stays in the history. The answer is what was removed.",
		Route: op.Route{Method: "DELETE", Path: webhooks},
		Scope: credential.ScopeWebhook, Limit: ClassReporting, Effect: op.Writes,
		Do: func(ctx context.Context, _ NoInput) (event.Endpoint, error) {
			was, err := a.events.Endpoint(ctx, wiring.Stream(party(ctx)))
			if err == nil {
				err = a.events.Unregister(ctx, wiring.Stream(party(ctx)))
			}
			was.Active = false
			return was, err
		},
	}
}

// A TestOut is the test event that was sent.
type TestOut struct {
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
}

func (a *API) testWebhook() op.Operation[NoInput, TestOut] {
	return write(a, op.Operation[NoInput, TestOut]{
		Name:  "partner_test_webhook",
		Title: "Test the webhook",
		Doc:   "Sends an event of type webhook.test. What came of it is among the deliveries.",
		Route: op.Route{Method: "POST", Path: webhooks + "/test"},
		Scope: credential.ScopeWebhook,
	}, func(ctx context.Context, tx store.Tx, _ NoInput, _ time.Time) (TestOut, error) {
		s := wiring.Stream(party(ctx))
		e, err := a.events.TestIn(ctx, tx, s)
		if err != nil {
			return TestOut{}, err
		}
		return TestOut{e.ID, e.Type}, wiring.Emit(ctx, tx, false, func(ctx context.Context, tx store.Tx) error {
			_, err := a.events.AppendEvent(ctx, tx, s, e)
			return err
		})
	})
}

// DeliveriesIn asks for a page of deliveries.
type DeliveriesIn struct {
	Status DeliveryStatus `json:"status,omitzero"`
	Limit  PageLimit      `json:"limit,omitzero" jsonschema:"deliveries a page; 50 when left out"`
	Cursor op.Cursor      `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// DeliveryStatus is the state of a delivery.
type DeliveryStatus event.Status

// Schema is the enumeration of the states.
func (DeliveryStatus) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(event.Pending), string(event.Delivered), string(event.Failed)}}
}

// DeliveriesOut is a page of deliveries, the latest events first.
type DeliveriesOut struct {
	Deliveries []event.Delivery `json:"deliveries"`
	Page       Page             `json:"page"`
}

func (a *API) listDeliveries() op.Operation[DeliveriesIn, DeliveriesOut] {
	return op.Operation[DeliveriesIn, DeliveriesOut]{
		Name:  "partner_list_deliveries",
		Title: "List deliveries",
		Doc:   "What became of the events that were sent, the latest first, with every attempt and when the next one comes.",
		Route: op.Route{Method: "GET", Path: webhooks + "/deliveries"},
		Scope: credential.ScopeWebhook, Limit: ClassReporting, Effect: op.Reads, Gone: true,
		Example: DeliveriesIn{Status: DeliveryStatus(event.Pending)},
		Do: func(ctx context.Context, in DeliveriesIn) (DeliveriesOut, error) {
			list, next, err := a.events.Deliveries(ctx, wiring.Stream(party(ctx)), event.DeliveryFilter{
				Status: event.Status(in.Status), Cursor: string(in.Cursor), Limit: int(in.Limit),
			})
			return DeliveriesOut{list, Page{op.NextCursor(next)}}, err
		},
	}
}

// A DeliveryID names a delivery in the path.
type DeliveryID struct {
	ID Text `json:"id" jsonschema:"the delivery's id"`
}

func (a *API) redeliver() op.Operation[DeliveryID, event.Delivery] {
	return write(a, op.Operation[DeliveryID, event.Delivery]{
		Name:    "partner_redeliver",
		Title:   "Deliver again",
		Doc:     "Sends an event once more, at once, whatever became of it.",
		Route:   op.Route{Method: "POST", Path: webhooks + "/deliveries/{id}/redeliver"},
		Scope:   credential.ScopeWebhook,
		Example: DeliveryID{"dlv_06bqexample0000000000000000"},
	}, func(ctx context.Context, tx store.Tx, in DeliveryID, _ time.Time) (event.Delivery, error) {
		return a.events.RedeliverIn(ctx, tx, wiring.Stream(party(ctx)), string(in.ID))
	})
}
