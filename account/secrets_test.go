package account

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// The test searches all files of the database, and the log at debug level, for every secret.
func TestNoSecretIsStoredOrLogged(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db, err := store.Open(t.Context(), cfg)
		must(t, "open", err)
		p := oidctest.Start(t)
		r := newFixture(t, db, withProvider(p))
		secrets := useEverything(t, r, p)
		r.Close()
		var kept bytes.Buffer
		if cfg.URL != "" {
			kept = dump(t, cfg.URL)
			must(t, "close", db.Close())
		} else {
			must(t, "close", db.Close())
			kept = files(t, cfg.Dir)
		}
		if !bytes.Contains(kept.Bytes(), []byte("ada@names.example")) || !bytes.Contains(kept.Bytes(), []byte("$argon2id$")) {
			t.Fatal("what is looked through does not hold the accounts")
		}
		for name, secret := range secrets {
			bare := strings.TrimPrefix(strings.TrimPrefix(secret, sessionPrefix), oneTimePrefix)
			for form, text := range map[string]string{
				"as it is": secret, "without its prefix": bare,
				"in base64": base64.StdEncoding.EncodeToString([]byte(secret)), "in hex": hex.EncodeToString([]byte(secret)),
			} {
				if bytes.Contains(kept.Bytes(), []byte(text)) {
					t.Errorf("the database holds the %s %s", name, form)
				}
				if strings.Contains(r.log.String(), text) {
					t.Errorf("the log holds the %s %s", name, form)
				}
			}
		}
	})
}

// useEverything uses every kind of secret and returns the secrets.
func useEverything(t *testing.T, r *fixture, p *oidctest.Provider) map[string]string {
	t.Helper()
	ctx := t.Context()
	_, err := r.SignUp(ctx, "ada@names.example", passphrase, "", home)
	must(t, "sign up", err)
	verify := r.box.token(t, VerifyPath)
	_, err = r.VerifyEmail(ctx, verify, Proof{Password: passphrase}, home)
	must(t, "verify", err)
	who, err := r.SignIn(ctx, "ada@names.example", passphrase, home)
	must(t, "sign in", err)
	_, err = r.SignIn(ctx, "ada@names.example", "the wrong passphrase", home)
	if err == nil {
		t.Error("signed in with a wrong password")
	}
	session := r.session(who.ID)
	_, err = r.Session(ctx, session)
	must(t, "session", err)
	must(t, "ask for a link", r.RequestLink(ctx, who.Email, home))
	link := r.box.token(t, LinkPath)
	must(t, "ask for a reset", r.RequestReset(ctx, who.Email, home))
	reset := r.box.token(t, ResetPath)
	_, err = r.ResetPassword(ctx, Reset{Token: reset, Password: "a passphrase after the reset"}, home)
	must(t, "reset", err)
	operator, err := r.Link(ctx, who.Email)
	must(t, "the operator's link", err)
	invite, err := r.Invite(ctx)
	must(t, "invite", err)
	newAuthenticator().register(t, r, who.ID, "key")
	second := r.session(who.ID)

	address, flow, err := r.BeginUpstream(ctx, "example", Session{}, "")
	must(t, "begin at the provider", err)
	back := p.FollowAuthorize(t, address).Query()
	_, err = r.FinishUpstream(ctx, "example", flow, back, Session{}, home)
	must(t, "finish at the provider", err)
	_, err = r.FinishUpstream(ctx, "example", flow, back, Session{}, home)
	if err == nil {
		t.Error("the provider's answer was accepted twice")
	}
	return map[string]string{
		"password": passphrase, "wrong password": "the wrong passphrase", "new password": "a passphrase after the reset",
		"session": session, "second session": second, "verification": verify, "link": link, "reset": reset,
		"operator's link": tokenIn(t, operator, LinkPath, TokenParameter), "invitation": tokenIn(t, invite, SignUpPath, InviteParameter),
		"provider's code": back.Get("code"), "state": back.Get("state"), "flow": flow, "client secret": url.QueryEscape(oidctest.Secret),
	}
}

// files is all that is in a directory.
func files(t *testing.T, dir string) (all bytes.Buffer) {
	t.Helper()
	must(t, "read the store", filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	}))
	return all
}

// dump is all rows of all tables of a PostgreSQL database, as text.
func dump(t *testing.T, address string) (all bytes.Buffer) {
	t.Helper()
	ctx := context.Background()
	db, err := sql.Open("pgx", address)
	must(t, "open", err)
	defer db.Close()
	tables, err := db.QueryContext(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
	must(t, "list tables", err)
	defer tables.Close()
	for tables.Next() {
		var table string
		must(t, "list tables", tables.Scan(&table))
		var text sql.NullString
		must(t, "read "+table, db.QueryRowContext(ctx, `SELECT string_agg(t::text, E'\n') FROM "`+table+`" t`).Scan(&text))
		all.WriteString(text.String)
		// Bytes are shown in hex; what they spell must be found too.
		for column := range strings.SplitSeq(text.String, `\\x`) {
			end := strings.IndexFunc(column, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
			if end > 0 {
				plain, _ := hex.DecodeString(column[:end&^1])
				all.Write(plain)
			}
		}
	}
	must(t, "list tables", tables.Err())
	return all
}
