package pages

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/oauthas"
)

// exportBatch is how many rows of a list are read at a time.
const exportBatch = 500

func (p *Pages) showExport(*request) (response, error) {
	return response{page: "export", title: "Export your data"}, nil
}

// export sends all data of the account as one JSON object. It reads and writes long lists in batches; on an error it aborts
// the connection, so that a browser does not take the file for complete.
func (p *Pages) export(req *request) (response, error) {
	record, err := p.accounts.Export(req.Context(), req.session, req.from)
	if stale := stepUpRedirect(err, exportPath); stale != nil {
		return *stale, nil
	}
	if err != nil {
		return response{}, err
	}
	apps, err := p.oauth.Grants(req.Context(), req.session.AccountID)
	if err != nil {
		return response{}, err
	}
	return response{file: func(w io.Writer) error {
		f := &jsonFile{w: w}
		f.members(profileOf(record, apps))
		p.exportLists(req, f)
		return f.end()
	}, filename: "namewharf-account.json"}, nil
}

func (p *Pages) exportLists(req *request, f *jsonFile) {
	ctx, id := req.Context(), req.session.AccountID
	exportList(f, "securityLog", func(last account.Entry) ([]account.Entry, error) {
		return p.accounts.LogAfter(ctx, id, last, exportBatch)
	}, func(e account.Entry) any {
		return exportedEvent{At: e.At, What: string(e.What), Detail: e.Detail, From: e.From, Times: e.Times}
	})
	if p.portfolios == nil {
		return
	}
	exportList(f, "domains", func(last portfolio.Claim) ([]portfolio.Claim, error) {
		claims, _, err := p.portfolios.List(ctx, id, last.Domain, exportBatch)
		return claims, err
	}, func(c portfolio.Claim) any {
		return exportedDomain{
			Domain: c.Domain.String(), Status: string(c.Status), Proof: c.Proof, Price: priceText(c.Price), Added: c.Added,
			Verified: c.VerifiedAt, Registrar: c.Registration.Registrar, Registered: c.Registration.Created, Expires: c.Registration.Expires,
		}
	})
	exportList(f, "listings", func(last portfolio.Listing) ([]portfolio.Listing, error) {
		return p.portfolios.Listings(ctx, id, last, exportBatch)
	}, func(l portfolio.Listing) any {
		return exportedListing{ID: l.ID, Domain: l.Domain.String(), Status: l.Status, Price: priceText(l.Price), Listed: l.ListedAt, Updated: l.UpdatedAt}
	})
	exportList(f, "domainEvents", func(last portfolio.Event) ([]portfolio.Event, error) {
		return p.portfolios.Events(ctx, id, last, exportBatch)
	}, func(e portfolio.Event) any {
		return exportedEvent{At: e.At, What: string(e.Kind), Domain: e.Domain.String(), Detail: e.Detail}
	})
}

// The content of the file. Times are RFC 3339 in UTC; unknown values are left out.
type (
	profile struct {
		ID          string             `json:"accountId"`
		Email       string             `json:"email"`
		Verified    bool               `json:"emailVerified"`
		Created     time.Time          `json:"created"`
		HasPassword bool               `json:"hasPassword"`
		Sessions    []exportedSession  `json:"sessions"`
		Passkeys    []exportedPasskey  `json:"passkeys"`
		Identities  []exportedIdentity `json:"identities"`
		Apps        []exportedApp      `json:"apps"`
	}
	exportedSession struct {
		ID            string     `json:"id"`
		Started       time.Time  `json:"started"`
		LastSeen      time.Time  `json:"lastSeen"`
		Authenticated time.Time  `json:"authenticated"`
		Expires       time.Time  `json:"expires"`
		From          netip.Addr `json:"address,omitzero"`
		UserAgent     string     `json:"userAgent,omitzero"`
	}
	exportedPasskey struct {
		ID      string    `json:"id"`
		Name    string    `json:"name"`
		Created time.Time `json:"created"`
		Used    time.Time `json:"lastUsed,omitzero"`
		Synced  bool      `json:"onSeveralDevices"`
	}
	exportedIdentity struct {
		Provider string    `json:"provider"`
		Subject  string    `json:"subject"`
		Linked   time.Time `json:"linked"`
	}
	exportedApp struct {
		ID          string    `json:"grantId"`
		ClientID    string    `json:"clientId"`
		Name        string    `json:"name,omitzero"`
		RedirectURI string    `json:"redirectUri"`
		Scopes      []string  `json:"scopes"`
		Resources   []string  `json:"resources"`
		Created     time.Time `json:"created"`
		LastUsed    time.Time `json:"lastUsed"`
		Expires     time.Time `json:"expires"`
	}
	exportedEvent struct {
		At     time.Time  `json:"at"`
		What   string     `json:"what"`
		Domain string     `json:"domain,omitzero"`
		Detail string     `json:"detail,omitzero"`
		From   netip.Addr `json:"address,omitzero"`
		Times  int        `json:"times,omitzero"`
	}
	exportedDomain struct {
		Domain     string    `json:"domain"`
		Status     string    `json:"status"`
		Proof      string    `json:"proof"`
		Price      string    `json:"price,omitzero"`
		Added      time.Time `json:"added"`
		Verified   time.Time `json:"verified,omitzero"`
		Registrar  string    `json:"registrar,omitzero"`
		Registered time.Time `json:"registered,omitzero"`
		Expires    time.Time `json:"expires,omitzero"`
	}
	exportedListing struct {
		ID      string    `json:"id"`
		Domain  string    `json:"domain"`
		Status  string    `json:"status"`
		Price   string    `json:"price"`
		Listed  time.Time `json:"listed,omitzero"`
		Updated time.Time `json:"updated"`
	}
)

