package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// crashVariable makes the test binary the victim of TestKilledProcessLosesNoCommit: its value is a directory
// or a database URL.
const crashVariable = "NAMEWHARF_TEST_CRASH"

func TestMain(m *testing.M) {
	if where := os.Getenv(crashVariable); where != "" {
		writeUntilKilled(where)
	}
	if where := os.Getenv(holderVariable); where != "" {
		holdUntilKilled(where)
	}
	os.Exit(m.Run())
}

// writeUntilKilled inserts pairs of rows and prints the id of each pair once it is committed.
func writeUntilKilled(where string) {
	ctx := context.Background()
	db, err := store.Open(ctx, configOf(where))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				id := store.NewID("pair")
				err := db.Tx(ctx, func(tx store.Tx) error {
					if err := insert(ctx, tx, id+"/1", 1); err != nil {
						return err
					}
					return insert(ctx, tx, id+"/2", 2)
				})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Println(id)
			}
		})
	}
	wg.Wait()
}

func TestKilledProcessLosesNoCommit(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db := storetest.Open(t, cfg)
		makeTable(t, db)
		if db.Engine() == store.SQLite { // so that the victim's successor has to recover the log
			db.Close()
		}
		acknowledged := make(map[string]bool)
		for range 3 {
			for _, id := range runVictim(t, cfg.Dir+cfg.URL, 200) {
				acknowledged[id] = true
			}
		}
		db = storetest.Open(t, cfg)
		parts := make(map[string]int)
		err := db.Read(t.Context(), func(tx store.Tx) error {
			rows, err := tx.Query(t.Context(), `SELECT id FROM things`)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); err != nil {
					return err
				}
				pair, _, _ := strings.Cut(id, "/")
				parts[pair]++
			}
			return rows.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		for id := range acknowledged {
			if parts[id] != 2 {
				t.Errorf("acknowledged pair %s: got %d rows, want 2", id, parts[id])
			}
		}
		for id, n := range parts {
			if n != 2 {
				t.Errorf("pair %s: got %d rows, want both or none", id, n)
			}
		}
		report, err := db.Check(t.Context())
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("check after the kills: got %v, %v", report, err)
		}
		t.Logf("%d pairs acknowledged, %d found", len(acknowledged), len(parts))
	})
}

// runVictim starts a process that writes, kills it after enough acknowledgements, and returns all of them.
func runVictim(t *testing.T, where string, enough int) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+where)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		ids = append(ids, lines.Text())
		if len(ids) == enough {
			cmd.Process.Kill()
		}
	}
	cmd.Wait() // reports the kill
	if len(ids) < enough {
		t.Fatalf("the process ended after %d acknowledgements, want at least %d", len(ids), enough)
	}
	// The last line may have been cut short by the kill.
	return ids[:len(ids)-1]
}
