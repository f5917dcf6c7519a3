package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tools"
)

// accountCommands are the commands of accounts.
func (p *program) accountCommands() *cobra.Command {
	return group("accounts", "account", "Accounts that sign in",
		p.command(createAccount, &cobra.Command{
			Use: "create", Short: "Make an account; the password is the first line of standard input, or typed",
			Long:    "Makes an account with the address -email, which counts as verified. The password is the first line of standard input, or is asked for at a terminal.",
			Example: "  operator account create -email ada@names.example < password.txt",
		}, emailFlag, baseURLFlag),
		p.command(linkAccount, &cobra.Command{
			Use: "link", Short: "Print a one-time sign-in link",
			Long:    "Prints a sign-in link for the account with the address -email, for a person whose mail does not arrive. It works once within a day.",
			Example: "  operator account link -email ada@names.example -base-url https://names.example",
		}, emailFlag, baseURLFlag),
		p.command(inviteAccount, &cobra.Command{
			Use: "invite", Short: "Print a one-time sign-up link",
			Long:    "Prints a sign-up link for a service with -signup invite. It works once within two weeks.",
			Example: "  operator account invite -base-url https://names.example",
		}, baseURLFlag),
		p.command(listAccounts, &cobra.Command{
			Use: "list", Short: "List accounts, the newest first",
			Long:    "Lists accounts, the newest first. -email chooses those whose address contains a text, -status those that are active or disabled.",
			Example: "  operator account list -email names.example -limit 100\n  operator account list -status disabled -json",
		}, emailFlag, statusFlag("active or disabled"), limitFlag),
		p.command(withAccount(showAccount), &cobra.Command{
			Use: "show ACCOUNT", Short: "Show an account, with its sessions and its security log",
			Long:    "Shows the account with an id or an e-mail address: how it signs in, its sessions, and the last entries of its security log.",
			Example: "  operator account show ada@names.example",
		}),
		p.command(withAccount(disableAccount), &cobra.Command{
			Use: "disable ACCOUNT", Short: "End all sessions and grants of an account, and refuse its sign-ins",
			Long: "Ends all sessions, sign-in links and application grants of an account, and refuses to sign it in from then on, with the answer that a wrong password gets. " +
				"Access tokens that were checked a moment ago are accepted for up to two seconds. Its names and offers stay. \"account enable\" undoes it; the person signs in again.",
			Example: "  operator account disable ada@names.example -reason \"reported stolen\"",
		}),
		p.command(withAccount(enableAccount), &cobra.Command{
			Use: "enable ACCOUNT", Short: "Let a disabled account sign in again",
			Example: "  operator account enable ada@names.example",
		}),
		p.command(withAccount(deleteAccount), &cobra.Command{
			Use: "delete ACCOUNT", Short: "Delete an account with all its data",
			Long: "Deletes an account with its sessions, grants, passkeys, names and security log, as its owner could at /account; its offers are withdrawn. The address may sign up again. " +
				"It is refused while the sale of one of its names is under way.",
			Example: "  operator account delete acc_01k8h3v6e4 -reason \"asked for by letter\"",
		}),
	)
}

// maxPassword limits the input that is read as a password; the password rules are stricter.
const maxPassword = 4 << 10

// accounts opens the accounts of the store. The caller closes them.
func (p *program) accounts(ctx context.Context) (*account.Accounts, error) {
	db, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	accounts, err := account.New(ctx, account.Config{
		DB: db, BaseURL: cmp.Or(p.baseURL, defaultBaseURL), Now: time.Now, Unlimited: true, Audit: p.author(),
		OnRevokeAll: func(ctx context.Context, tx store.Tx, id string) error {
			return oauthas.RevokeAccount(ctx, tx, id, time.Now())
		},
		OnDelete: func(ctx context.Context, tx store.Tx, id string) error {
			// The index of the market is not needed: running programs follow the change.
			if err := portfolio.RemoveAll(ctx, tx, tools.MarketOf(nil, time.Now), id); err != nil {
				return err
			}
			if err := referral.UnlinkAccount(ctx, tx, id); err != nil {
				return err
			}
			return oauthas.RemoveAccount(ctx, tx, id, time.Now())
		},
	})
	if err != nil {
		return nil, usageError{err}
	}
	return accounts, nil
}

