package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestSignUpModes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		open := newFixture(t, db, nil)
		_, err := open.SignUp(ctx, "open@names.example", passphrase, "ignored", home)
		must(t, "sign up where it is open", err)

		closed := newFixture(t, db, func(c *Config) { c.Signup = Closed })
		_, err = closed.SignUp(ctx, "closed@names.example", passphrase, "", home)
		wantCode(t, "sign up where it is closed", err, fault.Forbidden)
		_, err = closed.Create(ctx, "closed@names.example", passphrase)
		must(t, "the operator's account where sign-up is closed", err)

		invited := newFixture(t, db, func(c *Config) { c.Signup = Invite })
		_, err = invited.SignUp(ctx, "in@names.example", passphrase, "", home)
		wantCode(t, "sign up without an invitation", err, fault.Forbidden)
		address, err := invited.Invite(ctx)
		must(t, "invite", err)
		invitation := tokenIn(t, address, SignUpPath, InviteParameter)
		_, err = invited.SignUp(ctx, "in@names.example", "short", invitation, home)
		wantCode(t, "a bad password", err, fault.Validation)
		_, err = invited.SignUp(ctx, "in@names.example", passphrase, invitation, home)
		must(t, "sign up with the invitation, which the bad password did not use up", err)
		_, err = invited.SignUp(ctx, "in2@names.example", passphrase, invitation, home)
		wantCode(t, "sign up with a used invitation", err, fault.Forbidden)
		_, found, err := invited.lookup(ctx, "email", "in2@names.example")
		want(t, "account without an invitation", found || err != nil, false)
		late, err := invited.Invite(ctx)
		must(t, "invite", err)
		invited.clock.advance(tokenLife[toSignUp])
		_, err = invited.SignUp(ctx, "in3@names.example", passphrase, tokenIn(t, late, SignUpPath, InviteParameter), home)
		wantCode(t, "sign up with an old invitation", err, fault.Forbidden)
	})
}

func TestModesAreRead(t *testing.T) {
	t.Parallel()
	for _, m := range []Mode{Open, Invite, Closed} {
		got, err := ParseMode(string(m))
		must(t, "parse "+string(m), err)
		want(t, "mode", got, m)
	}
	if _, err := ParseMode("OPEN"); err == nil {
		t.Error(`ParseMode("OPEN"): no error`)
	}
}

// Answers do not reveal accounts: sign-up, links and resets answer the same, and only the mail to the owner differs.
func TestAnswersAreTheSameWithAndWithoutAnAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")

		again, err := r.SignUp(ctx, who.Email, "another password", "", abroad)
		must(t, "sign up with a known address", err)
		want(t, "account", again.Account, Account{Email: who.Email})
		m := r.box.next(t)
		if m.To != who.Email || !strings.Contains(m.Text, "already") || strings.Contains(m.Text, TokenParameter+"=") {
			t.Errorf("mail to the owner: got %+v, want word of the account, without a link that does something", m)
		}
		_, err = r.SignIn(ctx, who.Email, "another password", abroad)
		wantCode(t, "sign in with the password of the second sign-up", err, fault.AuthenticationRequired)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		must(t, "sign in with the owner's password", err)

		for _, email := range []string{who.Email, "nobody@names.example"} {
			must(t, "ask for a reset of "+email, r.RequestReset(ctx, email, home))
			must(t, "ask for a link to "+email, r.RequestLink(ctx, email, home))
		}
		to := []string{r.box.next(t).To, r.box.next(t).To}
		r.mailQueue.close()
		if !slices.Equal(to, []string{who.Email, who.Email}) || len(r.box.mail) != 0 {
			t.Errorf("mails: got %v and %d more, want two to the account that exists", to, len(r.box.mail))
		}
		if got := r.events(who.ID); !slices.Contains(got, SignUpRepeated) || !slices.Contains(got, SignInFailed) {
			t.Errorf("security log: got %v, want %s and %s in it", got, SignUpRepeated, SignInFailed)
		}
	})
}

func TestSignUpRefusesBadInput(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	for _, tt := range []struct{ name, email, password, field string }{
		{"bad address", "ada", passphrase, "email"},
		{"short password", "ada@names.example", "short", "password"},
		{"common password", "ada@names.example", "password1", "password"},
		{"endless password", "ada@names.example", strings.Repeat("ab", 1<<20), "password"},
	} {
		_, err := r.SignUp(ctx, tt.email, tt.password, "", home)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Validation || f.Fields[0].Field != tt.field {
			t.Errorf("%s: got %v, want %s about %s", tt.name, err, fault.Validation, tt.field)
		}
	}
	want(t, "computations of Argon2id", r.hasher.runs.Load(), 0)
}

// Fifty people who sign up with one address make one account.
func TestOneAddressIsOneAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		var made atomic.Int64
		var all sync.WaitGroup
		for i := range 50 { // each from an address of its own, of which one may have 32 attempts waiting
			all.Go(func() {
				a, err := r.SignUp(ctx, "ada@names.example", passphrase, "", netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				if err != nil {
					t.Errorf("sign up: %v", err)
				}
				if a.ID != "" {
					made.Add(1)
				}
			})
		}
		all.Wait()
		want(t, "accounts made", made.Load(), 1)
	})
}

func TestVerifyFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, func(c *Config) { c.VerifyFirst = true }), t.Context()
		_, err := r.SignUp(ctx, "ada@names.example", passphrase, "", home)
		must(t, "sign up", err)
		_, err = r.SignIn(ctx, "ada@names.example", "wrong horse", home)
		wantCode(t, "a wrong password", err, fault.AuthenticationRequired)
		wrong := err.Error()
		_, err = r.SignIn(ctx, "ada@names.example", passphrase, home)
		wantCode(t, "the right one before the mail is read", err, fault.AuthenticationRequired)
		want(t, "what is said to it", err.Error(), wrong)
		_, err = r.VerifyEmail(ctx, r.box.token(t, VerifyPath), Proof{Password: passphrase}, home)
		must(t, "verify by the only mail", err)
		_, err = r.SignIn(ctx, "ada@names.example", passphrase, home)
		must(t, "sign in then", err)
	})
}

