package main

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/account"
)

func TestAccountCommands(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	out, _, err := operateWith(t, "a long quiet password\nnot this line\n", "account", "create", "-email", "Ada@Example.com", "-data", data, "-json")
	var made struct {
		ID    string `json:"account_id"`
		Email string
	}
	if err != nil || json.Unmarshal([]byte(out), &made) != nil || made.Email != "ada@example.com" || !strings.HasPrefix(made.ID, "acc_") {
		t.Fatalf("account create: %v, %s", err, out)
	}
	accounts, err := account.New(t.Context(), account.Config{DB: openStore(t, data), BaseURL: "https://names.example", Unlimited: true, Signup: account.Invite})
	if err != nil {
		t.Fatal(err)
	}
	defer accounts.Close()
	here := netip.MustParseAddr("127.0.0.1")
	if got, err := accounts.SignIn(t.Context(), "ada@example.com", "a long quiet password", here); err != nil || got.ID != made.ID || !got.Verified {
		t.Errorf("signing in with the password: %+v, %v", got, err)
	}
	token := func(parameter string, args ...string) string {
		t.Helper()
		out, _, err := operate(t, append(args, "-base-url", "https://names.example", "-data", data, "-json")...)
		var minted struct{ URL string }
		if err != nil || json.Unmarshal([]byte(out), &minted) != nil || !strings.HasPrefix(minted.URL, "https://names.example/") {
			t.Fatalf("%q: %v, %s", args, err, out)
		}
		u, err := url.Parse(minted.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query().Get(parameter)
	}
	link := token(account.TokenParameter, "account", "link", "-email", "ada@example.com")
	if got, err := accounts.UseLink(t.Context(), link, here); err != nil || got.ID != made.ID {
		t.Errorf("using the link: %+v, %v", got, err)
	}
	if _, err := accounts.UseLink(t.Context(), link, here); err == nil {
		t.Error("the link is good twice")
	}
	invitation := token(account.InviteParameter, "account", "invite")
	if got, err := accounts.SignUp(t.Context(), "bob@example.com", "another long password", invitation, here); err != nil || got.ID == "" {
		t.Errorf("signing up with the invitation: %+v, %v", got, err)
	}
}

func TestAccountCommandsRefuse(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	if _, _, err := operateWith(t, "a long quiet password\n", "account", "create", "-email", "ada@example.com", "-data", data); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"no address", "", []string{"create"}, "-email is required"},
		{"no password", "", []string{"create", "-email", "b@example.com"}, "standard input"},
		{"a short password", "short\n", []string{"create", "-email", "b@example.com"}, "password"},
		{"a bad address", "a long quiet password\n", []string{"create", "-email", "nobody"}, "email"},
		{"an account that is there", "a long quiet password\n", []string{"create", "-email", "ada@example.com"}, "already"},
		{"a link for nobody", "", []string{"link", "-email", "c@example.com"}, "no such account"},
		{"a base URL that is none", "", []string{"link", "-email", "ada@example.com", "-base-url", "names"}, "URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, _, err := operateWith(t, test.stdin, append([]string{"account", "-data", data}, test.args...)...)
			var refused usageError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || out != "" {
				t.Errorf("got %v, %q; want one line with %q", err, out, test.want)
			}
		})
	}
}
