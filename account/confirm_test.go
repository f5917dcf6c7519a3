package account

import (
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

const (
	strangersPassword = "the stranger's own words"
	ownersPassword    = "the owner's own words"
)

// A signUpRace is a stranger and the owner of an address who both sign up with it.
type signUpRace struct {
	*fixture
	t               *testing.T
	email           string
	stranger, owner Pending
}

func (r *signUpRace) signUp(password string) Pending {
	r.t.Helper()
	from := home
	if password == strangersPassword {
		from = abroad
	}
	p, err := r.SignUp(r.t.Context(), r.email, password, "", from)
	must(r.t, "sign up", err)
	return p
}

func (r *signUpRace) attackerFirst() (first, second string) {
	r.stranger = r.signUp(strangersPassword)
	first = r.box.token(r.t, VerifyPath)
	r.owner = r.signUp(ownersPassword)
	return first, r.box.token(r.t, ResetPath)
}

func (r *signUpRace) ownerFirst() (first, second string) {
	r.owner = r.signUp(ownersPassword)
	first = r.box.token(r.t, VerifyPath)
	r.stranger = r.signUp(strangersPassword)
	return first, r.box.token(r.t, ResetPath)
}

func (r *signUpRace) signIn(password string) error {
	_, err := r.SignIn(r.t.Context(), r.email, password, home)
	return err
}

func (r *signUpRace) verify(token string, by Proof) error {
	_, err := r.VerifyEmail(r.t.Context(), token, by, home)
	return err
}

func (r *signUpRace) reset(token string) error {
	_, err := r.ResetPassword(r.t.Context(), Reset{Token: token, Password: ownersPassword}, home)
	return err
}

// Only the owner receives the mail: in any order, with any link and on any device, she gets the account and the stranger
// loses access.
func TestAddressesAreConfirmedByWhoChoseThePassword(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(t *testing.T, r *signUpRace){
		"the stranger first, his link on the owner's browser": func(t *testing.T, r *signUpRace) {
			first, _ := r.attackerFirst()
			wantCode(t, "the owner's browser", r.verify(first, Proof{Browser: r.owner.Browser}), fault.Validation)
			wantCode(t, "no browser at all", r.verify(first, Proof{}), fault.Validation)
			wantCode(t, "the owner's password", r.verify(first, Proof{Password: ownersPassword}), fault.AuthenticationRequired)
			must(t, "another password by the same link", r.reset(first))
		},
		"the stranger first, the owner's link": func(t *testing.T, r *signUpRace) {
			_, second := r.attackerFirst()
			must(t, "set the password", r.reset(second))
		},
		"the stranger first, the owner's link to confirm alone": func(t *testing.T, r *signUpRace) {
			_, second := r.attackerFirst()
			wantCode(t, "the owner's browser", r.verify(second, Proof{Browser: r.owner.Browser}), fault.Validation)
			wantCode(t, "the stranger's browser", r.verify(second, Proof{Browser: r.stranger.Browser}), fault.Validation)
			must(t, "set the password", r.reset(second))
		},
		"the owner first, in her browser": func(t *testing.T, r *signUpRace) {
			first, _ := r.ownerFirst()
			must(t, "confirm", r.verify(first, Proof{Browser: r.owner.Browser}))
		},
		"the owner first, on her telephone": func(t *testing.T, r *signUpRace) {
			first, _ := r.ownerFirst()
			wantCode(t, "without a password", r.verify(first, Proof{}), fault.Validation)
			wantCode(t, "a mistyped one", r.verify(first, Proof{Password: "mistyped words"}), fault.AuthenticationRequired)
			must(t, "her own", r.verify(first, Proof{Password: ownersPassword}))
		},
		"the owner first, the mail about the second sign-up": func(t *testing.T, r *signUpRace) {
			_, second := r.ownerFirst()
			must(t, "set the password", r.reset(second))
		},
		"the stranger first, the owner asks for a link by mail": func(t *testing.T, r *signUpRace) {
			r.attackerFirst()
			must(t, "ask", r.RequestLink(t.Context(), r.email, home))
			token := r.box.token(t, LinkPath)
			claims, err := r.RemovesEarlierCredentials(t.Context(), token)
			want(t, "it says what it will remove", claims && err == nil, true)
			_, err = r.UseLink(t.Context(), token, home)
			must(t, "use", err)
			must(t, "ask for a reset", r.RequestReset(t.Context(), r.email, home))
			must(t, "set a password", r.reset(r.box.token(t, ResetPath)))
		},
		"the stranger first, the owner asks for a reset": func(t *testing.T, r *signUpRace) {
			r.attackerFirst()
			must(t, "ask", r.RequestReset(t.Context(), r.email, home))
			must(t, "set a password", r.reset(r.box.token(t, ResetPath)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				r := &signUpRace{fixture: newFixture(t, db, func(c *Config) { c.VerifyFirst = true }), t: t, email: "ada@names.example"}
				play(t, r)
				must(t, "the owner's password", r.signIn(ownersPassword))
				wantCode(t, "the stranger's password", r.signIn(strangersPassword), fault.AuthenticationRequired)
				who, err := r.Find(t.Context(), r.email)
				must(t, "find", err)
				want(t, "verified", who.Verified, true)
			})
		})
	}
}

