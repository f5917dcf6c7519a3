package account

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// coseSize is the length of a P-256 key in COSE (RFC 9053, section 7.1.1).
const coseSize = 77

// An authenticator is a software authenticator with its browser.
type authenticator struct {
	site virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

func newAuthenticator() *authenticator {
	key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	for len(key.Key.AttestationData()) != coseSize { // one key in 128 has a coordinate that begins with 0, which the library leaves out
		key = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	return &authenticator{
		site: virtualwebauthn.RelyingParty{ID: "names.example", Name: "Namewharf", Origin: "https://names.example"},
		auth: virtualwebauthn.NewAuthenticator(),
		key:  key,
	}
}

// create answers navigator.credentials.create.
func (d *authenticator) create(t *testing.T, options json.RawMessage) []byte {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(options))
	must(t, "read the options", err)
	d.auth.Options.UserHandle = []byte(parsed.UserID)
	return []byte(virtualwebauthn.CreateAttestationResponse(d.site, d.auth, d.key, *parsed))
}

// get answers navigator.credentials.get.
func (d *authenticator) get(t *testing.T, options json.RawMessage) []byte {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(options))
	must(t, "read the options", err)
	return []byte(virtualwebauthn.CreateAssertionResponse(d.site, d.auth, d.key, *parsed))
}

// register adds the device's passkey to an account.
func (d *authenticator) register(t *testing.T, r *fixture, accountID, name string) Passkey {
	t.Helper()
	options, flow, err := r.BeginRegister(t.Context(), r.fresh(accountID))
	must(t, "begin to register", err)
	key, err := r.FinishRegister(t.Context(), accountID, flow, d.create(t, options), name, home)
	must(t, "register", err)
	return key
}

// signIn signs in with the device's passkey.
func (d *authenticator) signIn(t *testing.T, r *fixture) (Account, error) {
	t.Helper()
	options, flow, err := r.BeginLogin(t.Context())
	must(t, "begin to sign in", err)
	return r.FinishLogin(t.Context(), flow, d.get(t, options), home)
}

func TestPasskeySignsIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx, d := newFixture(t, db, nil), t.Context(), newAuthenticator()
		who := r.account("ada@names.example")
		key := d.register(t, r, who.ID, " My \u202elaptop ")
		want(t, "name", key.Name, "My  laptop")
		in, err := d.signIn(t, r)
		must(t, "sign in", err)
		want(t, "account", in, who)

		keys, err := r.Passkeys(ctx, who.ID)
		must(t, "list", err)
		if len(keys) != 1 || keys[0].ID != key.ID || !keys[0].Used.Equal(r.clock.Now()) {
			t.Errorf("passkeys: got %+v, want %s, used now", keys, key.ID)
		}
		wantCode(t, "remove a passkey of another account", r.RemovePasskey(ctx, r.fresh(r.account("bob@names.example").ID), key.ID, true, home), fault.NotFound)
		must(t, "remove", r.RemovePasskey(ctx, r.fresh(who.ID), key.ID, true, home))
		_, err = d.signIn(t, r)
		wantCode(t, "sign in with a removed passkey", err, fault.AuthenticationRequired)
		if got, expected := r.events(who.ID), []Event{SignedUp, PasskeyAdded, SignedIn, PasskeyRemoved, SignInFailed}; !slices.Equal(sortedEvents(got), sortedEvents(expected)) {
			t.Errorf("security log: got %v, want %v", got, expected)
		}
	})
}

func sortedEvents(e []Event) []Event { return slices.Sorted(slices.Values(e)) }

func TestPasskeyOptionsAskForWhatWeCheck(t *testing.T) {
	t.Parallel()
	r, ctx := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil), t.Context()
	who, d := r.account("ada@names.example"), newAuthenticator()
	d.register(t, r, who.ID, "one")
	creation, _, err := r.BeginRegister(ctx, r.fresh(who.ID))
	must(t, "begin to register", err)
	var made struct {
		PublicKey struct {
			RP   struct{ ID string }
			User struct{ Name string }

			AuthenticatorSelection struct{ ResidentKey, UserVerification string }
			ExcludeCredentials     []struct{ ID string }
			Attestation            string
		}
	}
	must(t, "read the options", json.Unmarshal(creation, &made))
	p := made.PublicKey
	got := fmt.Sprintf("%s %s %s %s %s %d", p.RP.ID, p.User.Name, p.AuthenticatorSelection.ResidentKey, p.AuthenticatorSelection.UserVerification, p.Attestation, len(p.ExcludeCredentials))
	want(t, "creation options", got, "names.example ada@names.example required required none 1")
	request, _, err := r.BeginLogin(ctx)
	must(t, "begin to sign in", err)
	if s := string(request); !strings.Contains(s, `"userVerification":"required"`) || !strings.Contains(s, `"rpId":"names.example"`) || strings.Contains(s, "allowCredentials") {
		t.Errorf("request options: got %s", s)
	}
}

