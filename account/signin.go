package account

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Pending is an account whose owner has yet to confirm the address.
type Pending struct {
	Account        // without an ID where the address has an account already
	Browser string // a secret for the browser in which the password was chosen, see [Proof]; valid for [PendingLife]
}

// PendingLife is how long the link in the mail about a new account is valid.
const PendingLife = 48 * time.Hour

// SignUp makes an account and mails a link that verifies its address. In the mode [Invite] it needs an invitation of
// [Accounts.Invite]; in the mode [Closed] it fails with [fault.Forbidden].
//
// If the address has an account already, SignUp also succeeds, changes nothing, and mails the owner, so that only the owner
// learns of the account. If that account is unverified, the mail has a link by which the owner takes it over. The caller
// gives the same answer in both cases, starts no session, and asks the person to follow the mail or to sign in.
func (a *Accounts) SignUp(ctx context.Context, email, password, invite string, from netip.Addr) (Pending, error) {
	if a.cfg.Signup == Closed {
		return Pending{}, fault.New(fault.Forbidden, "sign-up is closed").WithHint("ask the operator for an account")
	}
	email, err := normalizeEmail(email)
	if err != nil {
		return Pending{}, err
	}
	if err := a.checkInvite(ctx, invite); err != nil {
		return Pending{}, err
	}
	if !a.cfg.Unlimited {
		if err := a.limits.from(a.limits.signUps, from, "accounts were made from this address or its network"); err != nil {
			return Pending{}, err
		}
	}
	hash, err := a.hashNew(ctx, email, password, from)
	if err != nil {
		return Pending{}, err
	}
	browser, digested := newSecret(browserPrefix)
	row, had, fresh := a.newRow(email, hash), accountRow{}, false
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		if err := a.countAccount(ctx, tx, from); err != nil {
			return err
		}
		fresh, err = insertAccount(ctx, tx, row, a.now())
		if err != nil {
			return err
		}
		if fresh {
			err = addEntry(ctx, tx, Entry{AccountID: row.ID, At: row.Created, What: SignedUp, From: from})
		} else {
			had, err = a.logRepeatedSignUp(ctx, tx, email, from)
		}
		if err != nil {
			return err
		}
		return a.useInvite(ctx, tx, invite)
	})
	if err != nil {
		return Pending{}, fmt.Errorf("sign up: %w", err)
	}
	switch {
	case fresh:
		a.mailBrowserToken(row.Account, verifyMail, digested)
		return Pending{row.Account, browser}, nil
	case had.ID != "" && !had.Verified && had.Disabled.IsZero():
		a.mailToken(had.Account, pendingMail)
	default:
		a.mailNotice(email, repeatedMail)
	}
	return Pending{Account{Email: email}, browser}, nil
}

// logRepeatedSignUp records the attempt in the security log of the existing account, which it returns. It writes as much
// as a new account does.
func (a *Accounts) logRepeatedSignUp(ctx context.Context, tx store.Tx, email string, from netip.Addr) (accountRow, error) {
	row, found, err := findTx(ctx, tx, "email", email)
	if err != nil || !found {
		return row, err
	}
	return row, addFailureEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignUpRepeated, From: from})
}

// countAccount counts a sign-up over all processes, whether the address has an account already or not.
func (a *Accounts) countAccount(ctx context.Context, tx store.Tx, from netip.Addr) error {
	if a.cfg.Unlimited {
		return nil
	}
	return a.limits.account(ctx, tx, from, a.now())
}

func errCredentials() error {
	return fault.New(fault.AuthenticationRequired, "the e-mail address or the password is wrong")
}

// errSignIn is the same answer to every failed sign-in.
func (a *Accounts) errSignIn() error {
	f := fault.New(fault.AuthenticationRequired, "the e-mail address or the password is wrong")
	if a.cfg.VerifyFirst {
		return f.WithHint("if you signed up a moment ago, follow the link in our mail first; a link by mail signs you in too")
	}
	return f
}