// needEmail fails without -email, before the program asks for a password.
func (p *program) needEmail() error {
	if p.email == "" {
		return usagef("-email is required")
	}
	return nil
}

// createAccount creates an account; its password is the first line of standard input.
func createAccount(ctx context.Context, p *program, _ []string) error {
	if err := p.needEmail(); err != nil {
		return err
	}
	password, err := p.readPassword()
	if err != nil {
		return err
	}
	accounts, err := p.accounts(ctx)
	if err != nil {
		return err
	}
	defer accounts.Close()
	created, err := accounts.Create(ctx, p.email, password)
	if err != nil {
		return plainError(err)
	}
	result := struct {
		ID    string `json:"account_id"`
		Email string `json:"email"`
	}{created.ID, created.Email}
	return p.print(result, func(w io.Writer) { fmt.Fprintf(w, "account\t%s\ne-mail\t%s\n", result.ID, result.Email) })
}

// readPassword reads a line, without echo at a terminal.
func (p *program) readPassword() (string, error) {
	if f, ok := p.stdin.(*os.File); ok && isTerminal(f) {
		fmt.Fprint(p.stderr, "password: ")
		line, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.stderr)
		if err == nil && len(line) == 0 {
			err = usagef("the password is missing")
		}
		return string(line), err
	}
	line, err := bufio.NewReader(io.LimitReader(p.stdin, maxPassword)).ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	if line == "" {
		return "", usagef("the password is missing: it is the first line of standard input, or typed at a terminal")
	}
	return line, nil
}

// linkAccount creates a one-time sign-in link, for a user who receives no mail.
func linkAccount(ctx context.Context, p *program, _ []string) error {
	if err := p.needEmail(); err != nil {
		return err
	}
	return p.mint(ctx, func(accounts *account.Accounts) (string, error) { return accounts.Link(ctx, p.email) }, "sign-in link, good once within a day")
}

// inviteAccount creates a one-time sign-up link, for a service with -signup invite.
func inviteAccount(ctx context.Context, p *program, _ []string) error {
	return p.mint(ctx, func(accounts *account.Accounts) (string, error) { return accounts.Invite(ctx) }, "invitation, good once within two weeks")
}

func (p *program) mint(ctx context.Context, link func(*account.Accounts) (string, error), what string) error {
	accounts, err := p.accounts(ctx)
	if err != nil {
		return err
	}
	defer accounts.Close()
	address, err := link(accounts)
	if err != nil {
		return plainError(err)
	}
	result := struct {
		URL string `json:"url"`
	}{address}
	return p.print(result, func(w io.Writer) { fmt.Fprintf(w, "%s\t%s\n", what, result.URL) })
}

// An accountRow is an account as it is printed.
type accountRow struct {
	ID       string    `json:"account_id"`
	Email    string    `json:"email"`
	Verified bool      `json:"verified"`
	Created  time.Time `json:"created_at"`
	Disabled time.Time `json:"disabled_at,omitzero"`
}

func newAccountRow(a account.Account) accountRow {
	return accountRow{a.ID, a.Email, a.Verified, a.Created, a.Disabled}
}

// listAccounts lists accounts, the newest first.
func listAccounts(ctx context.Context, p *program, _ []string) error {
	filter := account.Filter{Email: p.email, Limit: p.limit}
	switch p.status {
	case "":
	case "active":
		filter.Active = true
	case "disabled":
		filter.Disabled = true
	default:
		return usagef("-status must be active or disabled")
	}
	accounts, err := p.accounts(ctx)
	if err != nil {
		return err
	}
	defer accounts.Close()
	all, err := accounts.List(ctx, filter)
	if err != nil {
		return plainError(err)
	}
	rows := make([]accountRow, len(all))
	for i, a := range all {
		rows[i] = newAccountRow(a)
	}
	return p.print(rows, func(w io.Writer) {
		fmt.Fprintln(w, "account\te-mail\tverified\tcreated\tdisabled")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%t\t%s\t%s\n", r.ID, r.Email, r.Verified, day(r.Created), day(r.Disabled))
		}
		if len(rows) == p.limit {
			fmt.Fprintln(w, "… there may be more; narrow them down by -email and -status, or raise -limit")
		}
	})
}

