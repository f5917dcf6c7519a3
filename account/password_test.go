package account

import (
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestPasswordRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, password string
		ok             bool
	}{
		{"eight characters", "kelpxyzz", true},
		{"seven characters", "kelpxyz", false},
		{"seven characters in fourteen bytes", "пароляя", false},
		{"no rules of composition", "onlylowercaseletters", true},
		{"spaces", "a b c d e f", true},
		{"1024 bytes", strings.Repeat("ab c", 256), true},
		{"1025 bytes", strings.Repeat("ab c", 256) + "d", false},
		{"any script", "парольчик", true},
		{"common", "password123", false},
		{"common in capitals", "PassWord123", false},
		{"our own name", "namewharf", false},
		{"one character", "zzzzzzzzzz", false},
		{"counting up", "3456789:;<", false},
		{"counting down", "zyxwvutsrq", false},
		{"the address", "ada.byron@names.example", false},
		{"the part before the at", "Ada.Byron", false},
		{"not UTF-8", "abc\xff\xfedefgh", false},
	}
	for _, tt := range tests {
		err := checkPassword("ada.byron@names.example", tt.password)
		if (err == nil) != tt.ok {
			t.Errorf("%s: checkPassword(%.30q): got %v, want ok %v", tt.name, tt.password, err, tt.ok)
		}
		if err != nil && strings.Contains(err.Error(), tt.password) {
			t.Errorf("%s: the refusal repeats the password", tt.name)
		}
	}
}

func TestCommonPasswordsAreWorthListing(t *testing.T) {
	t.Parallel()
	if len(isCommon) < 200 {
		t.Errorf("got %d common passwords, want at least 200", len(isCommon))
	}
	for p := range isCommon {
		if len(p) < minPassword || p != strings.ToLower(p) {
			t.Errorf("%q is never asked for: too short, or not in lower case", p)
		}
	}
}

func TestHashIsArgon2idAsAgreed(t *testing.T) {
	t.Parallel()
	h := newHasher(1, fullCost)
	one, err := h.hash(t.Context(), passphrase, home)
	must(t, "hash", err)
	two, err := h.hash(t.Context(), passphrase, home)
	must(t, "hash", err)
	if prefix := "$argon2id$v=19$m=19456,t=2,p=1$"; !strings.HasPrefix(one, prefix) || one == two || strings.Contains(one, passphrase) {
		t.Errorf("hashes of one password: got %s and %s, want two with prefix %s", one, two, prefix)
	}
	for password, want := range map[string]bool{passphrase: true, passphrase + " ": false, "": false} {
		if got, err := h.matches(one, password); err != nil || got != want {
			t.Errorf("matches(%q): got %v, %v; want %v", password, got, err, want)
		}
	}
}

func TestMalformedHashIsRefused(t *testing.T) {
	t.Parallel()
	good := phc{cheap, random(saltSize), random(hashSize)}.String()
	tests := map[string]string{
		"cut":              good[:len(good)-30],
		"other algorithm":  strings.Replace(good, "argon2id", "argon2i", 1),
		"other version":    strings.Replace(good, "v=19", "v=16", 1),
		"no passes":        strings.Replace(good, "t=1", "t=0", 1),
		"memory of a bomb": strings.Replace(good, "m=64", "m=4194304", 1),
		"no lanes":         strings.Replace(good, "p=1", "p=256", 1),
		"costs swapped":    strings.Replace(good, "m=64,t=1", "t=1,m=64", 1),
		"not base64":       good[:len(good)-1] + "!",
		"text":             "password",
	}
	h := newHasher(1, cheap)
	for name, hash := range tests {
		if _, err := h.matches(hash, passphrase); err == nil {
			t.Errorf("%s: matches(%q) has no error", name, hash)
		}
	}
	if h.runs.Load() != 0 {
		t.Errorf("malformed hashes cost %d computations, want 0", h.runs.Load())
	}
}

func FuzzHash(f *testing.F) {
	f.Add(phc{fullCost, random(saltSize), random(hashSize)}.String())
	f.Add("$argon2id$v=19$m=,t=,p=$$")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := decodeHash(s)
		if err != nil {
			return
		}
		again, err := decodeHash(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is read as %s, and that as %s, %v", s, p, again, err)
		}
	})
}

// The test counts the cost of an attempt: every refusal takes one hash of the same cost.
func TestUnknownAndKnownAccountsCostTheSame(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	r.account("ada@names.example")
	bare := r.newRow("bare@names.example", "")
	must(t, "store an account without a password", r.db.Tx(ctx, func(tx store.Tx) error {
		_, err := insertAccount(ctx, tx, bare, r.now())
		return err
	}))
	dummy, err := decodeHash(r.hasher.dummy)
	must(t, "read the dummy", err)
	want(t, "cost of the dummy", dummy.cost, r.hasher.cost)

	attempts := []struct {
		name string
		try  func() error
		cost int64
	}{
		{"wrong password", func() error { _, err := r.SignIn(ctx, "ada@names.example", "wrong horse", home); return err }, 1},
		{"unknown address", func() error { _, err := r.SignIn(ctx, "bob@names.example", "wrong horse", home); return err }, 1},
		{"account without a password", func() error { _, err := r.SignIn(ctx, "bare@names.example", "wrong horse", home); return err }, 1},
		{"empty password", func() error { _, err := r.SignIn(ctx, "ada@names.example", "", home); return err }, 1},
		{"empty password, none stored", func() error { _, err := r.SignIn(ctx, "bare@names.example", "", home); return err }, 1},
	}
	for _, a := range attempts {
		existed := r.hasher.runs.Load()
		err := a.try()
		if !fault.Is(err, fault.AuthenticationRequired) || err.Error() != errCredentials().Error() {
			t.Errorf("%s: got %v, want %v", a.name, err, errCredentials())
		}
		want(t, a.name+": computations of Argon2id", r.hasher.runs.Load()-existed, a.cost)
	}

	for _, email := range []string{"ada@names.example", "new@names.example"} {
		existed := r.hasher.runs.Load()
		_, err := r.SignUp(ctx, email, passphrase, "", home)
		must(t, "sign up", err)
		want(t, "sign-up of "+email+": computations of Argon2id", r.hasher.runs.Load()-existed, 1)
	}
}

func TestOldHashIsRenewedAtSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		r.hasher = newHasher(1, cost{memory: 128, time: 1, parallelism: 1})
		for range 2 {
			_, err := r.SignIn(ctx, who.Email, passphrase, home)
			must(t, "sign in", err)
		}
		row, err := r.find(ctx, "id", who.ID)
		must(t, "read the account", err)
		want(t, "outdated", r.hasher.outdated(row.password), false)
		want(t, "computations: old, new, new", r.hasher.runs.Load(), 3)
	})
}

// "é" has two encodings; keyboards differ in which they send.
func TestPasswordMayBeTypedOnAnotherKeyboard(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	_, err := r.Create(ctx, "ada@names.example", "caf\u00e9 au lait")
	must(t, "create", err)
	_, err = r.SignIn(ctx, "ada@names.example", "cafe\u0301 au lait", home)
	must(t, "sign in with the decomposed spelling", err)
}