func TestPasswordChangeEndsAllSessionsAndGrants(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var revoked atomic.Value
		r, ctx := newFixture(t, db, func(c *Config) {
			c.OnRevokeAll = func(_ context.Context, _ store.Tx, accountID string) error { revoked.Store(accountID); return nil }
		}), t.Context()
		who, other := r.account("ada@names.example"), r.account("bob@names.example")
		mine, elsewhere, others := r.session(who.ID), r.session(who.ID), r.session(other.ID)
		must(t, "ask for a reset", r.RequestReset(ctx, who.Email, home))
		old := r.box.token(t, ResetPath)

		wantCode(t, "wrong current password", r.ChangePassword(ctx, r.fresh(who.ID), "wrong horse", "a fresh password", home), fault.AuthenticationRequired)
		wantCode(t, "bad new password", r.ChangePassword(ctx, r.fresh(who.ID), passphrase, "12345678", home), fault.Validation)
		_, err := r.Session(ctx, mine)
		must(t, "the session after two refusals", err)

		must(t, "change", r.ChangePassword(ctx, r.fresh(who.ID), passphrase, "a fresh password", home))
		want(t, "account handed to OnRevokeAll", revoked.Load(), any(who.ID))
		for _, token := range []string{mine, elsewhere} {
			_, err := r.Session(ctx, token)
			wantCode(t, "a session from before", err, fault.AuthenticationRequired)
		}
		_, err = r.Session(ctx, others)
		must(t, "another person's session", err)
		_, err = r.ResetPassword(ctx, Reset{Token: old, Password: "a third password"}, home)
		wantCode(t, "a reset link from before", err, fault.InvalidToken)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		wantCode(t, "the old password", err, fault.AuthenticationRequired)
		_, err = r.SignIn(ctx, who.Email, "a fresh password", home)
		must(t, "the new password", err)
		want(t, "mail to the owner", r.box.next(t).Subject, changedMail.subject)
		got := r.events(who.ID)
		expected := []Event{SignedUp, SignInFailed, PasswordChanged, SignInFailed, SignedIn}
		got = slices.Compact(got)
		for _, e := range []Event{SignedUp, PasswordChanged, SignedIn, SignInFailed} {
			if !slices.Contains(got, e) {
				t.Errorf("security log: got %v, want what is in %v", got, expected)
			}
		}
	})
}

// A failure of OnRevokeAll rolls back the change: there is never a new password with old grants.
func TestPasswordChangeIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		broken := errors.New("broken")
		r, ctx := newFixture(t, db, func(c *Config) {
			c.OnRevokeAll = func(context.Context, store.Tx, string) error { return broken }
		}), t.Context()
		who := r.account("ada@names.example")
		token := r.session(who.ID)
		if err := r.ChangePassword(ctx, r.fresh(who.ID), passphrase, "a fresh password", home); !errors.Is(err, broken) {
			t.Errorf("change: got %v, want %v", err, broken)
		}
		_, err := r.Session(ctx, token)
		must(t, "the session", err)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		must(t, "the old password", err)
	})
}

func TestOperatorMakesAccountsOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		made, err := r.Create(ctx, "Ada@names.example", passphrase)
		must(t, "create", err)
		want(t, "verified", made.Verified, true)
		found, err := r.Find(ctx, "ada@NAMES.example")
		must(t, "find", err)
		want(t, "found", found, made)
		_, err = r.Create(ctx, "ada@names.example", passphrase)
		wantCode(t, "create again", err, fault.Conflict)
		_, err = r.Find(ctx, "bob@names.example")
		wantCode(t, "find a stranger", err, fault.NotFound)
		_, err = r.Account(ctx, "acc_unknown")
		wantCode(t, "an unknown id", err, fault.NotFound)
	})
}

func TestSignUpQuota(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	for range signUpQuota.Burst {
		must(t, "count an account", r.limits.from(r.limits.signUps, abroad, ""))
	}
	_, err := r.SignUp(ctx, "ada@names.example", passphrase, "", abroad)
	wantCode(t, "one more account from that address", err, fault.RateLimited)
	_, err = r.SignUp(ctx, "ada@names.example", passphrase, "", home)
	must(t, "an account from another address", err)
	r.cfg.Unlimited = true
	_, err = r.SignUp(ctx, "bob@names.example", passphrase, "", abroad)
	must(t, "one more where nothing is limited", err)
}

func TestMailQuota(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	r.account("ada@names.example")
	for range 20 {
		must(t, "ask for a link", r.RequestLink(ctx, "ada@names.example", home))
	}
	r.mailQueue.close()
	want(t, "mails to one recipient", len(r.box.mail), mailToQuota.Burst)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = r.RequestReset(ctx, fmt.Sprintf("p%d@names.example", i), home)
	}
	wantCode(t, "mails asked for from one address", err, fault.RateLimited)
	must(t, "a mail asked for from another address", r.RequestReset(ctx, "p@names.example", abroad))
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for base, ok := range map[string]bool{
		"https://names.example": true, "https://names.example:8443": true, "http://localhost:8080": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true,
		"http://names.example": false, "ftp://names.example": false, "names.example": false, "https://a@names.example": false, "https://names.example/?a": false, "": false,
	} {
		if _, err := parseBase(base); (err == nil) != ok {
			t.Errorf("parseBase(%q): got %v, want ok %v", base, err, ok)
		}
	}
}
