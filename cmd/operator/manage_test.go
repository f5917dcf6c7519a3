package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A testStore is a fresh store on one engine, and runs commands on it.
type testStore struct {
	*testing.T
	db    *store.DB
	flags []string // that name the store
}

// eachStore runs the test with a store on each engine.
func eachStore(t *testing.T, test func(*testStore)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		s := &testStore{T: t, flags: []string{"-data", cfg.Dir}}
		if cfg.URL != "" {
			s.flags = []string{"-db", cfg.URL, "-server-key-file", filepath.Join(t.TempDir(), seal.FileName)}
			if _, err := seal.Load(s.flags[3], nil); err != nil {
				t.Fatal(err)
			}
		}
		if cfg.URL == "" {
			fillStore(t, cfg.Dir)
		}
		s.db = storetest.Open(t, cfg)
		test(s)
	})
}

// do runs a command with -json, and reads what it prints into a value.
func (s *testStore) do(into any, line string) {
	s.Helper()
	out, _, err := operateWith(s.T, "seven brave otters\n", append(strings.Fields(line+" -json"), s.flags...)...)
	if err != nil {
		s.Fatalf("%s: %v", line, err)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.Fatalf("%s: %v: %s", line, err, out)
	}
}

// table is what a command prints, with single spaces.
func (s *testStore) table(line string) string {
	s.Helper()
	out, _, err := operate(s.T, append(strings.Fields(line), s.flags...)...)
	if err != nil {
		s.Fatalf("%s: %v", line, err)
	}
	return strings.Join(strings.Fields(out), " ")
}

