package account

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestSignInByLink(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		must(t, "ask", r.RequestLink(ctx, "ADA@names.example", home))
		token := r.box.token(t, LinkPath)
		in, err := r.UseLink(ctx, token, home)
		must(t, "use", err)
		want(t, "account", in, who)
		_, err = r.UseLink(ctx, token, home)
		wantCode(t, "use again", err, fault.InvalidToken)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		must(t, "the password of a verified account stays", err)
	})
}

func TestOperatorLink(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		made, err := r.SignUp(ctx, "ada@names.example", passphrase, "", home)
		must(t, "sign up", err)
		address, err := r.Link(ctx, "ada@names.example")
		must(t, "link", err)
		in, err := r.UseLink(ctx, tokenIn(t, address, LinkPath, TokenParameter), home)
		must(t, "use", err)
		want(t, "account, not verified by a link that was not mailed", in, made.Account)
		_, err = r.SignIn(ctx, made.Email, passphrase, home)
		must(t, "the password stays", err)
		_, err = r.Link(ctx, "bob@names.example")
		wantCode(t, "a link for a stranger", err, fault.NotFound)
	})
}

func TestLinksEndInTimeAndServeOnePurpose(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		made := r.account("ada@names.example")
		mint := func(p purpose) (token string) {
			must(t, "mint", r.db.Tx(ctx, func(tx store.Tx) (err error) {
				token, err = r.newToken(ctx, tx, p, made.ID)
				return err
			}))
			return token
		}
		uses := map[string]func(token string) error{
			"VerifyEmail": func(s string) error { _, err := r.VerifyEmail(ctx, s, Proof{Password: passphrase}, home); return err },
			"UseLink":     func(s string) error { _, err := r.UseLink(ctx, s, home); return err },
			"ResetPassword": func(s string) error {
				_, err := r.ResetPassword(ctx, Reset{Token: s, Password: "a fresh password"}, home)
				return err
			},
		}
		good := map[purpose]string{toVerify: "VerifyEmail", toSignIn: "UseLink", byOperator: "UseLink", toReset: "ResetPassword", toSignUp: ""}
		for p, only := range good {
			for name, use := range uses {
				if name != only {
					wantCode(t, string(p)+" token at "+name, use(mint(p)), fault.InvalidToken)
				}
			}
			if only == "" {
				continue
			}
			late := mint(p)
			r.clock.advance(tokenLife[p])
			wantCode(t, string(p)+" token at its end", uses[only](late), fault.InvalidToken)
			late = mint(p)
			r.clock.advance(tokenLife[p] - time.Microsecond)
			must(t, string(p)+" token a moment before its end", uses[only](late))
		}
		for _, bad := range []string{"", "nw_ot_", "nw_ot_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "nonsense"} {
			for name, use := range uses {
				wantCode(t, "token that is none at "+name, use(bad), fault.InvalidToken)
			}
		}
	})
}

func TestLinkIsUsedOnceByTwentyAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		must(t, "ask", r.RequestLink(ctx, who.Email, home))
		token := r.box.token(t, LinkPath)
		var won atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				switch _, err := r.UseLink(ctx, token, home); {
				case err == nil:
					won.Add(1)
				case !fault.Is(err, fault.InvalidToken):
					t.Errorf("use: got %v, want %s", err, fault.InvalidToken)
				}
			})
		}
		all.Wait()
		want(t, "winners", won.Load(), 1)
	})
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		session := r.session(who.ID)
		must(t, "ask", r.RequestReset(ctx, who.Email, home))
		token := r.box.token(t, ResetPath)
		existed := r.hasher.runs.Load()
		_, err := r.ResetPassword(ctx, Reset{Token: "nw_ot_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Password: "a fresh password"}, home)
		wantCode(t, "a token that is none", err, fault.InvalidToken)
		want(t, "hashes for it", r.hasher.runs.Load()-existed, 0)
		_, err = r.ResetPassword(ctx, Reset{Token: token, Password: "12345678"}, home)
		wantCode(t, "a bad password", err, fault.Validation)
		in, err := r.ResetPassword(ctx, Reset{Token: token, Password: "a fresh password"}, home)
		must(t, "a good one, with the same token", err)
		want(t, "account", in, who)
		_, err = r.ResetPassword(ctx, Reset{Token: token, Password: "a third password"}, home)
		wantCode(t, "the token again", err, fault.InvalidToken)
		_, err = r.Session(ctx, session)
		wantCode(t, "a session from before", err, fault.AuthenticationRequired)
		_, err = r.SignIn(ctx, who.Email, "a fresh password", home)
		must(t, "sign in", err)
		want(t, "mail to the owner", r.box.next(t).Subject, changedMail.subject)
	})
}

// An attacker signs up with a stranger's address: when the owner confirms it, everything that the attacker set up is removed.
func TestOwnerClaimsTheAddress(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ways := map[string]func(r *fixture, email string){
			"link": func(r *fixture, email string) {
				must(t, "ask", r.RequestLink(t.Context(), email, home))
				_, err := r.UseLink(t.Context(), r.box.token(t, LinkPath), home)
				must(t, "use", err)
			},
			"reset": func(r *fixture, email string) {
				must(t, "ask", r.RequestReset(t.Context(), email, home))
				_, err := r.ResetPassword(t.Context(), Reset{Token: r.box.token(t, ResetPath), Password: "the owner's password"}, home)
				must(t, "use", err)
			},
		}
		for name, come := range ways {
			r, ctx := newFixture(t, db, nil), t.Context()
			email := name + "@names.example"
			thief, err := r.SignUp(ctx, email, passphrase, "", abroad)
			must(t, "the thief signs up", err)
			r.box.next(t)
			session := r.session(thief.ID)
			come(r, email)
			_, err = r.SignIn(ctx, email, passphrase, abroad)
			wantCode(t, name+": the thief's password", err, fault.AuthenticationRequired)
			_, err = r.Session(ctx, session)
			wantCode(t, name+": the thief's session", err, fault.AuthenticationRequired)
			owner, err := r.Find(ctx, email)
			must(t, "find", err)
			want(t, name+": verified", owner.Verified, true)
		}
	})
}

func TestVerificationMailIsSentAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		made, err := r.SignUp(ctx, "ada@names.example", passphrase, "", home)
		must(t, "sign up", err)
		first := r.box.token(t, VerifyPath)
		must(t, "ask again", r.RequestVerification(ctx, made.ID))
		second := r.box.token(t, VerifyPath)
		_, err = r.VerifyEmail(ctx, second, Proof{Password: passphrase}, home)
		must(t, "verify by the second", err)
		_, err = r.VerifyEmail(ctx, first, Proof{Password: passphrase}, home)
		must(t, "and by the first", err)
		must(t, "ask when it is verified", r.RequestVerification(ctx, made.ID))
		r.mailQueue.close()
		want(t, "mails then", len(r.box.mail), 0)
	})
}
