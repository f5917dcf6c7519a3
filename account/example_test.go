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

// People sign up, sign in, and are known by the token in their browser's cookie.
func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	people, err := account.New(ctx, account.Config{DB: db, BaseURL: "https://names.example"})
	if err != nil {
		log.Fatal(err)
	}
	defer people.Close()

	from := netip.MustParseAddr("192.0.2.1")
	if _, err := people.SignUp(ctx, "Ada@Names.example", "seven brave otters", "", from); err != nil {
		log.Fatal(err)
	}
	who, err := people.SignIn(ctx, "ada@names.example", "seven brave otters", from)
	if err != nil {
		log.Fatal(err)
	}
	token, _, err := people.StartSession(ctx, who.ID, from, "Browser/1")
	if err != nil {
		log.Fatal(err)
	}
	session, err := people.Session(ctx, token)
	fmt.Println(session.Email, err)

	_, err = people.SignIn(ctx, "ada@names.example", "a wrong password", from)
	fmt.Println(fault.From(err).Message())
	// Output:
	// ada@names.example <nil>
	// the e-mail address or the password is wrong
}