// A confirmation link is valid for two days, but sets no password once the address is confirmed: the account may be in use.
func TestConfirmedAddressesAreNotTakenByOldLinks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := &signUpRace{fixture: newFixture(t, db, nil), t: t, email: "ada@names.example"}
		first, second := r.ownerFirst()
		must(t, "confirm", r.verify(first, Proof{Browser: r.owner.Browser}))
		wantCode(t, "the other link", r.reset(second), fault.InvalidToken)
		must(t, "sign in", r.signIn(ownersPassword))
	})
}

// The browser of a sign-up confirms nothing after the password was changed.
func TestChangedPasswordsAreNotConfirmedByTheBrowserOfBefore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := &signUpRace{fixture: newFixture(t, db, nil), t: t, email: "ada@names.example"}, t.Context()
		p := r.signUp(ownersPassword)
		token := r.box.token(t, VerifyPath)
		_, s, err := r.StartSession(ctx, p.ID, home, "")
		must(t, "start a session", err)
		must(t, "change the password", r.ChangePassword(ctx, s, ownersPassword, strangersPassword, home))
		wantCode(t, "confirm", r.verify(token, Proof{Browser: p.Browser}), fault.InvalidToken)
	})
}

// The right password of an unconfirmed address is refused exactly like a wrong one: the same text, computations, mail and
// throttling.
func TestUnconfirmedAddressesAreRefusedLikeWrongPasswords(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, func(c *Config) { c.VerifyFirst = true }), t.Context()
		r.account("known@names.example")
		_, err := r.SignUp(ctx, "fresh@names.example", strangersPassword, "", abroad)
		must(t, "sign up", err)
		r.box.next(t)
		var said []string
		emails := []string{"known@names.example", "fresh@names.example"}
		for _, email := range emails {
			for range freeByAccount + 1 {
				existed := r.hasher.runs.Load()
				_, err := r.SignIn(ctx, email, strangersPassword, abroad)
				wantCode(t, "sign in to "+email, err, fault.AuthenticationRequired)
				said = append(said, err.Error())
				want(t, email+": computations of Argon2id", r.hasher.runs.Load()-existed, 1)
			}
		}
		for _, s := range said {
			want(t, "what is said", s, said[0])
		}
		want(t, "delay of the next", r.throttle.delay(emails[1], clientPrefix(home)), r.throttle.delay(emails[0], clientPrefix(home)))
		r.mailQueue.close()
		want(t, "mails", len(r.box.mail), 0)
	})
}
