package account

import (
	"context"
	"slices"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A disabled account has no sessions, and no way to sign in until it is enabled.
func TestDisabledAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		provider := oidctest.Start(t)
		revoked := 0
		r := newFixture(t, db, func(c *Config) {
			withProvider(provider)(c)
			c.OnRevokeAll = func(context.Context, store.Tx, string) error { revoked++; return nil }
		})
		ctx, d := t.Context(), newAuthenticator()
		who, err := r.Create(ctx, "ada@names.example", passphrase)
		must(t, "create", err)
		d.register(t, r, who.ID, "laptop")
		_, err = r.pass(t, provider, who.ID, "")
		must(t, "link an identity", err)
		token := r.session(who.ID)
		address, err := r.Link(ctx, who.Email)
		must(t, "a link", err)
		link := tokenIn(t, address, LinkPath, TokenParameter)
		_, wrong := r.SignIn(ctx, who.Email, "not the password", home)
		existed := revoked

		must(t, "disable", r.Disable(ctx, who.ID))
		must(t, "disable again", r.Disable(ctx, who.ID))
		want(t, "ends of grants", revoked-existed, 1)
		_, err = r.Session(ctx, token)
		wantCode(t, "the session of before", err, fault.AuthenticationRequired)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		if err == nil || err.Error() != wrong.Error() {
			t.Errorf("the right password: got %v, want the answer to a wrong one, %v", err, wrong)
		}
		_, err = d.signIn(t, r)
		wantCode(t, "the passkey", err, fault.AuthenticationRequired)
		_, err = r.pass(t, provider, "", "")
		wantCode(t, "the identity", err, fault.Forbidden)
		_, err = r.UseLink(ctx, link, home)
		wantCode(t, "the link of before", err, fault.InvalidToken)
		_, _, err = r.StartSession(ctx, who.ID, home, "")
		wantCode(t, "a sign-in that was under way", err, fault.NotFound)
		_, err = r.Link(ctx, who.Email)
		wantCode(t, "another link of the operator", err, fault.Conflict)
		box := newMailbox()
		asked, err := New(ctx, Config{DB: db, BaseURL: "https://names.example", Now: r.clock.Now, Mail: box})
		must(t, "new accounts", err)
		must(t, "ask for a mailed link", asked.RequestLink(ctx, who.Email, home))
		must(t, "ask for another password", asked.RequestReset(ctx, who.Email, home))
		asked.Close() // after the mail
		want(t, "mails", len(box.mail), 0)

		must(t, "enable", r.Enable(ctx, who.ID))
		in, err := r.SignIn(ctx, who.Email, passphrase, home)
		must(t, "sign in again", err)
		want(t, "account", in, who)
		_, err = d.signIn(t, r)
		must(t, "the passkey again", err)
		_, err = r.pass(t, provider, "", "")
		must(t, "the identity again", err)
		events := r.events(who.ID)
		if !slices.Contains(events, Disabled) || !slices.Contains(events, Enabled) {
			t.Errorf("security log: got %v", events)
		}
		wantCode(t, "disable an account that is none", r.Disable(ctx, "acc_none"), fault.NotFound)
		wantCode(t, "enable an account that is none", r.Enable(ctx, "acc_none"), fault.NotFound)
	})
}

func TestListAndRemove(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		for _, email := range []string{"ada@names.example", "a_a@names.example", "bob@other.example"} {
			r.clock.advance(1000)
			_, err := r.Create(ctx, email, passphrase)
			must(t, "create", err)
		}
		bob, err := r.Find(ctx, "bob@other.example")
		must(t, "find", err)
		must(t, "disable", r.Disable(ctx, bob.ID))
		for _, c := range []struct {
			filter Filter
			want   []string
		}{
			{Filter{Limit: 10}, []string{"bob@other.example", "a_a@names.example", "ada@names.example"}},
			{Filter{Limit: 1}, []string{"bob@other.example"}},
			{Filter{Limit: 10, Email: "NAMES."}, []string{"a_a@names.example", "ada@names.example"}},
			{Filter{Limit: 10, Email: "a_a"}, []string{"a_a@names.example"}},
			{Filter{Limit: 10, Email: "%"}, nil},
			{Filter{Limit: 10, Disabled: true}, []string{"bob@other.example"}},
			{Filter{Limit: 10, Active: true}, []string{"a_a@names.example", "ada@names.example"}},
		} {
			found, err := r.List(ctx, c.filter)
			must(t, "list", err)
			var got []string
			for _, a := range found {
				got = append(got, a.Email)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
			}
		}
		_, err = r.List(ctx, Filter{Limit: MaxListed + 1})
		wantCode(t, "too many", err, fault.Validation)
		must(t, "remove", r.Remove(ctx, bob.ID))
		wantCode(t, "remove again", r.Remove(ctx, bob.ID), fault.NotFound)
		_, err = r.Account(ctx, bob.ID)
		wantCode(t, "the account that was removed", err, fault.NotFound)
	})
}