// SignIn returns the account of an address and password; the caller starts a session for it. It fails with the same
// [fault.AuthenticationRequired], in the same time, on a wrong password, an unknown address, a disabled account and, with
// [Config.VerifyFirst], an unverified address: a person who signs up with somebody else's address does not learn whether it
// had an account. SignIn mails nothing. After failures it answers up to 5 seconds late, but it always checks the password,
// unless so many attempts from one address wait that it fails with [fault.RateLimited].
func (a *Accounts) SignIn(ctx context.Context, email, password string, from netip.Addr) (Account, error) {
	email, err := normalizeEmail(email)
	if err != nil {
		return Account{}, err
	}
	if len(password) > maxPassword {
		return Account{}, a.errSignIn()
	}
	password = normalizePassword(password)
	row, err := a.checkCredentials(ctx, email, password, from, func(row accountRow) bool { return row.Disabled.IsZero() && (row.Verified || !a.cfg.VerifyFirst) })
	if fault.Is(err, fault.AuthenticationRequired) {
		err = a.errSignIn()
	}
	if err != nil {
		return Account{}, err
	}
	if a.hasher.outdated(row.password) {
		if row.password, err = a.hasher.hash(ctx, password, from); err != nil {
			return Account{}, err
		}
	} else {
		row.password = ""
	}
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		if row.password != "" {
			if err := setPassword(ctx, tx, row.ID, row.password); err != nil {
				return err
			}
		}
		return addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignedIn, Detail: "with a password", From: from})
	})
	if err != nil {
		return Account{}, fmt.Errorf("sign in: %w", err)
	}
	return row.Account, nil
}

// anyAccount lets checkCredentials accept every account with the right password.
func anyAccount(accountRow) bool { return true }

// checkCredentials returns the account of the address if the password matches and may accepts the account. Otherwise it
// always fails with the same error. Earlier failures throttle it.
func (a *Accounts) checkCredentials(ctx context.Context, email, password string, from netip.Addr, may func(accountRow) bool) (accountRow, error) {
	client := clientPrefix(from)
	release, err := a.acquireSlot(ctx, email, from, time.Now())
	if err != nil {
		return accountRow{}, err
	}
	defer release()
	row, found, err := a.lookup(ctx, "email", email)
	if err != nil {
		return accountRow{}, err
	}
	ok, err := a.hasher.matches(row.password, password)
	if err != nil {
		return accountRow{}, err
	}
	if !ok || !may(row) {
		a.throttle.failed(email, client)
		if found {
			a.logLater(Entry{AccountID: row.ID, What: SignInFailed, From: from})
		}
		return accountRow{}, errCredentials()
	}
	a.throttle.succeeded(email)
	return row, nil
}

// acquireSlot waits until the delay of an attempt is over and a slot for hashing is free. Simultaneous attempts start with
// the same small delay; if others fail before an attempt gets its slot, it waits for the longer delay.
func (a *Accounts) acquireSlot(ctx context.Context, email string, from netip.Addr, began time.Time) (release func(), err error) {
	client := clientPrefix(from)
	var least time.Duration
	if !a.cfg.Unlimited {
		least = a.throttle.tried(email, client)
	}
	for {
		if !a.cfg.Unlimited {
			if err := a.throttle.wait(ctx, email, client, began, least); err != nil {
				return nil, err
			}
		}
		release, err := a.hasher.slots.acquire(ctx, from)
		if err != nil {
			return nil, err
		}
		if a.cfg.Unlimited || time.Since(began) >= a.throttle.delay(email, client) {
			return release, nil
		}
		release()
	}
}

// ChangePassword replaces the password of the session's account and ends all its sessions and grants, the caller's session
// included. It fails with [fault.AuthenticationRequired] if current is not the present password, and is throttled like a
// sign-in. If the account has no password, the session must pass [Accounts.StepUp].
func (a *Accounts) ChangePassword(ctx context.Context, s Session, current, fresh string, from netip.Addr) error {
	accountID := s.AccountID
	row, err := a.find(ctx, "id", accountID)
	if err != nil {
		return err
	}
	notice := changedMail
	if row.password == "" {
		notice = firstPasswordMail
		if err := a.StepUp(s); err != nil {
			return err
		}
	} else {
		if len(current) > maxPassword {
			return errCredentials()
		}
		if row, err = a.checkCredentials(ctx, row.Email, normalizePassword(current), from, anyAccount); err != nil {
			return err
		}
	}
	hash, err := a.hashNew(ctx, row.Email, fresh, from)
	if err != nil {
		return err
	}
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		now, found, err := findTx(ctx, tx, "id", accountID)
		if err != nil {
			return err
		}
		if !found || now.password != row.password {
			return fault.New(fault.Conflict, "the password was changed elsewhere at the same time")
		}
		if err := setPassword(ctx, tx, accountID, hash); err != nil {
			return err
		}
		if err := a.revokeAll(ctx, tx, accountID); err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: accountID, At: a.now(), What: PasswordChanged, From: from})
	})
	if err != nil {
		return fmt.Errorf("change a password: %w", err)
	}
	a.mailNotice(row.Email, notice)
	return nil
}

// HasPassword reports whether the account can sign in by a password.
func (a *Accounts) HasPassword(ctx context.Context, accountID string) (bool, error) {
	row, err := a.find(ctx, "id", accountID)
	return row.password != "", err
}
