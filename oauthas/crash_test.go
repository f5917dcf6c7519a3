package oauthas

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// crashVariable makes the test binary the victim of TestKilledDuringRefresh: its value is a directory or a
// database URL.
const crashVariable = "NAMEWHARF_TEST_ROTATIONS"

func TestMain(m *testing.M) {
	if where := os.Getenv(crashVariable); where != "" {
		rotateUntilKilled(where)
	}
	os.Exit(m.Run())
}

const chains = 8

// rotateUntilKilled refreshes some grants repeatedly and prints "client token" for each response.
func rotateUntilKilled(where string) {
	fatal := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	db, err := store.Open(ctx, storeConfig(where))
	if err != nil {
		fatal(err)
	}
	s, err := New(ctx, Config{DB: db, Issuer: issuer, Resources: []string{issuer}, NoLimits: true})
	if err != nil {
		fatal(err)
	}
	var wg sync.WaitGroup
	for range chains {
		wg.Go(func() {
			client := store.NewID("client")
			token, err := s.seed(ctx, client)
			printed := ""
			for err == nil {
				if token != printed {
					fmt.Println(client, token)
					printed = token
				}
				var a tokens
				var refusal *oauthError
				a, refusal, err = s.refresh(ctx, token, renewal{client: client})
				if store.IsRetryable(err) { // after the store's own attempts: nothing was changed
					err = nil
					continue
				}
				if refusal != nil {
					err = fmt.Errorf("refused: %s", refusal.code)
				}
				token = a.Refresh
			}
			fatal(err)
		})
	}
	wg.Wait()
}

// seed registers a client, gives it a grant and returns its first refresh token.
func (s *Server) seed(ctx context.Context, id string) (token string, err error) {
	code := newSecret(codePrefix)
	verifier, challenge := pkce()
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		if err := insertClient(ctx, tx, client{id: id, redirects: []string{appRedirect}}, s.cfg.Now()); err != nil {
			return err
		}
		return insertCode(ctx, tx, digestOf(code), codeRow{
			grant: store.NewID("grant"), account: "acc_1", client: id, redirect: appRedirect, challenge: challenge,
			scope: "pricing:read", resource: issuer, expires: s.cfg.Now().Add(CodeLife),
		})
	})
	if err != nil {
		return "", err
	}
	a, refusal, err := s.redeem(ctx, code, redemption{client: id, verifier: verifier})
	if refusal != nil {
		err = fmt.Errorf("refused: %s", refusal.code)
	}
	return a.Refresh, err
}

func storeConfig(where string) store.Config {
	if strings.HasPrefix(where, "postgres:") {
		return store.Config{URL: where}
	}
	return store.Config{Dir: where}
}

// TestKilledDuringRefresh kills a process that refreshes, three times in a thousand rotations. Afterwards every grant has one
// valid token, and no used token is valid.
func TestKilledDuringRefresh(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		printed := map[string][]string{} // by client
		rotations := 0
		for range 3 {
			for _, line := range runVictim(t, cfg.Dir+cfg.URL, 340) {
				client, token, _ := strings.Cut(line, " ")
				printed[client] = append(printed[client], token)
				rotations++
			}
		}
		if rotations < 1000 {
			t.Fatalf("got %d rotations, want 1000", rotations)
		}
		d := newFixture(t, storetest.Open(t, cfg), func(c *Config) { c.Now = time.Now })
		grants, unused := d.unusedTokens()
		if grants < len(printed) {
			t.Errorf("got %d grants, want at least the %d that were seen", grants, len(printed))
		}
		for grant, n := range unused {
			if n != 1 {
				t.Errorf("grant %s: got %d tokens that may be used, want 1", grant, n)
			}
		}
		good, lost := 0, 0
		for client, list := range printed {
			a := d.token(signedInClient{client: client, refresh: list[len(list)-1]}.renewal())
			if a.status == http.StatusOK {
				good++
				continue
			}
			lost++ // its successor was committed, and the answer died with the process
			d.wantError("the last token that was seen", a, http.StatusBadRequest, errInvalidGrant)
		}
		for client, list := range printed {
			if len(list) > 1 {
				d.wantError("a token with a successor", d.token(signedInClient{client: client, refresh: list[len(list)-2]}.renewal()), 400, errInvalidGrant)
			}
		}
		t.Logf("%d rotations, %d kills: %d grants go on, %d answers were lost", rotations, 3, good, lost)
	})
}

// unusedTokens counts the refresh tokens of each grant that may still be used.
func (d *fixture) unusedTokens() (grants int, unused map[string]int) {
	d.Helper()
	unused = map[string]int{}
	err := d.cfg.DB.Read(d.Context(), func(tx store.Tx) error {
		rows, err := tx.Query(d.Context(), `
			SELECT g.id, COUNT(r.hash) FROM oauth_grants g LEFT JOIN oauth_refresh r ON r.grant_id = g.id AND r.used_at = 0 GROUP BY g.id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var n int
			if err := rows.Scan(&id, &n); err != nil {
				return err
			}
			unused[id] = n
		}
		return rows.Err()
	})
	if err != nil {
		d.Fatal(err)
	}
	return len(unused), unused
}

// runVictim starts a process that refreshes, kills it after enough answers, and returns all of them.
func runVictim(t *testing.T, where string, enough int) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		if line := scanner.Text(); wellFormed(line[strings.IndexByte(line, ' ')+1:], refreshPrefix) { // the last may be cut short
			lines = append(lines, line)
		}
		if len(lines) == enough {
			cmd.Process.Kill()
		}
	}
	cmd.Wait() // reports the kill
	if len(lines) < enough {
		t.Fatalf("the process ended after %d answers, want at least %d", len(lines), enough)
	}
	return lines
}
