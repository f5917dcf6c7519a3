package partnercli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// A Buyer says how to play a buyer at a checkout.
type Buyer struct {
	URL     string // of a checkout session, or of a name's page
	Card    string // number of a test card
	Email   string
	Approve bool // approve what the bank asks; otherwise refuse
}

// Bought is how a purchase ended.
type Bought struct {
	Result     string `json:"result"` // paid, declined, or the title of the last page
	OrderID    string `json:"order_id,omitempty"`
	SessionID  string `json:"session_id,omitempty"`
	ReturnedTo string `json:"returned_to,omitempty"` // the partner's address, which is not opened
}

// Bounds of a purchase.
const (
	maxPages = 20
	maxPage  = 1 << 20
)

// Buy goes through a checkout as a browser does, by the forms of its pages, and stops where it would leave the service.
func Buy(ctx context.Context, b Buyer) (Bought, error) {
	start, err := url.Parse(b.URL)
	if err != nil || start.Host == "" || start.Scheme != "http" && start.Scheme != "https" {
		return Bought{}, errors.New("the URL of the checkout must be absolute, as checkout_url is")
	}
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	next, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL, nil)
	sent := false // a card
	for range maxPages {
		if err != nil {
			return Bought{}, err
		}
		at := next.URL
		if at.Host != start.Host || at.Query().Has("order") {
			return Bought{Result: cmp.Or(map[bool]string{true: "paid"}[at.Query().Has("order")], "cancelled"), OrderID: at.Query().Get("order"), SessionID: at.Query().Get("session"), ReturnedTo: at.String()}, nil
		}
		response, err2 := client.Do(next)
		if err2 != nil {
			return Bought{}, err2
		}
		page, err2 := io.ReadAll(io.LimitReader(response.Body, maxPage))
		response.Body.Close()
		if err2 != nil {
			return Bought{}, err2
		}
		if to := response.Header.Get("Location"); to != "" {
			var u *url.URL
			if u, err = at.Parse(to); err == nil {
				next, err = http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
			}
			continue
		}
		if response.StatusCode == http.StatusPaymentRequired && sent { // the page says of an earlier card too that it was declined
			return Bought{Result: "declined"}, nil
		}
		title, form := read(page)
		if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPaymentRequired {
			return Bought{}, fmt.Errorf("the service answered %d: %s", response.StatusCode, title)
		}
		if wait := response.Header.Get("Refresh"); wait != "" && form == nil {
			if next, err = again(ctx, at, wait); err == nil {
				continue
			}
			return Bought{}, err
		}
		if form == nil {
			return Bought{Result: strings.ToLower(title)}, nil
		}
		sent = sent || form.fields.Has("number")
		next, err = b.fill(ctx, at, form)
	}
	return Bought{}, cmp.Or(err, errors.New("the checkout has no end"))
}

// again waits as long as a page that looks again asks for, and loads it again.
func again(ctx context.Context, at *url.URL, refresh string) (*http.Request, error) {
	_, to, forward := strings.Cut(refresh, "url=")
	if forward {
		return http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	}
	select {
	case <-time.After(time.Second):
		return http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A form is the first form of a page.
type form struct {
	action  string
	fields  url.Values
	buttons map[string]bool // values of the buttons named do
}

// fill sends a form as the buyer fills it.
func (b Buyer) fill(ctx context.Context, at *url.URL, f *form) (*http.Request, error) {
	to, err := at.Parse(f.action)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"email": cmp.Or(b.Email, "buyer@example.com"), "number": cmp.Or(b.Card, "4242 4242 4242 4242"), "expiry": "12/34", "cvc": "123",
	} {
		if f.fields.Has(name) {
			f.fields.Set(name, value)
		}
	}
	switch {
	case f.buttons["approve"] && b.Approve:
		f.fields.Set("do", "approve")
	case f.buttons["refuse"]:
		f.fields.Set("do", "refuse")
	case f.buttons["pay"]:
		f.fields.Set("do", "pay")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(f.fields.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, err
}

// read returns the heading of a page and its first form; nil if it has none.
func read(page []byte) (title string, first *form) {
	z := html.NewTokenizer(strings.NewReader(string(page)))
	inTitle, forms := false, 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return strings.TrimSpace(title), first
		}
		t := z.Token()
		attrs := map[string]string{}
		for _, a := range t.Attr {
			attrs[a.Key] = a.Val
		}
		switch {
		case t.Data == "h1" && kind != html.TextToken:
			inTitle = kind == html.StartTagToken
		case kind == html.TextToken && inTitle:
			title += t.Data
		case t.Data == "form" && kind == html.StartTagToken:
			if forms++; forms == 1 {
				first = &form{action: attrs["action"], fields: url.Values{}, buttons: map[string]bool{}}
			}
		case forms == 1 && t.Data == "input":
			first.fields.Set(attrs["name"], attrs["value"])
		case forms == 1 && t.Data == "button" && attrs["name"] == "do":
			first.buttons[attrs["value"]] = true
		}
	}
}
