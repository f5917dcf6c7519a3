package account

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

func TestSessionLastsThirtyDaysAfterItWasSeen(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		token, started, err := r.StartSession(ctx, who.ID, home, "Browser/1\r\nX: \u202emoc.elpmaxe")
		must(t, "start", err)
		want(t, "user agent", started.UserAgent, "Browser/1  X:  moc.elpmaxe")
		want(t, "authenticated", started.AuthenticatedAt, r.clock.Now())
		if !strings.HasPrefix(token, "nw_ss_") || len(token) < 6+43 {
			t.Errorf("token: got %d characters, want 256 bits after nw_ss_", len(token))
		}
		first, err := r.Session(ctx, token)
		must(t, "at once", err)
		want(t, "session", first, started)

		r.clock.advance(SessionLife - time.Microsecond)
		seen, err := r.Session(ctx, token)
		must(t, "a moment before the end", err)
		want(t, "expires", seen.Expires, r.clock.Now().Add(SessionLife))
		want(t, "authenticated", seen.AuthenticatedAt, started.AuthenticatedAt)
		r.clock.advance(SessionLife)
		_, err = r.Session(ctx, token)
		wantCode(t, "thirty days after", err, fault.AuthenticationRequired)
		must(t, "sweep", sweep.New(sweep.Config{DB: r.db, Rules: Retention(time.Hour), Now: r.now}).Pass(ctx))
		var rows int
		must(t, "count", r.db.Read(ctx, func(tx store.Tx) error {
			return tx.QueryRow(ctx, `SELECT COUNT(*) FROM account_sessions`).Scan(&rows)
		}))
		want(t, "rows after the sweep", rows, 0)
	})
}

func TestSessionIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	token := r.session(r.account("ada@names.example").ID)
	began := r.clock.Now()
	for _, step := range []struct{ after, seen time.Duration }{{59 * time.Second, 0}, {time.Second, time.Minute}, {59 * time.Second, time.Minute}} {
		r.clock.advance(step.after)
		s, err := r.Session(ctx, token)
		must(t, "session", err)
		want(t, "last seen", s.LastSeen, began.Add(step.seen))
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who, other := r.account("ada@names.example"), r.account("bob@names.example")
		one := r.session(who.ID)
		r.clock.advance(time.Hour)
		two, three := r.session(who.ID), r.session(who.ID)
		theirs := r.session(other.ID)
		if one == two {
			t.Error("two sign-ins have one token")
		}
		list, err := r.Sessions(ctx, who.ID)
		must(t, "list", err)
		if len(list) != 3 || list[2].Started.After(list[0].Started) {
			t.Fatalf("sessions: got %+v, want three, the last seen first", list)
		}
		must(t, "end by token", r.EndSession(ctx, three, home))
		must(t, "end again", r.EndSession(ctx, three, home))
		must(t, "end what is no token", r.EndSession(ctx, "nonsense", home))
		must(t, "end by id", r.EndSessionByID(ctx, who.ID, list[2].ID, home))
		strangers, err := r.Sessions(ctx, other.ID)
		must(t, "list", err)
		must(t, "end a stranger's session", r.EndSessionByID(ctx, who.ID, strangers[0].ID, home))
		for token, ok := range map[string]bool{one: false, two: true, three: false, theirs: true} {
			if _, err := r.Session(ctx, token); (err == nil) != ok {
				t.Errorf("session: got %v, want alive %v", err, ok)
			}
		}
		must(t, "end all", r.EndSessions(ctx, who.ID, home))
		_, err = r.Session(ctx, two)
		wantCode(t, "the last one", err, fault.AuthenticationRequired)
		_, err = r.Session(ctx, theirs)
		must(t, "the stranger's", err)
	})
}

// Invalid ids from forms went to the database, and PostgreSQL failed on bytes that are not UTF-8.
func TestInvalidSessionIDs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		token := r.session(who.ID)
		for _, id := range []string{"", "nonsense", "a\x00b", "\xff", strings.Repeat("a", 100_000)} {
			must(t, "end a session", r.EndSessionByID(ctx, who.ID, id, home))
			wantCode(t, "remove a passkey", r.RemovePasskey(ctx, r.fresh(who.ID), id, true, home), fault.NotFound)
		}
		_, err := r.Session(ctx, token)
		must(t, "the session", err)
	})
}

func TestInvalidSessionTokens(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	token := r.session(r.account("ada@names.example").ID)
	for _, bad := range []string{"", "nw_ss_", token[:len(token)-1], token + "A", strings.ToUpper(token), "nw_ot_" + token[6:], strings.Repeat("x", 1<<20)} {
		_, err := r.Session(ctx, bad)
		wantCode(t, fmt.Sprintf("session of %.60q", bad), err, fault.AuthenticationRequired)
	}
	_, _, err := r.StartSession(ctx, "acc_unknown", home, "")
	wantCode(t, "a session for nobody", err, fault.NotFound)
	_, _, err = r.StartSession(ctx, "", home, "")
	wantCode(t, "a session for the account of a repeated sign-up", err, fault.NotFound)
}

func TestAnAccountHasAHundredSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		first := r.session(who.ID)
		for range maxSessions {
			r.clock.advance(time.Second)
			r.session(who.ID)
		}
		list, err := r.Sessions(ctx, who.ID)
		must(t, "list", err)
		want(t, "sessions", len(list), maxSessions)
		_, err = r.Session(ctx, first)
		wantCode(t, "the one seen longest ago", err, fault.AuthenticationRequired)
	})
}

func TestSecurityLogCountsFailures(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, func(c *Config) { c.Unlimited = true }), t.Context()
		who := r.account("ada@names.example")
		for range 20 {
			_, err := r.SignIn(ctx, who.Email, "wrong horse", abroad)
			wantCode(t, "sign in", err, fault.AuthenticationRequired)
		}
		r.events(who.ID)
		r.clock.advance(2 * time.Hour)
		_, err := r.SignIn(ctx, who.Email, "wrong horse", home)
		wantCode(t, "sign in", err, fault.AuthenticationRequired)
		r.events(who.ID)
		must(t, "record", r.Record(ctx, Entry{AccountID: who.ID, What: AppConnected, Detail: "Evil\u202e\napp"}))
		entries, err := r.Log(ctx, who.ID, 3)
		must(t, "log", err)
		var got []string
		for _, e := range entries {
			got = append(got, fmt.Sprintf("%s %q %v ×%d", e.What, e.Detail, e.From, e.Times))
		}
		expected := []string{`app_connected "Evil  app" invalid IP ×1`, `sign_in_failed "" 192.0.2.1 ×1`, `sign_in_failed "" 198.51.100.7 ×20`}
		if !slices.Equal(got, expected) {
			t.Errorf("log: got %q, want %q", got, expected)
		}
		for what := range eventTexts {
			if what.Text() == string(what) {
				t.Errorf("%s has no words", what)
			}
		}
	})
}
