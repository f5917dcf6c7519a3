package referral

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// LinkPath is the path of tracked links; the code follows.
const LinkPath = "/r/"

// A Type says where a link leads.
type Type string

// The types.
const (
	Generic Type = "generic" // the home page
	Domain  Type = "domain"  // a name that is for sale
	Product Type = "product"
)

// Schema is the enumeration of the types.
func (Type) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(Generic), string(Domain), string(Product)}}
}

// A ProductName names a part of the service.
type ProductName string

// products are the pages of the parts, in the order of the documentation. What has no page of its own is on the home page.
var products = []struct {
	name ProductName
	path string
}{{"search", "/"}, {"market", "/"}, {"brokerage", "/"}, {"api", "/docs"}}

// Schema is the enumeration of the products.
func (ProductName) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, p := range products {
		s.Enum = append(s.Enum, string(p.name))
	}
	return s
}

// pageOf is the path of a product's page; empty for an unknown product.
func pageOf(name ProductName) string {
	for _, p := range products {
		if p.name == name {
			return p.path
		}
	}
	return ""
}

// A Link is a tracked link, in the words of the wire.
type Link struct {
	LinkID    string      `json:"link_id"`
	Type      Type        `json:"type"`
	Domain    string      `json:"domain,omitzero"`
	Product   ProductName `json:"product,omitzero"`
	Label     string      `json:"label,omitzero"`
	URL       string      `json:"url"`
	CreatedAt time.Time   `json:"created_at"`

	Partner     string `json:"-"`
	Environment string `json:"-"`

	code string
}

func (l Link) party() Party { return Party{l.Partner, l.Environment} }

// target is the path that the link leads to.
func (l Link) target() string {
	switch l.Type {
	case Domain:
		return "/market/" + l.Domain
	case Product:
		return pageOf(l.Product)
	}
	return "/"
}

// MaxLinks is how many links a party may have, MaxLabel the length of a label in characters.
const (
	MaxLinks = 10_000
	MaxLabel = 100
)

// A Request asks for a link.
type Request struct {
	Type    Type
	Domain  fqdn.Name   // of [Domain] links only
	Product ProductName // of [Product] links only
	Label   string      // for the partner; may be empty
}

func (r Request) check() error {
	switch {
	case r.Type != Generic && r.Type != Domain && r.Type != Product:
		return fault.Invalid("type", "must be %s, %s or %s", Generic, Domain, Product)
	case r.Type == Domain && r.Domain.IsZero():
		return fault.Invalid("domain", "is required for a link to a domain")
	case r.Type != Domain && !r.Domain.IsZero():
		return fault.Invalid("domain", "belongs to links of type %s", Domain)
	case r.Type == Product && pageOf(r.Product) == "":
		return fault.Invalid("product", "must be search, market, brokerage or api")
	case r.Type != Product && r.Product != "":
		return fault.Invalid("product", "belongs to links of type %s", Product)
	case utf8.RuneCountInString(r.Label) > MaxLabel || !utf8.ValidString(r.Label) || strings.ContainsFunc(r.Label, unprintable):
		return fault.Invalid("label", "must be at most %d printable characters", MaxLabel)
	}
	return nil
}

func unprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// codes are base32 in lower case without letters that look like digits.
var codes = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

const codeBytes = 8

func newCode() string {
	raw := make([]byte, codeBytes)
	rand.Read(raw)
	return codes.EncodeToString(raw)
}

// isCode reports whether a text may be the code of a link.
func isCode(text string) bool {
	raw, err := codes.DecodeString(text)
	return err == nil && len(raw) == codeBytes && codes.EncodeToString(raw) == text
}

// Create makes a link of the party within a transaction of the caller. It fails with [fault.Validation] naming the field, and
// with [fault.Conflict] when the party has [MaxLinks].
func (s *Service) Create(ctx context.Context, tx store.Tx, p Party, r Request, now time.Time) (Link, error) {
	if err := r.check(); err != nil {
		return Link{}, err
	}
	n, err := countLinks(ctx, tx, p)
	if err != nil {
		return Link{}, fmt.Errorf("count links: %w", err)
	}
	if n >= MaxLinks {
		return Link{}, fault.New(fault.Conflict, "there are %d links, which is the most a partner may have", MaxLinks)
	}
	l := Link{
		LinkID: store.NewID("lnk"), Type: r.Type, Product: r.Product, Label: r.Label, CreatedAt: store.Time(store.Micros(now)),
		Partner: p.Partner, Environment: p.Environment, code: newCode(),
	}
	if r.Type == Domain {
		l.Domain = r.Domain.String()
	}
	if err := insertLink(ctx, tx, l); err != nil {
		return Link{}, fmt.Errorf("create a link: %w", err)
	}
	l.URL = s.cfg.BaseURL + LinkPath + l.code
	return l, nil
}

// A Position is a place between two entries of a list.
type Position = store.Position

// Limits of a page.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// A LinkReport is a link with what came of it.
type LinkReport struct {
	Link
	Clicks         int64  `json:"clicks" jsonschema:"once a visitor and day"`
	UniqueVisitors int64  `json:"unique_visitors" jsonschema:"sum of the visitors of each day"`
	Conversions    int64  `json:"conversions" jsonschema:"sales by the link, whatever became of them"`
	SalesCents     int64  `json:"sales_cents" jsonschema:"sum of the sales in the currency"`
	Currency       string `json:"currency" jsonschema:"that of most of its sales; USD before the first one"`
}

// A LinkPage is a part of the links.
type LinkPage struct {
	Links []LinkReport
	Next  *Position // nil: this is the end
}

// Links returns the party's links with what came of them, the newest first.
func (s *Service) Links(ctx context.Context, p Party, after *Position, limit int) (page LinkPage, err error) {
	if limit, err = pageSize(limit); err != nil {
		return LinkPage{}, err
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		links, err := selectLinks(ctx, tx, p, after, limit+1)
		if err != nil {
			return err
		}
		page = LinkPage{}
		if len(links) > limit {
			links = links[:limit]
			last := links[limit-1]
			page.Next = &Position{At: store.Micros(last.CreatedAt), ID: last.LinkID}
		}
		page.Links, err = reportLinks(ctx, tx, links)
		return err
	})
	for i := range page.Links {
		page.Links[i].URL = s.cfg.BaseURL + LinkPath + page.Links[i].code
	}
	return page, fault.Wrap("list links", err)
}

func pageSize(limit int) (int, error) {
	if limit == 0 {
		return DefaultPage, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, fault.Invalid("limit", "must be from 1 to %d", MaxPage)
	}
	return limit, nil
}