// refused runs a command that cannot be carried out, and wants one line that says why.
func (s *testStore) refused(line, want string) {
	s.Helper()
	out, _, err := operateWith(s.T, "seven brave otters\n", append(strings.Fields(line), s.flags...)...)
	if !isUsage(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || out != "" {
		s.Errorf("%s: got %v, %q; want one line with %q", line, err, out, want)
	}
}

func TestListingCommands(t *testing.T) {
	t.Parallel()
	eachStore(t, func(s *testStore) {
		var ignored any
		s.do(&ignored, "listing import "+write(s.T, "good.csv", good)+" -env live")
		s.do(&ignored, "listing import "+write(s.T, "sandbox.csv", "domain,price_cents\nbrewhaven.com,100\n")+" -env sandbox")
		var rows []listingRow
		s.do(&rows, "listing list")
		if len(rows) != 3 || rows[0].Domain != "brewhaven.com" || rows[2].Domain != "xn--bcher-kva.de" {
			s.Errorf("listing list: got %+v", rows)
		}
		s.do(&rows, "listing list -env live -tld .com -limit 5")
		if len(rows) != 1 || rows[0].PriceCents != 990000 || rows[0].FloorCents != 700000 || rows[0].Currency != "USD" || len(rows[0].Keywords) != 2 || rows[0].Listed.IsZero() {
			s.Errorf("listing list of .com: got %+v", rows)
		}
		s.do(&rows, "listing show BREWHAVEN.com")
		if len(rows) != 2 {
			s.Errorf("listing show: got %+v, want one of each environment", rows)
		}
		if got := s.table("listing show brewhaven.com -env live"); !strings.Contains(got, "price 9900.00 USD") || !strings.Contains(got, "A name, for a coffee house") {
			s.Errorf("the table: %s", got)
		}
		var removed listingRow
		s.do(&removed, "listing remove brewhaven.com -env live -reason dispute")
		if removed.Status != "withdrawn" || removed.Environment != "LIVE" {
			s.Errorf("listing remove: got %+v", removed)
		}
		s.do(&rows, "listing list -status withdrawn")
		if len(rows) != 1 || rows[0].Domain != "brewhaven.com" {
			s.Errorf("what was withdrawn: got %+v", rows)
		}
		s.do(&rows, "listing list -env live -tld com")
		if rows == nil || len(rows) != 0 {
			s.Errorf("what is for sale: got %+v, want an empty list", rows)
		}
		s.refused("listing remove brewhaven.com -env live", "brewhaven.com is not for sale")
		s.refused("listing remove brewhaven.com", "-env must be live or sandbox")
		s.refused("listing remove a..b -env live", "the name")
		s.refused("listing show nobody.com", "nobody.com has no listing here")
		s.refused("listing list -status gone", "status must be")
		s.refused("listing list -env test", "-env must be")
		s.refused("listing list -limit 0", "limit must be from 1")
		s.refused("listing list -tld a..b", "-tld")
	})
}

func TestAccountLife(t *testing.T) {
	t.Parallel()
	eachStore(t, func(s *testStore) {
		var made accountRow
		s.do(&made, "account create -email ada@names.example")
		var ignored any
		s.do(&ignored, "account create -email bob@other.example")
		accounts, err := account.New(s.Context(), account.Config{DB: s.db, BaseURL: "https://names.example", Unlimited: true})
		if err != nil {
			s.Fatal(err)
		}
		defer accounts.Close()
		here := netip.MustParseAddr("127.0.0.1")
		token, _, err := accounts.StartSession(s.Context(), made.ID, here, "Browser/1\x1b[31m")
		if err != nil {
			s.Fatal(err)
		}
		var rows []accountRow
		s.do(&rows, "account list -email NAMES")
		if len(rows) != 1 || rows[0].ID != made.ID || !rows[0].Verified || !rows[0].Disabled.IsZero() {
			s.Errorf("account list: got %+v", rows)
		}
		if got := s.table("account show ada@names.example"); !strings.Contains(got, "Browser/1") || strings.Contains(got, "\x1b") || !strings.Contains(got, "password true") || !strings.Contains(got, "signed_up by the operator") {
			s.Errorf("account show: %s", got)
		}
		s.do(&ignored, "account disable "+made.ID+" -reason stolen")
		if _, err := accounts.Session(s.Context(), token); !fault.Is(err, fault.AuthenticationRequired) {
			s.Errorf("the session: got %v, want that it has ended", err)
		}
		if _, err := accounts.SignIn(s.Context(), "ada@names.example", "seven brave otters", here); !fault.Is(err, fault.AuthenticationRequired) {
			s.Errorf("the password: got %v, want that it is refused", err)
		}
		s.do(&rows, "account list -status disabled")
		if len(rows) != 1 || rows[0].ID != made.ID || rows[0].Disabled.IsZero() {
			s.Errorf("disabled accounts: got %+v", rows)
		}
		s.refused("account link -email ada@names.example", "disabled")
		s.do(&ignored, "account enable ada@names.example")
		if _, err := accounts.SignIn(s.Context(), "ada@names.example", "seven brave otters", here); err != nil {
			s.Errorf("the password: %v, want that it is taken again", err)
		}
		s.do(&ignored, "account delete ada@names.example")
		s.do(&rows, "account list")
		if len(rows) != 1 || rows[0].Email != "bob@other.example" {
			s.Errorf("after account delete: got %+v", rows)
		}
		for _, what := range []string{"show", "disable", "enable", "delete"} {
			s.refused("account "+what+" ada@names.example", "no such account")
			s.refused("account "+what+" acc_none", "no such account")
		}
		s.refused("account show @", "email")
		s.refused("account list -status gone", "-status must be active or disabled")
		s.refused("account list -limit 1001", "limit must be from 1")
	})
}

func TestApprovalCommands(t *testing.T) {
	t.Parallel()
	eachStore(t, func(s *testStore) {
		var made struct {
			ID string `json:"partner_id"`
		}
		s.do(&made, "partner create -name Registrar")
		var issued struct {
			KeyID string `json:"key_id"`
		}
		s.do(&issued, "credential create -partner "+made.ID+" -env sandbox -scopes buy")
		var shown struct {
			partnerRow
			Credentials []credentialRow
		}
		if s.do(&shown, "partner show "+made.ID); !shown.Approved.IsZero() {
			s.Errorf("a credential for the sandbox approved the partner: %+v", shown)
		}
		s.do(&issued, "credential create -partner "+made.ID+" -env live -scopes buy,search") // approves
		var ignored any
		s.do(&ignored, "partner approve "+made.ID) // which it is
		s.do(&ignored, "partner set "+made.ID+" -service-bp 1000")
		s.do(&ignored, "credential revoke "+issued.KeyID)
		s.do(&shown, "partner show "+made.ID)
		if shown.ID != made.ID || shown.ServiceBP != 1000 || shown.Approved.IsZero() || len(shown.Credentials) != 2 || shown.Credentials[1].Revoked.IsZero() {
			s.Errorf("partner show: got %+v", shown)
		}
		if got := s.table("partner show " + made.ID); !strings.Contains(got, issued.KeyID+", LIVE, search,buy, revoked") {
			s.Errorf("the table: %s", got)
		}
		s.refused("partner approve prt_none", "no such partner")
		s.refused("partner show prt_none", "no such partner")
		s.refused("partner set prt_none -service-bp 1", "no such partner")
	})
}

func TestRestoreCommand(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	if _, _, err := operate(t, "listing", "import", write(t, "good.csv", good), "-env", "live", "-data", data); err != nil {
		t.Fatal(err)
	}
	if _, _, err := operate(t, "partner", "create", "-name", "P", "-data", data); err != nil { // which seals with the key
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "copy.db")
	if _, _, err := operate(t, "db", "backup", backup, "-data", data); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	out, _, err := operate(t, "db", "restore", backup, "-data", fresh)
	if err != nil || !strings.Contains(out, filepath.Join(fresh, seal.FileName)) || !strings.Contains(out, "put the key file of the time of the backup there") {
		t.Fatalf("into nothing: %s, %v; want the name of the key file", out, err)
	}
	if l := listed(t, openStore(t, fresh), "brewhaven.com"); l.PriceCents != 990000 {
		t.Errorf("got %+v", l)
	}
	key, err := os.ReadFile(filepath.Join(data, seal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	keyed := t.TempDir()
	if err := os.WriteFile(filepath.Join(keyed, seal.FileName), key, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err = operate(t, "db", "restore", backup, "-data", keyed, "-json")
	var did restoration
	if err != nil || json.Unmarshal([]byte(out), &did) != nil || !did.Fits || did.KeyFile != filepath.Join(keyed, seal.FileName) || did.Replaced != "" {
		t.Errorf("beside the key: %s, %v", out, err)
	}
	for _, test := range []struct{ line, want string }{
		{backup + " -data " + keyed, "-overwrite replaces it"},
		{backup + "2 -data " + keyed, "no such file"},
		{t.TempDir() + " -data " + keyed, "is a directory"},
		{backup + " -db postgres://127.0.0.1:1/x", "pg_restore"},
	} {
		if _, _, err := operate(t, append([]string{"db", "restore"}, strings.Fields(test.line)...)...); !isUsage(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.line, err, test.want)
		}
	}
	if _, _, err := operate(t, "db", "restore", write(t, "text", "domain\n"), "-data", keyed, "-overwrite"); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("a text: got %v", err)
	}
	out, _, err = operate(t, "db", "restore", backup, "-data", keyed, "-overwrite", "-as", "ada")
	if err != nil || !strings.Contains(out, ".replaced-") {
		t.Errorf("-overwrite: %s, %v", out, err)
	}
	if l := auditLines(t, openStore(t, keyed))[0]; l.Action != "db.restore" || l.Actor != "ada" {
		t.Errorf("the audit log: got %+v", l)
	}
}
