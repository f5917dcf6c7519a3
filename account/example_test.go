package account_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A user signs up, signs in, and is identified by the token in the browser's cookie.
func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := account.New(ctx, account.Config{DB: db, BaseURL: "https://names.example"})
	if err != nil {
		log.Fatal(err)
	}
	defer accounts.Close()

	from := netip.MustParseAddr("192.0.2.1")
	if _, err := accounts.SignUp(ctx, "Ada@Names.example", "seven brave otters", "", from); err != nil {
		log.Fatal(err)
	}
	who, err := accounts.SignIn(ctx, "ada@names.example", "seven brave otters", from)
	if err != nil {
		log.Fatal(err)
	}
	token, _, err := accounts.StartSession(ctx, who.ID, from, "Browser/1")
	if err != nil {
		log.Fatal(err)
	}
	session, err := accounts.Session(ctx, token)
	fmt.Println(session.Email, err)

	_, err = accounts.SignIn(ctx, "ada@names.example", "a wrong password", from)
	fmt.Println(fault.From(err).Message())
	// Output:
	// ada@names.example <nil>
	// the e-mail address or the password is wrong
}
