package main

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/internal/oidctest"
	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
)

// A key as operator key list prints it.
type listedKey struct {
	ID     string `json:"key_id"`
	Seals  bool
	Rows   int
	Tables map[string]int
}

// keyCommand runs operator key … on the fixture's store.
func (c *fixture) keyCommand(t *testing.T, operator string, into any, words ...string) (stderr string, ok bool) {
	t.Helper()
	args := append([]string{"key"}, words...)
	args = append(args, "-json", "-as", "ada", "-server-key-file", c.keys)
	if c.cfg.URL != "" {
		args = append(args, "-db", c.cfg.URL, "-data", t.TempDir())
	} else {
		args = append(args, "-data", c.cfg.Dir)
	}
	if words[0] == "-audit" {
		args = append([]string{"audit", "-limit", "100"}, args[2:]...)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(operator, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return errs.String(), false
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("operator %q: %v: %s", args, err, out.String())
	}
	return errs.String(), true
}

// The server's key is changed while two processes serve partners: no request fails, everything is sealed anew, and the key
// before goes when nothing needs it.
func TestServerKeyIsRotatedBesideRunningServers(t *testing.T) {
	t.Parallel()
	operator := programtest.Build(t, "operator")
	eachEngine(t, 1, func(t *testing.T, c *fixture) {
		one, two := c.service(t).start(), c.service(t).start()
		if c.cfg.URL == "" {
			two.end() // SQLite is for one process and the operator
			two = one
		}
		webhook := one.line(c.by)
		if a, err := webhook.Do("PUT", "/api/partner/webhooks", `{"url":"https://partner.example/events","secret":"webhook-secret-0123456789"}`, ""); err != nil || a.Status != 200 {
			t.Fatalf("register a webhook: %d %s, %v", a.Status, a.Body, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		defer asking.Wait()
		defer stop()
		for _, s := range []*service{one, two} {
			line := s.line(c.by)
			asking.Go(func() {
				for ctx.Err() == nil {
					a, err := line.Do("POST", loadgen.Root+"/quotes", `{"domain":"`+name(0)+`"}`, "")
					if err != nil || a.Status >= 400 && a.Status != http.StatusTooManyRequests {
						t.Errorf("a quote meanwhile: %d %s, %v", a.Status, a.Body, err)
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		must := func(into any, words ...string) {
			t.Helper()
			if said, ok := c.keyCommand(t, operator, into, words...); !ok {
				t.Fatalf("operator key %q: %s", words, said)
			}
		}
		refused := func(want string, words ...string) {
			t.Helper()
			if said, ok := c.keyCommand(t, operator, nil, words...); ok || !strings.Contains(said, want) {
				t.Errorf("operator key %q: %t, %s; want a refusal with %q", words, ok, said, want)
			}
		}
		var before, after []listedKey
		must(&before, "list")
		if len(before) != 1 || !before[0].Seals || before[0].Tables["partner_secrets"] != 1 || before[0].Tables["webhook_endpoints"] != 1 ||
			before[0].Tables["secrets"] == 0 || before[0].Tables["quote_keys"] != 1 {
			t.Fatalf("key list: got %+v, want one key with rows in four tables", before)
		}
		var did struct {
			Key     string `json:"key_id"`
			Made    bool
			Rows    int
			Removed []string `json:"removed_keys"`
		}
		must(&did, "rotate")
		if !did.Made || did.Rows < before[0].Rows || did.Key == before[0].ID {
			t.Errorf("key rotate: got %+v, want another key and %d rows", did, before[0].Rows)
		}
		must(&after, "list")
		if len(after) != 2 || after[0].ID != did.Key || !after[0].Seals || after[1].ID != before[0].ID {
			t.Errorf("key list: got %+v, want the new key first", after)
		}
		refused("try again in", "rotate", "-retire") // browsers may hold what the key before sealed
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(c.keys, old, old); err != nil {
			t.Fatal(err)
		}
		must(&did, "rotate", "-retire")
		if len(did.Removed) != 1 || did.Removed[0] != before[0].ID {
			t.Errorf("key rotate -retire: got %+v, want that %s is removed", did, before[0].ID)
		}
		time.Sleep(2 * time.Second) // asking goes on while the servers follow
		stop()
		asking.Wait()
		one.end()
		one.start()
		if a, err := one.line(c.by).Do("GET", loadgen.Root+"/orders", "", ""); err != nil || a.Status != 200 {
			t.Errorf("after a restart with the new key alone: %d %s, %v", a.Status, a.Body, err)
		}
		var records []struct{ Actor, Action, Subject string }
		must(&records, "-audit")
		told := map[string]string{}
		for _, r := range records {
			if r.Actor == "ada" {
				told[r.Action] = r.Subject
			}
		}
		if told["key.rotate"] != did.Key || told["key.reseal"] != did.Key || told["key.retire"] != before[0].ID {
			t.Errorf("the audit log tells %v", told)
		}
	})
}

// A file of an earlier version is taken over, and the older flag still names a file.
func TestOlderKeyFile(t *testing.T) {
	t.Parallel()
	eachEngine(t, 1, func(t *testing.T, c *fixture) {
		first := c.service(t).start() // by -partner-keys-file
		if a, err := first.line(c.by).Do("GET", loadgen.Root+"/orders", "", ""); err != nil || a.Status != 200 {
			t.Errorf("with the older flag: %d %s, %v", a.Status, a.Body, err)
		}
		first.end()
		data := t.TempDir()
		if c.cfg.URL == "" {
			data = c.cfg.Dir
		}
		text, err := os.ReadFile(c.keys)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "partner.key"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		second := c.service(t)
		second.args = []string{"-addr", second.address, "-bootstrap-url", "off", "-data", data}
		if c.cfg.URL != "" {
			second.args = append(second.args, "-db", c.cfg.URL)
		}
		second.start()
		if a, err := second.line(c.by).Do("GET", loadgen.Root+"/orders", "", ""); err != nil || a.Status != 200 {
			t.Errorf("with the older file: %d %s, %v", a.Status, a.Body, err)
		}
		for _, name := range []string{seal.FileName, "partner.key"} {
			if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v; want mode 0600", name, info, err)
			}
		}
		second.end()

		stranger := c.service(t)
		for i, arg := range stranger.args {
			if arg == c.keys {
				stranger.args[i] = filepath.Join(t.TempDir(), "another.key")
			}
		}
		stranger.begin()
		if _, status := stranger.program.Wait(); status == 0 || !strings.Contains(stranger.program.Stderr(), "-server-key-file") {
			t.Errorf("a server with another key: status %d, %s; want to be told of the flag", status, stranger.program.Stderr())
		}
	})
}

// A backup of the database alone does not suffice to start or finish a sign-in at a provider, sign a quote, or open a secret.
func TestABackupAloneSignsAndOpensNothing(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t)
	providers := write(t, "oidc.toml", "[[provider]]\nid = \"example\"\nissuer = \""+provider.URL+"\"\nclient_id = \""+oidctest.Client+"\"\nclient_secret = \""+oidctest.Secret+"\"\n")
	s := openDemo(t, "-rate-limits", "off", "-oidc", providers)
	credential := s.credential(t)
	line, err := loadgen.Dial(strings.TrimPrefix(s.url, "http://"), signature.Credential(credential))
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	domain := "brewhaven.example"
	if list, err := line.Do("GET", loadgen.Root+"/domains?limit=1", "", ""); err == nil {
		var page struct{ Domains []struct{ Domain string } }
		if json.Unmarshal(list.Body, &page) == nil && len(page.Domains) > 0 {
			domain = page.Domains[0].Domain
		}
	}
	a, err := line.Do("POST", loadgen.Root+"/quotes", `{"domain":"`+domain+`"}`, "")
	var quote struct {
		ID string `json:"quote_id"`
	}
	if err != nil || a.Status >= 300 || json.Unmarshal(a.Body, &quote) != nil {
		t.Fatalf("a quote: %d %s, %v", a.Status, a.Body, err)
	}
	signed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(quote.ID, "qt_"))
	if err != nil {
		t.Fatal(err)
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	begun, err := stay.Get(s.url + "/signin/with/example")
	if err != nil {
		t.Fatal(err)
	}
	begun.Body.Close()
	if to, _ := url.Parse(begun.Header.Get("Location")); to == nil || !strings.HasPrefix(to.String(), provider.URL) {
		t.Fatalf("a sign-in at the provider: %d %s", begun.StatusCode, begun.Header)
	}
	var flow []byte
	for _, c := range begun.Cookies() {
		if c.Name == "nw_flow" {
			flow, err = base64.RawURLEncoding.DecodeString(c.Value)
		}
	}
	if err != nil || len(flow) < 100 {
		t.Fatalf("no flow came with %s", begun.Header)
	}

	copied := filepath.Join(t.TempDir(), "copy.db")
	if out, err := exec.Command(programtest.Build(t, "operator"), "db", "backup", copied, "-data", s.data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	values := everyValue(t, copied)
	if len(values) < 500 {
		t.Fatalf("the backup holds %d values", len(values))
	}
	for _, v := range values {
		mac := hmac.New(sha256.New, v.value)
		mac.Write(signed[:len(signed)-sha256.Size])
		if hmac.Equal(mac.Sum(nil), signed[len(signed)-sha256.Size:]) {
			t.Errorf("a value of %s signs quotes", v.column)
		}
		if bytes.Contains(v.value, []byte(credential.Secret)) {
			t.Errorf("a value of %s is the secret of a partner", v.column)
		}
		if opens(v.value, flow) {
			t.Errorf("a value of %s opens and makes flows", v.column)
		}
		if v.column == "secrets.value" || v.column == "quote_keys.key" || v.column == "partner_secrets.sealed" {
			if _, ok := seal.IDOf(v.value); !ok {
				t.Errorf("a value of %s is not sealed", v.column)
			}
		}
	}
}

// opens reports whether a key opens a flow, in the form that it has or once had.
func opens(key, flow []byte) bool {
	block, err := aes.NewCipher(key)
	if err != nil {
		return false // it has not the length of a key
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return false
	}
	for begins, context := range map[int]string{0: "upstream sign-in", 5: "flow\nupstream sign-in\n\n"} {
		nonce, sealed := flow[begins:begins+aead.NonceSize()], flow[begins+aead.NonceSize():]
		if _, err := aead.Open(nil, nonce, sealed, []byte(context)); err == nil {
			return true
		}
	}
	return false
}

// A stored value and its place.
type storedValue struct {
	column string
	value  []byte
}

// everyValue is every text and every string of bytes in a copy of the embedded store.
func everyValue(t *testing.T, path string) (all []storedValue) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns, err := db.Query(`SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'`)
	if err != nil {
		t.Fatal(err)
	}
	var places [][2]string
	for columns.Next() {
		var p [2]string
		if err := columns.Scan(&p[0], &p[1]); err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	if err := columns.Err(); err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		rows, err := db.Query(`SELECT DISTINCT CAST("` + p[1] + `" AS BLOB) FROM "` + p[0] + `" WHERE typeof("` + p[1] + `") IN ('text', 'blob')`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			v := storedValue{column: p[0] + "." + p[1]}
			if err := rows.Scan(&v.value); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	return all
}
