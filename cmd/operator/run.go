package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/namewharf/namewharf/internal/app"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/internal/version"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/spelling"
	"github.com/namewharf/namewharf/store"
)

// A usageError is a call that cannot be carried out as it was typed. Nothing was done.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A command is one thing that the operator can do.
type command struct {
	words string // what is typed, e.g. "listing import"
	args  string // what follows the words, for the usage
	doc   string
	flags func(*flag.FlagSet, *options)
	do    func(context.Context, *desk, []string) error
}

// commands in the order of the help.
var commands = []command{
	{"listing import", "FILE.csv", "put the names of a CSV file up for sale", listingFlags, importListings},
	{"pricing import", "FILE", "take registration prices from a CSV file or a registrar's JSON price feed", nil, importPrices},
	{"account create", "", "make an account, with -email; the password is the first line of standard input", accountFlags, createAccount},
	{"account link", "", "mint a one-time sign-in link for the account with -email", nil, linkAccount},
	{"account invite", "", "mint a one-time sign-up link, for a service with -signup invite", nil, inviteAccount},
	{"partner create", "", "make a partner, with -name", partnerFlags, createPartner},
	{"partner list", "", "list the partners", nil, withOperator(listPartners)},
	{"partner terms", "PARTNER", "change -review-limit-cents and -service-bp for sales from now on", nil, withOperator(setTerms)},
	{"partner suspend", "PARTNER", "refuse all credentials of a partner", nil, withOperator(suspendPartner)},
	{"partner resume", "PARTNER", "end that", nil, withOperator(resumePartner)},
	{"credential create", "", "make a credential, with -partner, -env and -scopes; its secret is shown once", nil, createCredential},
	{"credential list", "", "list credentials, with -partner those of one", nil, withOperator(listCredentials)},
	{"credential rotate", "KEY", "give a credential another secret; the one before stays good for -overlap", nil, withOperator(rotateCredential)},
	{"credential revoke", "KEY", "end a credential", nil, withOperator(revokeCredential)},
	{"sandbox seed", "", "put the sandbox's inventory up for sale", nil, withOperator(seedSandbox)},
	{"order list", "", "list orders, the newest first, with -status and -domain only those", orderFlags, listOrders},
	{"order show", "ORDER", "show an order with its timeline", nil, withOperator(showOrder)},
	{"order hold", "ORDER", "let a person look before the transfer starts", nil, actOnOrder(sale.Hold)},
	{"order clear", "ORDER", "end the review of a held order", nil, actOnOrder(sale.Clear)},
	{"order start-transfer", "ORDER", "the push to the partner's registrar has begun", nil, actOnOrder(sale.StartTransfer)},
	{"order confirm-transfer", "ORDER", "the name has arrived there", nil, actOnOrder(sale.ConfirmTransfer)},
	{"order cancel", "ORDER", "undo a sale before the name has arrived", nil, actOnOrder(sale.Cancel)},
	{"order refund", "ORDER", "refund a sale that the partner collected, before the name has arrived", nil, actOnOrder(sale.RefundBuyer)},
	{"domain flag", "DOMAIN", "make sales of a domain wait for a person", nil, flagDomain},
	{"domain unflag", "DOMAIN", "end that; orders that are held stay so until cleared", nil, unflagDomain},
	{"webhook deliveries", "", "list what was sent to a partner, with -partner and -env", nil, showDeliveries},
	{"webhook redeliver", "DELIVERY", "send an event once more, with -partner and -env", nil, redeliver},
	{"ledger check", "", "hold the ledger against itself and the orders", nil, withOperator(checkLedger)},
	{"audit", "", "tell who did what, the newest first, by -actor, -action, -subject and -since", auditFlags, showAudit},
	{"key list", "", "tell which keys seal what the store must not show, and how many rows each", keyFlags, listKeys},
	{"key rotate", "", "put a new key first and seal everything with it, while the service runs; -retire removes the keys before", nil, withOperator(rotateKeys)},
	{"dev sign", "METHOD PATH", "sign a request of the partner API with -key-id and -secret, and print its headers, or send it", devFlags, devSign},
	{"dev listen", "", "take webhooks on loopback, with -webhook-secret, and say of each whether it is genuine", nil, devListen},
	{"dev trigger", "", "have a test event sent to the partner's webhook, and say what came of it", nil, devTrigger},
	{"db migrate", "", "bring the schema up to date", nil, migrateDB},
	{"db backup", "FILE", "write a copy of the embedded store", nil, backupDB},
	{"db check", "", "look for damage and for settings that risk what is stored", nil, checkDB},
}

// options are the flags of all commands.
type options struct {
	data, db, env  string
	email, baseURL string

	keys                     app.Config // only the key file
	name, partner, scopes    string
	reason, as, subject      string
	actor, action, since     string
	overlap                  time.Duration
	reviewLimit, serviceRate int64
	status, domain           string
	limit                    int
	json                     bool
	given                    map[string]bool // flags that are not left at their defaults
	dryRun, partial, retire  bool
	dev                      devOptions
}

