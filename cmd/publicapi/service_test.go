package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A service is the program in a process of its own. Its address and its store stay when it is restarted.
type service struct {
	t       *testing.T
	cfg     store.Config // of the store
	address string
	args    []string

	cmd     *exec.Cmd // that runs; nil: none
	program *programtest.Program
}

// A fixture is the partner, the keys and the listings of a store. Services on one store share it.
type fixture struct {
	cfg     store.Config
	keys    string // file
	partner admin.Partner
	by      signature.Credential // a credential with all scopes
}

// priceCents is what each name costs.
const priceCents = 9900

// name is a name that is for sale.
func name(n int) string { return fmt.Sprintf("lot%06d.com", n) }

// newFixture offers some names on a store, to one partner.
func newFixture(t *testing.T, cfg store.Config, names int) *fixture {
	t.Helper()
	c := &fixture{cfg: cfg, keys: filepath.Join(t.TempDir(), seal.FileName)}
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	operator := c.operator(t, db)
	if c.partner, err = operator.CreatePartner(t.Context(), "Example Registrar", credential.DefaultTerms()); err != nil {
		t.Fatal(err)
	}
	if err := operator.Approve(t.Context(), c.partner.ID); err != nil {
		t.Fatal(err)
	}
	if c.by, err = operator.CreateCredential(t.Context(), c.partner.ID, market.Live, strings.Join(credential.Scopes, ",")); err != nil {
		t.Fatal(err)
	}
	var csv strings.Builder
	csv.WriteString("domain,price_cents,floor_price_cents,currency\n")
	for n := range names {
		fmt.Fprintf(&csv, "%s,%d,%d,USD\n", name(n), priceCents, priceCents)
	}
	report, err := market.Import(t.Context(), db, strings.NewReader(csv.String()), market.ImportOptions{Environment: market.Live})
	if err != nil || len(report.Bad) > 0 {
		t.Fatalf("import: %+v, %v", report, err)
	}
	return c
}

// operator is one who works on an open store.
func (c *fixture) operator(t *testing.T, db *store.DB) *admin.Operator {
	t.Helper()
	keys, err := seal.Load(c.keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return admin.New(db, keys, time.Now, "test")
}

// eachEngine runs the test with a fixture on each engine.
func eachEngine(t *testing.T, names int, test func(t *testing.T, c *fixture)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) { test(t, newFixture(t, cfg, names)) })
}

// service is a process for the fixture that does not run yet.
func (c *fixture) service(t *testing.T, args ...string) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &service{t: t, cfg: c.cfg, address: l.Addr().String()}
	s.args = []string{"-addr", s.address, "-bootstrap-url", "off", "-partner-keys-file", c.keys}
	if c.cfg.URL != "" {
		s.args = append(s.args, "-db", c.cfg.URL, "-data", t.TempDir())
	} else {
		s.args = append(s.args, "-data", c.cfg.Dir)
	}
	s.args = append(s.args, args...)
	return s
}

// begin starts the process and does not wait for it.
func (s *service) begin() {
	s.t.Helper()
	s.cmd = programtest.Command(s.t, nil, s.args...)
	s.program = programtest.StartCommand(s.t, s.cmd)
}

// start starts the process and returns once it listens.
func (s *service) start() *service {
	s.t.Helper()
	s.begin()
	s.program.Listening()
	return s
}

// kill ends the process as kill -9 does.
func (s *service) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.program.Wait()
}

// end asks the process to end.
func (s *service) end() {
	s.t.Helper()
	s.program.Terminate()
	if _, status := s.program.Wait(); status != 0 {
		s.t.Errorf("the program ends with status %d: %s", status, s.program.Stderr())
	}
}

// dial opens a line to the process. It fails while there is none.
func (s *service) dial(by signature.Credential) (*loadgen.Conn, error) {
	return loadgen.Dial(s.address, by)
}

// line is a line to the process until the end of the test.
func (s *service) line(by signature.Credential) *loadgen.Conn {
	s.t.Helper()
	l, err := s.dial(by)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	return l
}

// refusal is the code and the message of an answer.
func refusal(a loadgen.Response) (code, message string) {
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return "", string(a.Body)
	}
	return body.Error.Code, body.Error.Message
}

// happened is an event as the history tells it.
type happened struct {
	ID   string
	Type string
	Data struct {
		Order struct {
			PublicID string `json:"public_id"`
			Domain   string
		}
	}
}

// history reads what follows an event, up to the end.
func history(l *loadgen.Conn, after string) (all []happened, err error) {
	for {
		target := loadgen.Root + "/events?"
		if after != "" {
			target += "after_id=" + after + "&"
		}
		a, err := l.Do("GET", target+"limit=100", "", "")
		if err != nil {
			return all, err
		}
		var page struct {
			Events     []happened
			NextCursor *string `json:"next_cursor"`
		}
		if a.Status != 200 {
			return all, fmt.Errorf("GET /events: %d %s", a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return all, err
		}
		all = append(all, page.Events...)
		if page.NextCursor == nil {
			return all, nil
		}
		if len(page.Events) == 0 || page.Events[len(page.Events)-1].ID != *page.NextCursor {
			return all, errors.New("next_cursor is not the last id")
		}
		after = *page.NextCursor
	}
}
