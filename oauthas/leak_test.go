package oauthas

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// TestNothingInClear searches the database's files and the log, at debug level, for every secret, as text and as bytes.
func TestNothingInClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.Open(t, store.Config{Dir: dir})
	d := newFixture(t, db)
	d.session.ID = newSecret("session_")
	secrets := []string{d.session.ID}
	_, challenge := pkce()
	consent := d.authorize(params(d.register(appRedirect), appRedirect, challenge, nil), d.session).(Consent)
	secrets = append(secrets, consent.Interaction)
	for i := range 6 {
		p := d.code(nil)
		secrets = append(secrets, p.Get("code"), p.Get("code_verifier"))
		if i == 0 {
			continue // a code that is not redeemed
		}
		a := d.token(p)
		tokens := signedInClient{p.Get("client_id"), a.get("access_token"), a.get("refresh_token")}
		next := d.renew(tokens)
		d.wantGood("a token", next.access, apiURL, true)
		secrets = append(secrets, tokens.access, tokens.refresh, next.access, next.refresh)
		switch i {
		case 1:
			d.token(tokens.renewal()) // reuse
		case 2:
			d.token(p) // replay
		case 3:
			d.form(revokePath, url.Values{"token": {next.refresh}})
		case 4:
			d.post(tokenPath+"?refresh_token="+next.refresh, "application/x-www-form-urlencoded", next.renewal().Encode())
		}
	}
	// An error of ours is logged, too.
	closed := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}))
	closed.cfg.DB.Close()
	p := signedInClient{"client_1", "", newSecret(refreshPrefix)}
	if a := closed.token(p.renewal()); a.status != 500 {
		t.Errorf("a closed database: got %d %s, want 500", a.status, a.body)
	}
	secrets = append(secrets, p.refresh)

	read := map[string][]byte{"the log": []byte(d.log.String() + closed.log.String())}
	files, err := filepath.Glob(filepath.Join(dir, "namewharf.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the database: got %v, %v", files, err)
	}
	stored := 0
	for _, f := range files {
		if read[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
		stored += bytes.Count(read[filepath.Base(f)], []byte("acc_1"))
	}
	if stored == 0 || len(read["the log"]) == 0 {
		t.Fatal("the test looks in the wrong place: it finds neither the account nor a log")
	}
	for where, content := range read {
		for _, s := range secrets {
			plain, err := base64.RawURLEncoding.DecodeString(s[len(s)-43:])
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content, []byte(s[len(s)-43:])) || bytes.Contains(content, plain) {
				t.Errorf("%s holds a secret that begins with %s", where, s[:6])
			}
		}
	}
}
