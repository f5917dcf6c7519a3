package account

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// sensitive is everything that [Accounts.StepUp] guards. The account of the session has no password.
var sensitive = map[string]func(r *fixture, s Session) error{
	"begin to add a passkey": func(r *fixture, s Session) error { _, _, err := r.BeginRegister(r.t.Context(), s); return err },
	"remove a passkey":       func(r *fixture, s Session) error { return r.RemovePasskey(r.t.Context(), s, "pk_1", true, home) },
	"begin to link an account elsewhere": func(r *fixture, s Session) error {
		_, _, err := r.BeginUpstream(r.t.Context(), "example", s, "")
		return err
	},
	"unlink an account elsewhere": func(r *fixture, s Session) error {
		return r.Unlink(r.t.Context(), s, "example", "person-1", true, home)
	},
	"set the first password": func(r *fixture, s Session) error { return r.ChangePassword(r.t.Context(), s, "", passphrase, home) },
	"export the data":        func(r *fixture, s Session) error { _, err := r.Export(r.t.Context(), s, home); return err },
	"delete the account":     func(r *fixture, s Session) error { return r.Delete(r.t.Context(), s) },
}

// No action checked when the session was authenticated.
func TestSensitiveActionsTakeARecentSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		p.Claims["email"] = "ada@names.example"
		who, err := r.pass(t, p, "", "")
		must(t, "sign up at the provider", err)
		token := r.session(who.ID)
		r.clock.advance(StepUpLife - time.Microsecond)
		s, err := r.Session(ctx, token)
		must(t, "read the session", err)
		want(t, "fresh a moment before ten minutes", r.Fresh(s), true)
		r.clock.advance(time.Microsecond)
		s, err = r.Session(ctx, token) // which lets it last, and not as freshly authenticated
		must(t, "read the session again", err)
		for what, do := range sensitive {
			err := do(r, s)
			if !errors.Is(err, ErrStepUp) || !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s, ten minutes later: got %v, want %v", what, err, ErrStepUp)
			}
			if err := do(r, Session{}); !errors.Is(err, ErrStepUp) && what != "begin to link an account elsewhere" && what != "set the first password" {
				t.Errorf("%s without a session: got %v, want %v", what, err, ErrStepUp)
			}
		}
		for what, do := range sensitive {
			if err := do(r, r.fresh(who.ID)); errors.Is(err, ErrStepUp) {
				t.Errorf("%s, just signed in: got %v", what, err)
			}
			if what == "delete the account" || what == "set the first password" { // which took the account, or gave it a password
				must(t, "come back", func() error { who, err = r.pass(t, p, "", ""); return err }())
				must(t, "take the password", r.db.Tx(ctx, func(tx store.Tx) error { return setPassword(ctx, tx, who.ID, "") }))
			}
		}
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		wantCode(t, "a password that was taken", err, fault.AuthenticationRequired)
	})
}

// Every change of the sign-in methods of an account is mailed to its owner, even over the mail quota.
func TestChangesAreMailed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx, d := newFixture(t, db, withProvider(p)), t.Context(), newAuthenticator()
		p.Claims["email"], p.Claims["email_verified"] = "elsewhere@other.example", false
		who := r.account("ada@names.example")
		for r.limits.mail(who.Email) { // as many as there may be
		}
		wantMail := func(what string, l mailTemplate) {
			t.Helper()
			m := r.box.next(t)
			want(t, "mail about "+what, m.Subject, l.subject)
			want(t, "to", m.To, who.Email)
		}
		key := d.register(t, r, who.ID, "Laptop")
		wantMail("a passkey", passkeyAddedMail)
		must(t, "remove", r.RemovePasskey(ctx, r.fresh(who.ID), key.ID, false, home))
		wantMail("a passkey less", passkeyRemovedMail)
		_, err := r.pass(t, p, who.ID, "")
		must(t, "link", err)
		wantMail("a link", linkedMail)
		_, err = r.pass(t, p, "", "")
		must(t, "sign in there, which is no change", err)
		must(t, "unlink", r.Unlink(ctx, r.fresh(who.ID), "example", "person-1", false, home))
		wantMail("a link less", unlinkedMail)
		must(t, "change the password", r.ChangePassword(ctx, r.fresh(who.ID), passphrase, "a fresh password", home))
		wantMail("another password", changedMail)
		must(t, "take the password", r.db.Tx(ctx, func(tx store.Tx) error { return setPassword(ctx, tx, who.ID, "") }))
		must(t, "set the first password", r.ChangePassword(ctx, r.fresh(who.ID), "", passphrase, home))
		wantMail("the first password", firstPasswordMail)
		p.Claims["email"], p.Claims["email_verified"] = who.Email, true
		_, err = r.pass(t, p, "", "")
		must(t, "sign in at a provider that knows the address", err)
		wantMail("a link that came by the address", linkedMail)
		must(t, "delete", r.Delete(ctx, r.fresh(who.ID)))
		wantMail("the end", deletedMail)
	})
}

func TestTheLastMeansOfSigningIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		mailed, logged := newFixture(t, db, nil), newFixture(t, db, func(c *Config) { c.Mail = nil })
		for name, r := range map[string]*fixture{"mailed": mailed, "logged": logged} {
			who, d, other := r.account(name+"@names.example"), newAuthenticator(), newAuthenticator()
			first, second := d.register(t, r, who.ID, "one"), other.register(t, r, who.ID, "two")
			must(t, "take the password", r.db.Tx(ctx, func(tx store.Tx) error { return setPassword(ctx, tx, who.ID, "") }))
			must(t, "remove one of two", r.RemovePasskey(ctx, r.fresh(who.ID), first.ID, false, home))
			m, err := r.SignInMethods(ctx, who.ID)
			must(t, "means", err)
			if !m.Last() || m.Passkeys != 1 || m.Password || m.Mail != (r == mailed) {
				t.Errorf("%s: got the means %+v", name, m)
			}
			wantCode(t, name+": the last without a warning", r.RemovePasskey(ctx, r.fresh(who.ID), second.ID, false, home), fault.Conflict)
			err = r.RemovePasskey(ctx, r.fresh(who.ID), second.ID, true, home)
			if r == mailed {
				must(t, name+": the last with one", err)
			} else {
				wantCode(t, name+": the last with one", err, fault.Conflict)
			}
			keys, err := r.Passkeys(ctx, who.ID)
			must(t, "passkeys", err)
			want(t, name+": passkeys left", len(keys) == 0, r == mailed)
		}
	})
}

// An attacker may have added a passkey or a linked identity, which a password reset left in place.
func TestResetRemovesPasskeysAndLinks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		p.Claims["email"], p.Claims["email_verified"] = "thief@other.example", false
		for name, keep := range map[string]bool{"kept": true, "removed": false} {
			who := r.account(name + "@names.example")
			newAuthenticator().register(t, r, who.ID, "thief's")
			p.Claims["sub"] = name
			_, err := r.pass(t, p, who.ID, "")
			must(t, "link", err)
			var token string
			must(t, "mint", r.db.Tx(ctx, func(tx store.Tx) (err error) {
				token, err = r.newToken(ctx, tx, toReset, who.ID)
				return err
			}))
			_, err = r.ResetPassword(ctx, Reset{Token: token, Password: "a fresh password", KeepOthers: keep}, home)
			must(t, "reset", err)
			m, err := r.SignInMethods(ctx, who.ID)
			must(t, "means", err)
			want(t, name+": passkeys and links", m.Passkeys+len(m.Identities), map[bool]int{true: 2, false: 0}[keep])
		}
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		r.session(who.ID)
		key := newAuthenticator().register(t, r, who.ID, "Laptop")
		record, err := r.Export(ctx, r.fresh(who.ID), home)
		must(t, "export", err)
		if record.Account != who || !record.HasPassword || len(record.Sessions) != 1 || len(record.Passkeys) != 1 || record.Passkeys[0].ID != key.ID || len(record.Identities) != 0 {
			t.Errorf("got %+v", record)
		}
		for i := range 6 {
			must(t, "record", r.Record(ctx, Entry{AccountID: who.ID, What: AppConnected, Detail: fmt.Sprintf("Shop %d", i)}))
		}
		all, err := r.Log(ctx, who.ID, maxLog)
		must(t, "log", err)
		slices.Reverse(all)
		var paged []Entry
		for last := (Entry{}); ; last = paged[len(paged)-1] {
			part, err := r.LogAfter(ctx, who.ID, last, 2)
			must(t, "log after", err)
			if len(part) == 0 {
				break
			}
			paged = append(paged, part...)
		}
		if !slices.Equal(paged, all) || len(paged) < 9 {
			t.Errorf("in parts: got %+v, want %+v", paged, all)
		}
	})
}

// A browser that is signed in at a provider for days returns at once, without authentication. Such a sign-in counted as recent.
func TestProviderSessionIsNoRecentSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := oidctest.Start(t)
		r, ctx := newFixture(t, db, withProvider(p)), t.Context()
		come := func(begin func() (address, flow string, err error)) Session {
			t.Helper()
			address, flow, err := begin()
			must(t, "begin", err)
			who, err := r.FinishUpstream(ctx, "example", flow, p.FollowAuthorize(t, address).Query(), Session{}, home)
			must(t, "come back", err)
			_, s, err := r.StartSessionSince(ctx, who.ID, who.Authenticated, home, "")
			must(t, "start a session", err)
			return s
		}
		plainly := func() (string, string, error) { return r.BeginUpstream(ctx, "example", Session{}, "") }
		again := func() (string, string, error) { return r.BeginUpstreamAgain(ctx, "example") }
		want(t, "fresh where the provider does not say", r.Fresh(come(plainly)), true)
		p.SignedIn = r.clock.Now().Add(-StepUpLife - time.Second)
		s := come(plainly)
		want(t, "fresh after signing in there long before", r.Fresh(s), false)
		if err := r.Delete(ctx, s); !errors.Is(err, ErrStepUp) {
			t.Errorf("delete: got %v, want %v", err, ErrStepUp)
		}
		want(t, "fresh once the provider asked again", r.Fresh(come(again)), true)
		want(t, "fresh from then on", r.Fresh(come(plainly)), true)
		p.SignedIn = r.clock.Now().Add(time.Hour)
		if at := come(plainly).AuthenticatedAt; at.After(r.clock.Now()) {
			t.Errorf("a provider whose clock is ahead: authenticated at %v", at)
		}
	})
}
