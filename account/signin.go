package account

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// SignUp makes an account and mails a link that verifies its address. In the mode [Invite] it needs an invitation of
// [Accounts.Invite]; in the mode [Closed] it fails with [fault.Forbidden].
//
// Where the address has an account already, SignUp succeeds too, changes nothing, and mails that to the address: only
// its owner learns of it. The Account then has no ID. So the caller answers both alike, starts no session, and asks the
// person to sign in.
func (a *Accounts) SignUp(ctx context.Context, email, password, invite string, from netip.Addr) (Account, error) {
	if a.cfg.Signup == Closed {
		return Account{}, fault.New(fault.Forbidden, "sign-up is closed").WithHint("ask the operator for an account")
	}
	email, err := normalizeEmail(email)
	if err != nil {
		return Account{}, err
	}
	if err := a.checkInvite(ctx, invite); err != nil {
		return Account{}, err
	}
	if !a.cfg.Unlimited && !a.ration.signups.add(placeOf(from), time.Now()) {
		return Account{}, errTooMany("accounts were made from this address")
	}
	hash, err := a.hashNew(ctx, email, password)
	if err != nil {
		return Account{}, err
	}
	row, fresh := a.newRow(email, hash), false
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		fresh, err = insertAccount(ctx, tx, row, a.now())
		if err != nil {
			return err
		}
		if fresh {
			err = note(ctx, tx, Entry{AccountID: row.ID, At: row.Created, What: SignedUp, From: from})
		} else {
			err = a.noteRepeated(ctx, tx, email, from)
		}
		if err != nil {
			return err
		}
		return a.useInvite(ctx, tx, invite)
	})
	if err != nil {
		return Account{}, fmt.Errorf("sign up: %w", err)
	}
	if fresh {
		a.mailToken(row.Account, verifyMail)
		return row.Account, nil
	}
	a.mailNotice(email, repeatedMail)
	return Account{Email: email}, nil
}

// noteRepeated tells the owner of the address of the attempt, at the cost of what a new account writes.
func (a *Accounts) noteRepeated(ctx context.Context, tx store.Tx, email string, from netip.Addr) error {
	row, found, err := findTx(ctx, tx, "email", email)
	if err != nil || !found {
		return err
	}
	return noteAgain(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignUpRepeated, From: from})
}

func errTooMany(what string) error {
	return fault.New(fault.RateLimited, "too many %s", what).WithHint("wait some minutes").WithRetry(time.Minute)
}

func errCredentials() error {
	return fault.New(fault.AuthenticationRequired, "the e-mail address or the password is wrong")
}

// SignIn returns the account of an address and password; the caller starts a session for it. A wrong password and an
// unknown address fail alike with [fault.AuthenticationRequired] and take the same time. After failures an attempt is
// answered late, up to 5 seconds, but it is always looked at, unless so many wait from one address that it fails with
// [fault.RateLimited]. With [Config.VerifyFirst], the right password of an address that is not verified fails with
// [fault.Forbidden], and the link is mailed again.
func (a *Accounts) SignIn(ctx context.Context, email, password string, from netip.Addr) (Account, error) {
	email, err := normalizeEmail(email)
	if err != nil {
		return Account{}, err
	}
	if len(password) > maxPassword {
		return Account{}, errCredentials()
	}
	password = normalizePassword(password)
	row, err := a.prove(ctx, email, password, from)
	if err != nil {
		return Account{}, err
	}
	if a.cfg.VerifyFirst && !row.Verified {
		a.mailToken(row.Account, verifyMail)
		return Account{}, fault.New(fault.Forbidden, "the e-mail address is not confirmed yet").WithHint("follow the link in the mail that was sent to it")
	}
	if a.hasher.outdated(row.password) {
		if row.password, err = a.hasher.hash(ctx, password); err != nil {
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
		return note(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignedIn, Detail: "with a password", From: from})
	})
	if err != nil {
		return Account{}, fmt.Errorf("sign in: %w", err)
	}
	return row.Account, nil
}

// prove returns the account of the address if the password is its own. It is slowed down by earlier failures.
func (a *Accounts) prove(ctx context.Context, email, password string, from netip.Addr) (accountRow, error) {
	place, began := placeOf(from), time.Now()
	release, err := a.turn(ctx, email, place, began)
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
	if !ok {
		a.brake.failed(email, place)
		if found {
			a.noteLater(Entry{AccountID: row.ID, What: SignInFailed, From: from})
		}
		return accountRow{}, errCredentials()
	}
	a.brake.succeeded(email)
	return row, nil
}

// turn waits until an attempt has served its delay and has a slot to hash. Attempts that come at once begin with the
// same small delay; those that get their slot after others have failed go back and serve what was added.
func (a *Accounts) turn(ctx context.Context, email string, place netip.Prefix, began time.Time) (release func(), err error) {
	for {
		if !a.cfg.Unlimited {
			if err := a.brake.wait(ctx, email, place, began); err != nil {
				return nil, err
			}
		}
		release, err := a.hasher.acquire(ctx)
		if err != nil {
			return nil, err
		}
		if a.cfg.Unlimited || time.Since(began) >= a.brake.delay(email, place) {
			return release, nil
		}
		release()
	}
}

// ChangePassword replaces the password of an account and ends all its sessions and grants, that of the caller included.
// Current must be the password there is, if there is one; it fails with [fault.AuthenticationRequired] otherwise, and
// is slowed down like a sign-in.
func (a *Accounts) ChangePassword(ctx context.Context, accountID, current, fresh string, from netip.Addr) error {
	row, err := a.find(ctx, "id", accountID)
	if err != nil {
		return err
	}
	if row.password != "" {
		if len(current) > maxPassword {
			return errCredentials()
		}
		if row, err = a.prove(ctx, row.Email, normalizePassword(current), from); err != nil {
			return err
		}
	}
	hash, err := a.hashNew(ctx, row.Email, fresh)
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
		return note(ctx, tx, Entry{AccountID: accountID, At: a.now(), What: PasswordChanged, From: from})
	})
	if err != nil {
		return fmt.Errorf("change a password: %w", err)
	}
	a.mailNotice(row.Email, changedMail)
	return nil
}

// HasPassword reports whether the account can sign in by a password.
func (a *Accounts) HasPassword(ctx context.Context, accountID string) (bool, error) {
	row, err := a.find(ctx, "id", accountID)
	return row.password != "", err
}
