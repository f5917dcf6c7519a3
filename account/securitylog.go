package account

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/store"
)

// An Event is a kind of entry of the security log.
type Event string

// The events of the security log.
const (
	SignedUp         Event = "signed_up"
	SignUpRepeated   Event = "sign_up_repeated" // someone gave the address at sign-up again
	SignedIn         Event = "signed_in"
	SignInFailed     Event = "sign_in_failed"
	SignedOut        Event = "signed_out"
	SessionEnded     Event = "session_ended"
	EmailVerified    Event = "email_verified"
	PasswordChanged  Event = "password_changed"
	PasswordReset    Event = "password_reset"
	Claimed          Event = "claimed" // credentials from before the address was proved were removed
	PasskeyAdded     Event = "passkey_added"
	PasskeyRemoved   Event = "passkey_removed"
	PasskeyCloned    Event = "passkey_cloned" // refused: its signature counter went back
	ProviderLinked   Event = "provider_linked"
	ProviderUnlinked Event = "provider_unlinked"
	DataExported     Event = "data_exported"
	AppConnected     Event = "app_connected"
	AppRevoked       Event = "app_revoked"
	Disabled         Event = "disabled" // by the operator
	Enabled          Event = "enabled"
)

var eventTexts = map[Event]string{
	SignedUp:         "The account was created",
	SignUpRepeated:   "Someone tried to sign up with your address",
	SignedIn:         "Signed in",
	SignInFailed:     "A sign-in failed",
	SignedOut:        "Signed out",
	SessionEnded:     "A session was ended",
	EmailVerified:    "The e-mail address was confirmed",
	PasswordChanged:  "The password was changed",
	PasswordReset:    "The password was reset",
	Claimed:          "What was set up before the e-mail address was confirmed was removed",
	PasskeyAdded:     "A passkey was added",
	PasskeyRemoved:   "A passkey was removed",
	PasskeyCloned:    "A passkey was refused because there may be a copy of it",
	ProviderLinked:   "An account elsewhere was linked",
	ProviderUnlinked: "An account elsewhere was unlinked",
	DataExported:     "The data of the account was exported",
	AppConnected:     "An app was connected",
	AppRevoked:       "An app was disconnected",
	Disabled:         "The account was disabled by the operator",
	Enabled:          "The account was enabled again",
}

// Text describes the event to the account's owner.
func (e Event) Text() string {
	if text, ok := eventTexts[e]; ok {
		return text
	}
	return string(e)
}

// An Entry is one line of an account's security log.
type Entry struct {
	ID        string // of an entry that was read
	AccountID string
	At        time.Time // UTC; the last time, when Times is above 1
	What      Event
	Detail    string     // such as "with a passkey" or an app's name; may be empty
	From      netip.Addr // of the client; zero: not known
	Times     int        // how many equal events within an hour the entry counts
}

const (
	maxDetail = 200
	maxLog    = 500 // entries returned at once
)

// Record adds an entry to the security log, for other packages. A zero At is set to now.
func (a *Accounts) Record(ctx context.Context, e Entry) error {
	if e.At.IsZero() {
		e.At = a.now()
	}
	err := a.db.Tx(ctx, func(tx store.Tx) error { return addEntry(ctx, tx, e) })
	if err != nil {
		return fmt.Errorf("record %s: %w", e.What, err)
	}
	return nil
}

// Log returns up to limit entries, at most 500, of an account's security log, the latest first.
func (a *Accounts) Log(ctx context.Context, accountID string, limit int) ([]Entry, error) {
	entries := []Entry{}
	err := a.db.Read(ctx, func(tx store.Tx) (err error) {
		entries, err = readLog(ctx, tx, accountID, max(1, min(limit, maxLog)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the security log: %w", err)
	}
	return entries, nil
}

// logLater records a failure in the background, so that the answer takes as long as for an address without an account.
func (a *Accounts) logLater(e Entry) {
	e.At = a.now()
	added := a.logQueue.add(func(ctx context.Context) {
		if err := a.db.Tx(ctx, func(tx store.Tx) error { return addFailureEntry(ctx, tx, e) }); err != nil {
			a.log.Error("security log", "event", string(e.What), "account", e.AccountID, "err", err)
		}
	})
	if !added {
		a.log.Warn("security log entry lost: the queue is full", "event", string(e.What), "account", e.AccountID)
	}
}
