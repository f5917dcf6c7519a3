package account

import (
	"testing"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// BenchmarkSession is the session check of every page.
func BenchmarkSession(b *testing.B) {
	a, token := benchAccounts(b)
	for b.Loop() {
		if _, err := a.Session(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSignIn is a sign-in with the full hashing cost, on all processors.
func BenchmarkSignIn(b *testing.B) {
	a, _ := benchAccounts(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := a.SignIn(b.Context(), "ada@names.example", passphrase, home); err != nil {
				b.Error(err)
			}
		}
	})
}

func benchAccounts(b *testing.B) (*Accounts, string) {
	b.Helper()
	a, err := New(b.Context(), Config{DB: storetest.Open(b, store.Config{Dir: b.TempDir()}), BaseURL: "https://names.example"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(a.Close)
	who, err := a.Create(b.Context(), "ada@names.example", passphrase)
	if err != nil {
		b.Fatal(err)
	}
	token, _, err := a.StartSession(b.Context(), who.ID, home, "")
	if err != nil {
		b.Fatal(err)
	}
	return a, token
}
