package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
)

func accountFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.email, "email", "", "`address` of the account")
	fs.StringVar(&o.baseURL, "base-url", "http://127.0.0.1:8080", "public `URL` of the service, the prefix of links")
}

// maxPassword bounds what is read as a password; the rules for one are stricter.
const maxPassword = 4 << 10

// accounts opens the people of the store.
func (d *desk) accounts(ctx context.Context) (*account.Accounts, error) {
	db, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	people, err := account.New(ctx, account.Config{DB: db, BaseURL: d.baseURL, Now: time.Now, Unlimited: true, Audit: d.author()})
	if err != nil {
		return nil, usageError{err}
	}
	return people, nil
}

// needEmail says what is missing before a password is asked for.
func (d *desk) needEmail() error {
	if d.email == "" {
		return usagef("-email is required")
	}
	return nil
}

// createAccount makes an account; its password is the first line of standard input.
func createAccount(ctx context.Context, d *desk, _ []string) error {
	if err := d.needEmail(); err != nil {
		return err
	}
	password, err := d.readPassword()
	if err != nil {
		return err
	}
	people, err := d.accounts(ctx)
	if err != nil {
		return err
	}
	defer people.Close()
	created, err := people.Create(ctx, d.email, password)
	if err != nil {
		return plain(err)
	}
	result := struct {
		ID    string `json:"account_id"`
		Email string `json:"email"`
	}{created.ID, created.Email}
	return d.print(result, func(w io.Writer) { fmt.Fprintf(w, "account\t%s\ne-mail\t%s\n", result.ID, result.Email) })
}

// readPassword reads a line, without showing it where a person types it.
func (d *desk) readPassword() (string, error) {
	if f, ok := d.stdin.(*os.File); ok && isTerminal(f) {
		fmt.Fprint(d.stderr, "password: ")
		line, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(d.stderr)
		if err == nil && len(line) == 0 {
			err = usagef("the password is missing")
		}
		return string(line), err
	}
	line, err := bufio.NewReader(io.LimitReader(d.stdin, maxPassword)).ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	if line == "" {
		return "", usagef("the password is missing: it is the first line of standard input, or typed at a terminal")
	}
	return line, nil
}

// linkAccount mints a one-time sign-in link, for a person whose mail does not arrive.
func linkAccount(ctx context.Context, d *desk, _ []string) error {
	if err := d.needEmail(); err != nil {
		return err
	}
	return d.mint(ctx, func(people *account.Accounts) (string, error) { return people.Link(ctx, d.email) }, "sign-in link, good once within a day")
}

// inviteAccount mints a one-time sign-up link, for a service with -signup invite.
func inviteAccount(ctx context.Context, d *desk, _ []string) error {
	return d.mint(ctx, func(people *account.Accounts) (string, error) { return people.Invite(ctx) }, "invitation, good once within two weeks")
}

func (d *desk) mint(ctx context.Context, link func(*account.Accounts) (string, error), what string) error {
	people, err := d.accounts(ctx)
	if err != nil {
		return err
	}
	defer people.Close()
	address, err := link(people)
	if err != nil {
		return plain(err)
	}
	result := struct {
		URL string `json:"url"`
	}{address}
	return d.print(result, func(w io.Writer) { fmt.Fprintf(w, "%s\t%s\n", what, result.URL) })
}

// plain is an error for the caller of an API in the words of a terminal.
func plain(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	var text strings.Builder
	text.WriteString(f.Detail)
	for _, field := range f.Fields {
		if more := strings.TrimSpace(field.Field + " " + field.Reason); !strings.Contains(text.String(), more) {
			text.WriteString("; " + more)
		}
	}
	return usageError{errors.New(text.String())}
}