// A desk is where a command works: the options, the store once it is asked for, and where to write.
type desk struct {
	options
	environ        func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
	store          *store.DB
}

// defaultData is the directory of the embedded store, the same as the public API's.
const defaultData = "./data"

func run(ctx context.Context, args []string, environ func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) error {
	d := &desk{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr}
	fs := flag.NewFlagSet("operator", flag.ContinueOnError)
	fs.StringVar(&d.data, "data", defaultData, "`directory` of the embedded store and the price list")
	fs.StringVar(&d.db, "db", "", "`postgres://…` instead of the embedded store")
	fs.BoolVar(&d.json, "json", false, "print JSON instead of a table")
	for _, c := range commands {
		if c.flags != nil {
			c.flags(fs, &d.options)
		}
	}
	words, err := settings.Parse(fs, args, environ, stdout)
	if errors.Is(err, flag.ErrHelp) {
		printCommands(stdout)
		return nil
	}
	if errors.Is(err, settings.ErrVersion) {
		fmt.Fprintln(stdout, version.Line("operator"))
		return nil
	}
	if err == nil {
		err = settings.CheckEnvironment(fs, os.Environ())
	}
	if err != nil {
		return usageError{err}
	}
	c, rest, err := find(words)
	if err != nil {
		return err
	}
	if want := len(strings.Fields(c.args)); len(rest) != want {
		return usagef("%s: usage: operator %s", countOf(len(rest), want), strings.TrimSpace(c.words+" "+c.args))
	}
	if err := checkFlags(c, typedFlags(fs, args)); err != nil {
		return err
	}
	d.given = map[string]bool{}
	fs.Visit(func(f *flag.Flag) { d.given[f.Name] = true })
	defer d.close()
	return c.do(ctx, d, rest)
}

// countOf says how the arguments typed differ from those wanted.
func countOf(got, want int) string {
	if got < want {
		return "an argument is missing"
	}
	return fmt.Sprintf("%d arguments too many", got-want)
}

// find matches the words typed with a command and returns those behind it.
func find(words []string) (command, []string, error) {
	for _, c := range commands {
		n := len(strings.Fields(c.words))
		if len(words) >= n && strings.Join(words[:n], " ") == c.words {
			return c, words[n:], nil
		}
	}
	if len(words) == 0 {
		return command{}, nil, usagef("say what to do; -h lists the commands")
	}
	typed := strings.Join(words[:min(2, len(words))], " ")
	var known, below []string
	for _, c := range commands {
		known = append(known, c.words)
		if strings.HasPrefix(c.words, words[0]+" ") {
			below = append(below, c.words)
		}
	}
	if near := spelling.DidYouMean(typed, known); near != "" {
		return command{}, nil, usagef("there is no command %q%s", typed, near)
	}
	if len(below) > 0 {
		return command{}, nil, usagef("there is no command %q; there are %s", typed, strings.Join(below, ", "))
	}
	return command{}, nil, usagef("there is no command %q; -h lists the commands", typed)
}

func printCommands(w io.Writer) {
	fmt.Fprintln(w, "\nCommands (flags may stand before or behind the words):")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range commands {
		fmt.Fprintf(t, "  operator %s\t%s\n", strings.TrimSpace(c.words+" "+c.args), c.doc)
	}
	t.Flush()
}

// open opens the store once, with its schema up to date, and fails where there is none.
func (d *desk) open(ctx context.Context) (*store.DB, error) {
	return d.openAs(ctx, store.Config{Existing: true})
}

// openAsIs opens the store as it is, to look at it.
func (d *desk) openAsIs(ctx context.Context) (*store.DB, error) {
	return d.openAs(ctx, store.Config{Existing: true, NoMigrate: true})
}

func (d *desk) openAs(ctx context.Context, cfg store.Config) (*store.DB, error) {
	if d.store != nil {
		return d.store, nil
	}
	cfg.URL, cfg.Dir, cfg.Now = d.db, d.data, time.Now
	cfg.Logger = slog.New(slog.NewTextHandler(d.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := store.Open(ctx, cfg)
	none := errors.Unwrap(err) // without what was being done
	switch {
	case errors.Is(err, store.ErrNoStore) && d.db != "":
		return nil, usagef("%w; -db names the database of the service, and \"operator db migrate\" makes a store in it", none)
	case errors.Is(err, store.ErrNoStore):
		return nil, usagef("%w; -data names the directory of the service, and \"operator db migrate\" makes a store in one", none)
	case err != nil:
		return nil, usageError{err}
	}
	d.store = db
	return db, nil
}

func (d *desk) close() {
	if d.store != nil {
		d.store.Close()
	}
}

// print writes the value as JSON with -json, else calls table.
func (d *desk) print(value any, table func(w io.Writer)) error {
	if d.json {
		e := json.NewEncoder(d.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(value)
	}
	w := tabwriter.NewWriter(d.stdout, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}
