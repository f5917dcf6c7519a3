package referral

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"
)

// CookieLife is how long after a visit a checkout is attributed to the link.
const CookieLife = 30 * 24 * time.Hour

// CookieName is the name of the cookie. Over https its prefix keeps other hosts of the same site from setting it.
func CookieName(secure bool) string {
	if secure {
		return "__Host-nw_ref"
	}
	return "nw_ref"
}

// A Visitor is who follows a link.
type Visitor struct {
	Address   netip.Addr
	UserAgent string
	Counts    bool // it is a person's navigation, see [Counts]
}

// Counts reports whether a request is the navigation of a person in a browser: a GET that is no prefetch, of a page and not of
// a frame or an image within another site's, and by no known crawler.
func Counts(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	for _, name := range [...]string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if v := strings.ToLower(r.Header.Get(name)); strings.Contains(v, "prefetch") || strings.Contains(v, "prerender") || strings.Contains(v, "preview") {
			return false
		}
	}
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" && dest != "empty" {
		return false
	}
	return !isBot(r.UserAgent())
}

// botText is the list of crawlers; its head explains it.
//
//go:embed bots.txt
var botText string

var bots = func() (all []string) {
	for line := range strings.Lines(botText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.ToLower(line))
		}
	}
	return all
}()

// isBot reports whether a user agent is that of a known crawler, preview or monitor, or none.
func isBot(agent string) bool {
	agent = strings.ToLower(agent[:min(len(agent), maxUserAgent)])
	return agent == "" || slices.ContainsFunc(bots, func(b string) bool { return strings.Contains(agent, b) })
}

// A Visit is what a browser gets that follows a link.
type Visit struct {
	Target string // path to go to
	Cookie string // value of the cookie; empty: none is set
}

// A visited is a link in memory.
type visited struct {
	link  Link
	ahead time.Duration // of the party's clock
}

// Known reports whether a visit of the code would be answered from memory.
func (s *Service) Known(code string) bool {
	_, ok := s.links.Get(code)
	return ok
}

// Visit answers a visit of a link and counts it where it counts. An unknown code leads to "/". Whatever fails, the visitor gets
// to where the link leads if that is known.
func (s *Service) Visit(ctx context.Context, code string, by Visitor) (Visit, error) {
	if !isCode(code) {
		return Visit{Target: "/"}, nil
	}
	v, err := s.links.Load(ctx, code, func(ctx context.Context) (*visited, time.Time, error) { return s.load(ctx, code) })
	if err != nil || v == nil {
		return Visit{Target: "/"}, err
	}
	answer := Visit{Target: v.link.target()}
	if !by.Counts {
		return answer, nil
	}
	now := s.cfg.Now()
	if err := s.clicks.add(ctx, v.link, now.Add(v.ahead), by); err != nil {
		return answer, err
	}
	answer.Cookie, err = s.cookie(ctx, code, now.Add(v.ahead))
	return answer, err
}

// load reads a link.
func (s *Service) load(ctx context.Context, code string) (*visited, time.Time, error) {
	now := s.cfg.Now()
	var v *visited
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		v = nil
		l, err := selectLinkOf(ctx, tx, code)
		if store.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		local, err := s.cfg.Clock(ctx, tx, l.party())
		v = &visited{link: l, ahead: max(0, local.Sub(now))}
		return err
	})
	switch {
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("look up a link: %w", err)
	case v == nil:
		return nil, now.Add(unknownLife), nil
	case v.link.Environment == sandbox:
		return v, now.Add(sandboxLife), nil
	}
	v.ahead = 0
	return v, now.Add(linkLife), nil
}

const sandbox = "SANDBOX"

// cookie is the value of the cookie for a link at a time of its party's clock. It is signed, so that nobody makes it younger.
func (s *Service) cookie(ctx context.Context, code string, at time.Time) (string, error) {
	secret, err := s.signingSecret(ctx)
	if err != nil {
		return "", err
	}
	text := code + "." + strconv.FormatInt(at.Unix(), 36)
	return text + "." + sign(secret, text), nil
}

func sign(secret []byte, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// readCookie returns the code and the time of a visit; ok is false for what cookie does not make.
func (s *Service) readCookie(ctx context.Context, value string) (code string, at time.Time, ok bool, err error) {
	text, signature, _ := cutLast(value, '.')
	code, seconds, _ := strings.Cut(text, ".")
	unix, bad := strconv.ParseInt(seconds, 36, 64)
	if bad != nil || !isCode(code) {
		return "", time.Time{}, false, nil
	}
	secret, err := s.signingSecret(ctx)
	if err != nil {
		return "", time.Time{}, false, err
	}
	if !hmac.Equal([]byte(signature), []byte(sign(secret, text))) {
		return "", time.Time{}, false, nil
	}
	return code, time.Unix(unix, 0).UTC(), true, nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