func profileOf(r account.ExportData, apps []oauthas.Grant) profile {
	p := profile{
		ID: r.Account.ID, Email: r.Account.Email, Verified: r.Account.Verified, Created: r.Account.Created, HasPassword: r.HasPassword,
		Sessions: []exportedSession{}, Passkeys: []exportedPasskey{}, Identities: []exportedIdentity{}, Apps: []exportedApp{},
	}
	for _, s := range r.Sessions {
		p.Sessions = append(p.Sessions, exportedSession{s.ID, s.Started, s.LastSeen, s.AuthenticatedAt, s.Expires, s.From, s.UserAgent})
	}
	for _, k := range r.Passkeys {
		p.Passkeys = append(p.Passkeys, exportedPasskey{k.ID, k.Name, k.Created, k.Used, k.Synced})
	}
	for _, i := range r.Identities {
		p.Identities = append(p.Identities, exportedIdentity{i.Provider, i.Subject, i.Linked})
	}
	for _, g := range apps {
		p.Apps = append(p.Apps, exportedApp{g.ID, g.ClientID, g.ClientName, g.RedirectURI, g.Scopes, g.Resources, g.Created, g.LastUsed, g.Expires})
	}
	return p
}

func priceText(a money.Amount) string {
	if a == (money.Amount{}) {
		return ""
	}
	return a.String()
}

// A jsonFile writes one JSON object. After a failure it writes nothing more.
type jsonFile struct {
	w   io.Writer
	err error
}

func (f *jsonFile) text(s string) {
	if f.err == nil {
		_, f.err = io.WriteString(f.w, s)
	}
}

func (f *jsonFile) value(data any) {
	b, err := json.Marshal(data)
	if f.err == nil {
		f.err = err
	}
	f.text(string(b))
}

// members begins the object with the members of data, a struct with at least one.
func (f *jsonFile) members(data any) {
	b, err := json.Marshal(data)
	if f.err == nil {
		f.err = err
	}
	if f.err == nil {
		f.text(string(b[:len(b)-1]))
	}
}

func (f *jsonFile) end() error {
	f.text("}\n")
	return f.err
}

// exportList writes a list as a member, one row per line. next reads the rows that follow the last one; none at the end.
func exportList[T any](f *jsonFile, name string, next func(last T) ([]T, error), row func(T) any) {
	f.text(",\n\"" + name + "\":[")
	var last T
	for first := true; f.err == nil; {
		rows, err := next(last)
		if err != nil {
			f.err = fmt.Errorf("export %s: %w", name, err)
			return
		}
		for _, r := range rows {
			if !first {
				f.text(",")
			}
			first = false
			f.text("\n")
			f.value(row(r))
		}
		if len(rows) < exportBatch {
			break
		}
		last = rows[len(rows)-1]
	}
	f.text("]")
}

// sendFile sends a download.
func (p *Pages) sendFile(req *request, a response) {
	h := req.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+a.filename+`"`)
	req.w.WriteHeader(http.StatusOK)
	if err := a.file(req.w); err != nil {
		if req.Context().Err() == nil {
			p.mw.Report(req.Context(), err)
		}
		panic(http.ErrAbortHandler)
	}
}