func TestPasskeyAttemptsThatFail(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		good := newAuthenticator()
		good.register(t, r, who.ID, "good")

		attempts := map[string]func(d *authenticator){
			"another origin":       func(d *authenticator) { d.site.Origin = "https://names.example.evil.example" },
			"a port that is not":   func(d *authenticator) { d.site.Origin = "https://names.example:8443" },
			"another site":         func(d *authenticator) { d.site.ID = "evil.example" },
			"no user verification": func(d *authenticator) { d.auth.Options.UserNotVerified = true },
			"no user presence":     func(d *authenticator) { d.auth.Options.UserNotPresent = true },
			"no user handle":       func(d *authenticator) { d.auth.Options.UserHandle = nil },
			"unknown user handle":  func(d *authenticator) { d.auth.Options.UserHandle = random(32) },
			"another key":          func(d *authenticator) { id := d.key.ID; d.key = newAuthenticator().key; d.key.ID = id },
			"unknown credential":   func(d *authenticator) { d.key.ID = random(32) },
		}
		for name, spoil := range attempts {
			bad := *good
			spoil(&bad)
			_, err := bad.signIn(t, r)
			wantCode(t, name, err, fault.AuthenticationRequired)
		}
		_, flow, err := r.BeginLogin(ctx)
		must(t, "begin", err)
		options, _, err := r.BeginLogin(ctx)
		must(t, "begin another", err)
		_, err = r.FinishLogin(ctx, flow, good.get(t, options), home)
		wantCode(t, "the challenge of another attempt", err, fault.AuthenticationRequired)
		for _, response := range []string{"", "{}", "null", "[1]", strings.Repeat("{", 1<<20)} {
			_, err = r.FinishLogin(ctx, flow, []byte(response), home)
			wantCode(t, fmt.Sprintf("response %.20q", response), err, fault.AuthenticationRequired)
		}
		_, err = good.signIn(t, r)
		must(t, "the good device after all that", err)
	})
}

func TestPasskeyFlowIsUsedOnceAndInTime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx, d := newFixture(t, db, nil), t.Context(), newAuthenticator()
		who, other := r.account("ada@names.example"), r.account("bob@names.example")
		options, flow, err := r.BeginRegister(ctx, r.fresh(who.ID))
		must(t, "begin", err)
		response := d.create(t, options)
		_, err = r.FinishRegister(ctx, other.ID, flow, response, "", home)
		wantCode(t, "register for another account", err, fault.InvalidToken)
		_, err = r.FinishLogin(ctx, flow, response, home)
		wantCode(t, "a registration's flow at sign-in", err, fault.InvalidToken)
		_, err = r.FinishRegister(ctx, who.ID, flow[:len(flow)-2]+"AA", response, "", home)
		wantCode(t, "a flow that was changed", err, fault.InvalidToken)
		key, err := r.FinishRegister(ctx, who.ID, flow, response, "", home)
		must(t, "register", err)
		want(t, "name where none is given", key.Name, "Passkey")
		_, err = r.FinishRegister(ctx, who.ID, flow, response, "", home)
		wantCode(t, "register again", err, fault.InvalidToken)

		options, flow, err = r.BeginLogin(ctx)
		must(t, "begin", err)
		response = d.get(t, options)
		_, err = r.FinishLogin(ctx, flow, response, home)
		must(t, "sign in", err)
		_, err = r.FinishLogin(ctx, flow, response, home)
		wantCode(t, "the same answer again", err, fault.InvalidToken)

		options, flow, err = r.BeginLogin(ctx)
		must(t, "begin", err)
		r.clock.advance(flowTime)
		_, err = r.FinishLogin(ctx, flow, d.get(t, options), home)
		wantCode(t, "an answer after ten minutes", err, fault.InvalidToken)
	})
}

func TestCopiedPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, d := newFixture(t, db, nil), newAuthenticator()
		who := r.account("ada@names.example")
		d.key.Counter = 7
		d.register(t, r, who.ID, "key")
		d.key.Counter = 9
		_, err := d.signIn(t, r)
		must(t, "sign in with a counter that went up", err)
		_, err = d.signIn(t, r)
		wantCode(t, "sign in with the same counter", err, fault.AuthenticationRequired)
		if got := r.events(who.ID); !slices.Contains(got, PasskeyCloned) {
			t.Errorf("security log: got %v, want %s in it", got, PasskeyCloned)
		}
	})
}

func TestPasskeysOfAnAccountAreFew(t *testing.T) {
	t.Parallel()
	r := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), nil)
	who := r.account("ada@names.example")
	for range maxPasskeys {
		newAuthenticator().register(t, r, who.ID, "key")
	}
	_, _, err := r.BeginRegister(t.Context(), r.fresh(who.ID))
	wantCode(t, "one more", err, fault.Conflict)
}

func TestNoPasskeysOnAnIPAddress(t *testing.T) {
	t.Parallel()
	r := newFixture(t, storetest.Open(t, store.Config{Dir: t.TempDir()}), func(c *Config) { c.BaseURL = "http://127.0.0.1:8080" })
	want(t, "passkeys work", r.PasskeysWork(), false)
	_, _, err := r.BeginLogin(t.Context())
	wantCode(t, "begin", err, fault.NotFound)
}

func FuzzFlow(f *testing.F) {
	keys, context := seal.Random(), flowContext(assertion)
	now := newClock().Now()
	good, err := sealFlow(keys, context, now, "data")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("")
	f.Fuzz(func(t *testing.T, sealed string) {
		got, err := openFlow[string](keys, context, now, sealed)
		if err == nil && got.Data != "data" {
			t.Errorf("openFlow(%q): got %+v, which was never sealed", sealed, got)
		}
	})
}
