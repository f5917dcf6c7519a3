package pages

import (
	"context"
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Partners are the services of the partner API that have pages for the public. A field that is nil has no pages.
type Partners struct {
	Cases Cases
	Links Links
}

// Links are tracked links; [referral.Service] is one.
type Links interface {
	Known(code string) bool
	Visit(ctx context.Context, code string, by referral.Visitor) (referral.Visit, error)
}

// referralPath is the pattern of tracked links.
const referralPath = referral.LinkPath + "{code}"

// followLink redirects to where a link leads and sets the cookie by which a checkout is attributed. It reads no session. Only
// codes that are not in memory are charged, so that a link that many follow works for all of them.
func (p *Pages) followLink(w http.ResponseWriter, r *http.Request) {
	middleware.Note(r.Context(), "referral_link", "")
	req, code := p.newRequest(w, r), r.PathValue("code")
	if !p.partners.Links.Known(code) {
		if err := p.mw.Charge(w, r, []op.Charge{{Class: op.Page, Count: 1}}); err != nil {
			p.fail(req, err)
			return
		}
	}
	agent := r.UserAgent()
	v, err := p.partners.Links.Visit(r.Context(), code, referral.Visitor{Address: req.from, UserAgent: agent, Counts: referral.Counts(r)})
	if err != nil {
		p.mw.Expose(r.Context(), err) // is logged; the visitor goes on
	}
	if v.Cookie != "" {
		http.SetCookie(w, &http.Cookie{
			Name: referral.CookieName(p.secure), Value: v.Cookie, Path: "/", MaxAge: int(referral.CookieLife.Seconds()),
			HttpOnly: true, Secure: p.secure, SameSite: http.SameSiteLaxMode,
		})
	}
	h := w.Header()
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Location", "/"+strings.TrimPrefix(v.Target, "/"))
	w.WriteHeader(http.StatusFound)
}
