package account

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

// tables are the tables with rows of an account.
var tables = []string{"account_sessions", "account_passkeys", "account_identities", "account_tokens", "account_log"}

func (r *fixture) rows(table, accountID string) (n int) {
	r.t.Helper()
	must(r.t, "count", r.db.Read(r.t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(r.t.Context(), `SELECT COUNT(*) FROM `+table+` WHERE account_id = $1`, accountID).Scan(&n)
	}))
	return n
}

func TestDelete(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var order []string
		busy := fault.New(fault.Conflict, "a sale is under way")
		var refuse error
		r, ctx := newFixture(t, db, func(c *Config) {
			c.OnDelete = func(_ context.Context, _ store.Tx, id string) error {
				order = append(order, "delete "+id)
				return refuse
			}
			c.OnRevokeAll = func(_ context.Context, _ store.Tx, id string) error { order = append(order, "revoke "+id); return nil }
		}), t.Context()
		who, other := r.account("ada@names.example"), r.account("bob@names.example")
		token, others := r.session(who.ID), r.session(other.ID)
		newAuthenticator().register(t, r, who.ID, "Laptop")
		r.box.next(t)
		must(t, "ask for a link", r.RequestLink(ctx, who.Email, home))
		link := r.box.token(t, LinkPath)

		refuse = busy
		if err := r.Delete(ctx, r.fresh(who.ID)); !errors.Is(err, busy) {
			t.Errorf("while something is under way: got %v, want %v", err, busy)
		}
		_, err := r.Session(ctx, token)
		must(t, "the session then", err)
		refuse = nil
		must(t, "delete", r.Delete(ctx, r.fresh(who.ID)))
		want(t, "hooks", fmt.Sprint(order), fmt.Sprint([]string{"delete " + who.ID, "delete " + who.ID, "revoke " + who.ID}))
		for _, table := range tables {
			want(t, table, r.rows(table, who.ID), 0)
		}
		_, err = r.Session(ctx, token)
		wantCode(t, "the session after", err, fault.AuthenticationRequired)
		_, err = r.UseLink(ctx, link, home)
		wantCode(t, "a link of before", err, fault.InvalidToken)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		wantCode(t, "sign in", err, fault.AuthenticationRequired)
		_, err = r.Session(ctx, others)
		must(t, "another's session", err)
		if err := r.Delete(ctx, Session{AccountID: who.ID, AuthenticatedAt: r.clock.Now()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("again: got %v", err)
		}
		again, err := r.SignUp(ctx, who.Email, passphrase, "", home)
		must(t, "sign up again", err)
		if again.ID == "" || again.ID == who.ID {
			t.Errorf("signed up again as %q, want another account than %q", again.ID, who.ID)
		}
	})
}

// sweep removes expired accounts.
func (r *fixture) sweep() {
	r.t.Helper()
	must(r.t, "sweep", sweep.New(sweep.Config{DB: r.db, Rules: r.UnconfirmedRetention(), Now: r.clock.Now}).Pass(r.t.Context()))
}

func TestUnconfirmedAccountsAreRemoved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		holder, removed := "", 0
		r, ctx := newFixture(t, db, func(c *Config) {
			c.VerifyFirst = true
			c.Holds = func(_ context.Context, _ store.Tx, id string) (bool, error) { return id == holder, nil }
			c.OnDelete = func(context.Context, store.Tx, string) error { removed++; return nil }
		}), t.Context()
		accounts := map[string]Pending{}
		for _, name := range []string{"left", "holds", "signed-in", "looks-around", "asked", "confirmed"} {
			made, err := r.SignUp(ctx, name+"@names.example", passphrase, "", home)
			must(t, "sign up", err)
			token := r.box.token(t, VerifyPath)
			accounts[name] = made
			if name == "confirmed" {
				_, err := r.VerifyEmail(ctx, token, Proof{Browser: made.Browser}, home)
				must(t, "confirm", err)
			}
		}
		holder = accounts["holds"].ID
		seen := r.session(accounts["looks-around"].ID) // by a link of the operator
		tidy := func(when string, expected ...string) {
			t.Helper()
			r.sweep()
			left := map[string]bool{}
			for name, a := range accounts {
				if _, err := r.Account(ctx, a.ID); err == nil {
					left[name] = true
				} else {
					wantCode(t, "read an account", err, fault.NotFound)
				}
			}
			for _, name := range expected {
				if !left[name] {
					t.Errorf("%s: %s is gone", when, name)
				}
				delete(left, name)
			}
			if len(left) > 0 {
				t.Errorf("%s: got %v too", when, left)
			}
		}
		r.clock.advance(UnconfirmedLife - time.Microsecond)
		tidy("a moment before 7 days", "left", "holds", "signed-in", "looks-around", "asked", "confirmed")
		_, err := r.Session(ctx, seen)
		must(t, "look around", err)
		must(t, "sign in", r.Record(ctx, Entry{AccountID: accounts["signed-in"].ID, What: SignedIn}))
		must(t, "ask for the link again", r.RequestVerification(ctx, accounts["asked"].ID))
		r.box.next(t)
		r.clock.advance(time.Microsecond)
		tidy("after 7 days", "holds", "signed-in", "looks-around", "asked", "confirmed")
		want(t, "calls of OnDelete", removed, 1)
		_, err = r.SignUp(ctx, "left@names.example", passphrase, "", home)
		must(t, "sign up again", err)
		r.clock.advance(UnconfirmedLife + PendingLife)
		tidy("long after", "holds", "confirmed")
	})
}

// Without a mail server addresses cannot be confirmed, so unconfirmed accounts are in use.
func TestUnconfirmedAccountsStayWithoutMail(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	made, err := r.SignUp(ctx, "ada@names.example", passphrase, "", home)
	must(t, "sign up", err)
	r.clock.advance(100 * UnconfirmedLife)
	r.sweep()
	_, err = r.Account(ctx, made.ID)
	must(t, "the account", err)
}

func TestManyUnconfirmedAccountsAreRemovedInTurns(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), func(c *Config) {
		c.VerifyFirst = true
		c.Holds = func(_ context.Context, _ store.Tx, id string) (bool, error) { return id < "ab", nil }
	}), t.Context()
	const several = 100
	must(t, "store accounts", r.db.Tx(ctx, func(tx store.Tx) error {
		for i := range 3*several + 1 {
			row := r.newRow(fmt.Sprintf("p%d@names.example", i), "")
			if i < several {
				row.ID = fmt.Sprintf("a%03d", i) // these hold something, and come first
			}
			if _, err := insertAccount(ctx, tx, row, r.now()); err != nil {
				return err
			}
		}
		return nil
	}))
	r.clock.advance(UnconfirmedLife)
	r.sweep()
	var n int
	must(t, "count", r.db.Read(ctx, func(tx store.Tx) error { return tx.QueryRow(ctx, `SELECT COUNT(*) FROM accounts`).Scan(&n) }))
	want(t, "accounts left", n, several)
}
