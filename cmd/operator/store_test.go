package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// storeCommands is a call of every command that works on a store, well formed.
func storeCommands(t *testing.T) (all []string) {
	t.Helper()
	csv, prices := write(t, "good.csv", good), write(t, "p.csv", "suffix,register,as_of\ncom,1234,2026-11-01\n")
	arguments := map[string]string{
		"FILE.csv": csv, "FILE": prices, "PARTNER": "prt_1", "KEY": "nw_live_1", "ORDER": "ord_1", "CASE": "bkc_1", "ACCOUNT": "acc_1", "DOMAIN": "ember.example", "DELIVERY": "dlv_1",
		"[PARTNER]": "prt_1", "STATEMENT": "stl_1", "PAYOUT": "pay_1", "PAYMENT": "pmt_1",
	}
	flags := map[string]string{
		"listing import": "-env live", "listing remove": "-env live", "partner set": "-service-bp 1", "account create": "-email ada@names.example", "account link": "-email ada@names.example",
		"brokerage agree": "-price-cents 1", "brokerage close": "-reason R", "partner affiliate": "-partner prt_1 -email ada@names.example",
		"zone build": "-tld com", "zone fetch": "-tld com -czds-login login", "partner create": "-name P", "credential create": "-partner prt_1 -env live -scopes buy",
		"settlement run": "-period 2026-10", "settlement mark-paid": "-reference r", "payout create": "-partner prt_1", "payout mark-paid": "-reference r", "payout fail": "-reason r",
		"webhook deliveries": "-partner prt_1 -env live", "webhook redeliver": "-partner prt_1 -env live",
	}
	for _, c := range leaves(new(program).root()) {
		line := wordsOf(c)
		if strings.HasPrefix(line, "dev ") || line == "db migrate" || line == "db restore" || c.GroupID == "more" || c.Parent().GroupID == "more" {
			continue
		}
		for _, a := range argumentsOf(c) {
			line += " " + arguments[a]
		}
		all = append(all, strings.TrimSpace(line+" "+flags[wordsOf(c)]))
	}
	return all
}

// Every command used to make a new store, a key and an empty answer where the name of the directory was misspelt.
func TestNoCommandMakesAStore(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	data := filepath.Join(parent, "a-typo")
	for _, line := range storeCommands(t) {
		_, _, err := operateWith(t, "nine blue harbours at dawn\n", append(strings.Fields(line), "-data", data)...)
		if err == nil || !strings.Contains(err.Error(), "there is no store in "+data) || !isUsage(err) {
			t.Errorf("%s: got %v, want that there is no store in the directory", line, err)
		}
		if left, _ := filepath.Glob(filepath.Join(parent, "*")); len(left) != 0 {
			t.Fatalf("%s made %q", line, left)
		}
	}
	// A directory that is there and holds no store stays as it is.
	empty := t.TempDir()
	for _, line := range storeCommands(t) {
		if _, _, err := operateWith(t, "nine blue harbours at dawn\n", append(strings.Fields(line), "-data", empty)...); err == nil || !isUsage(err) {
			t.Errorf("%s in an empty directory: got %v", line, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(empty, "*")); len(left) != 0 {
		t.Errorf("an empty directory holds %q", left)
	}
}

// The same for a database of PostgreSQL without our tables, and the directory of the keys beside it.
func TestNoCommandMakesASchema(t *testing.T) {
	t.Parallel()
	url, data := storetest.EmptyPostgres(t), filepath.Join(t.TempDir(), "a-typo")
	for _, line := range storeCommands(t) {
		_, _, err := operateWith(t, "nine blue harbours at dawn\n", append(strings.Fields(line), "-db", url, "-data", data)...)
		if err == nil || !strings.Contains(err.Error(), "there is no store in database") || !isUsage(err) {
			t.Errorf("%s: got %v, want that there is no store in the database", line, err)
		}
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a directory was made")
	}
	db, err := store.Open(t.Context(), store.Config{URL: url, NoMigrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := -1
	if err := db.Read(t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'`).Scan(&tables)
	}); err != nil || tables != 0 {
		t.Errorf("the database has %d tables, %v; want none", tables, err)
	}
	// With a schema, what needs the keys says which file it misses, and makes none: another key would seal what the
	// service cannot read.
	if _, _, err := operate(t, "db", "migrate", "-db", url, "-data", data); err != nil {
		t.Fatal(err)
	}
	_, _, err = operate(t, "partner", "create", "-name", "P", "-db", url, "-data", data)
	if err == nil || !strings.Contains(err.Error(), "-server-key-file") {
		t.Errorf("without keys: got %v", err)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a directory was made for keys")
	}
}

// What db migrate makes is complete: a store that others may not read, and the keys.
func TestMigrateMakesAStore(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if _, stderr, status := programtest.Run(t, nil, "db", "migrate", "-data", data); status != 0 {
		t.Fatal(stderr)
	}
	if _, _, err := operate(t, "partner", "create", "-name", "P", "-data", data); err != nil {
		t.Error(err)
	}
	names := 0
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", filepath.Base(path), info.Mode())
		}
		names++
		return err
	})
	if err != nil || names < 4 {
		t.Errorf("%d names, %v", names, err)
	}
}