// withAccount returns a command on the account that its argument names, by id or by e-mail address.
func withAccount(do func(context.Context, *program, *account.Accounts, account.Account) error) action {
	return func(ctx context.Context, p *program, args []string) error {
		accounts, err := p.accounts(ctx)
		if err != nil {
			return err
		}
		defer accounts.Close()
		find := accounts.Account
		if strings.Contains(args[0], "@") {
			find = accounts.Find
		}
		one, err := find(ctx, args[0])
		if err == nil {
			err = do(ctx, p, accounts, one)
		}
		return plainError(err)
	}
}

// shownEntries is how many entries of the security log are shown of an account.
const shownEntries = 10

type (
	sessionRow struct {
		Started time.Time `json:"started_at"`
		Seen    time.Time `json:"last_seen_at"`
		From    string    `json:"address,omitempty"`
		Agent   string    `json:"user_agent,omitempty"`
	}
	entryRow struct {
		At     time.Time `json:"at"`
		What   string    `json:"event"`
		Detail string    `json:"detail,omitempty"`
		From   string    `json:"address,omitempty"`
		Times  int       `json:"times"`
	}
)

// showAccount shows an account: how it signs in, its sessions and the last entries of its security log.
func showAccount(ctx context.Context, p *program, accounts *account.Accounts, one account.Account) error {
	password, err := accounts.HasPassword(ctx, one.ID)
	if err != nil {
		return err
	}
	passkeys, err := accounts.Passkeys(ctx, one.ID)
	if err != nil {
		return err
	}
	identities, err := accounts.Identities(ctx, one.ID)
	if err != nil {
		return err
	}
	sessions, err := accounts.Sessions(ctx, one.ID)
	if err != nil {
		return err
	}
	entries, err := accounts.Log(ctx, one.ID, shownEntries)
	if err != nil {
		return err
	}
	result := struct {
		accountRow
		Password   bool         `json:"password"`
		Passkeys   int          `json:"passkeys"`
		Identities []string     `json:"identities"` // ids of OpenID providers
		Sessions   []sessionRow `json:"sessions"`
		Log        []entryRow   `json:"security_log"`
	}{newAccountRow(one), password, len(passkeys), []string{}, []sessionRow{}, []entryRow{}}
	for _, i := range identities {
		result.Identities = append(result.Identities, i.Provider)
	}
	for _, s := range sessions {
		result.Sessions = append(result.Sessions, sessionRow{s.Started, s.LastSeen, addressText(s.From), s.UserAgent})
	}
	for _, e := range entries {
		result.Log = append(result.Log, entryRow{e.At, string(e.What), e.Detail, addressText(e.From), e.Times})
	}
	return p.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "account\t%s\ne-mail\t%s\nverified\t%t\ncreated\t%s\ndisabled\t%s\n", one.ID, one.Email, one.Verified, day(one.Created), day(one.Disabled))
		fmt.Fprintf(w, "signs in by\tpassword %t, %d passkeys, %d identities elsewhere\n", result.Password, result.Passkeys, len(result.Identities))
		for _, s := range result.Sessions {
			fmt.Fprintf(w, "session\tseen %s, from %s, %s\n", day(s.Seen), cmp.Or(s.From, "-"), printable(s.Agent))
		}
		for _, e := range result.Log {
			fmt.Fprintf(w, "%s\t%s\n", day(e.At), printable(strings.TrimSpace(e.What+" "+e.Detail)))
		}
	})
}

// addressText is an address, empty where none is known.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func disableAccount(ctx context.Context, p *program, accounts *account.Accounts, one account.Account) error {
	if err := accounts.Disable(ctx, one.ID); err != nil {
		return err
	}
	return p.done("disabled", one.ID)
}

func enableAccount(ctx context.Context, p *program, accounts *account.Accounts, one account.Account) error {
	if err := accounts.Enable(ctx, one.ID); err != nil {
		return err
	}
	return p.done("enabled", one.ID)
}

func deleteAccount(ctx context.Context, p *program, accounts *account.Accounts, one account.Account) error {
	if err := accounts.Remove(ctx, one.ID); err != nil {
		return err
	}
	return p.done("deleted", one.ID)
}
