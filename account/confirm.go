package account

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/netip"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Proof shows that the person who confirms an address also chose the password of its account. One of the fields is
// enough: the secret that sign-up left in the browser, [Pending.Browser], or the password.
type Proof struct {
	Browser  string
	Password string
}

// errProof asks for a [Proof].
func errProof() error {
	return fault.Invalid("password", "must be the one that was chosen at sign-up")
}

// VerifyEmail confirms the account's address, by the token of a mailed link. The link alone proves who owns the address,
// not who created the account: a stranger may have signed up with it. So VerifyEmail also needs a [Proof]. A person
// without one calls [Accounts.ResetPassword] with the same token, which removes the credentials that others set up.
//
// It fails with [fault.InvalidToken] on a bad token, with [fault.Validation] about the password if there is no proof, and
// with [fault.AuthenticationRequired] on a wrong password, which is throttled like a sign-in; the token stays valid.
func (a *Accounts) VerifyEmail(ctx context.Context, token string, by Proof, from netip.Addr) (Account, error) {
	row, browser, err := a.readToken(ctx, token, toVerify)
	if err != nil {
		return Account{}, err
	}
	switch {
	case row.Verified || sameBrowser(browser, by.Browser):
	case by.Password == "" || len(by.Password) > maxPassword:
		return Account{}, errProof()
	default:
		if row, err = a.checkCredentials(ctx, row.Email, normalizePassword(by.Password), from, anyAccount); err != nil {
			return Account{}, err
		}
	}
	return a.useOnce(ctx, func(tx store.Tx) (accountRow, error) {
		now, _, err := a.use(ctx, tx, token, toVerify)
		if err != nil {
			return now, err
		}
		if now.password != row.password {
			return now, fault.New(fault.Conflict, "the password was changed elsewhere at the same time")
		}
		if now.Verified {
			return now, nil
		}
		now.Verified = true
		if err := setVerified(ctx, tx, now.ID, a.now()); err != nil {
			return now, err
		}
		return now, addEntry(ctx, tx, Entry{AccountID: now.ID, At: a.now(), What: EmailVerified, From: from})
	})
}

// ConfirmsWithoutPassword reports whether [Accounts.VerifyEmail] accepts the token from the browser without a password.
// It does not use the token up.
func (a *Accounts) ConfirmsWithoutPassword(ctx context.Context, token, browser string) (bool, error) {
	row, bound, err := a.readToken(ctx, token, toVerify)
	if fault.Is(err, fault.InvalidToken) {
		return false, nil
	}
	return err == nil && (row.Verified || sameBrowser(bound, browser)), err
}

// RemovesEarlierCredentials reports whether [Accounts.UseLink] with the token confirms the address, and so removes the
// credentials that were set up before. It does not use the token up.
func (a *Accounts) RemovesEarlierCredentials(ctx context.Context, token string) (bool, error) {
	row, _, err := a.readToken(ctx, token, toSignIn)
	if fault.Is(err, fault.InvalidToken) {
		return false, nil
	}
	return err == nil && !row.Verified, err
}

// sameBrowser reports whether the secret has the digest that is stored for the browser.
func sameBrowser(digested []byte, secret string) bool {
	return len(digested) > 0 && wellFormed(secret, browserPrefix) && subtle.ConstantTimeCompare(digested, digest(secret)) == 1
}

// A Reset sets a password by a mailed link.
type Reset struct {
	Token    string // of a link to [ResetPath], or of one to [VerifyPath] while the address is not verified
	Password string

	// KeepOthers leaves the passkeys and linked identities in place. It is not for a person whose account was taken over:
	// the attacker may have added some.
	KeepOthers bool
}

// ResetPassword sets the password of a link's account and ends all its sessions and grants; it removes the passkeys and
// linked identities unless [Reset.KeepOthers] is set. It verifies an unverified account and removes all credentials set
// up before. The token is used up only if the password is accepted. It fails with [fault.InvalidToken], or with
// [fault.Validation] about the password.
func (a *Accounts) ResetPassword(ctx context.Context, r Reset, from netip.Addr) (Account, error) {
	row, _, err := a.readToken(ctx, r.Token, toReset, toVerify)
	if err != nil {
		return Account{}, err
	}
	hash, err := a.hashNew(ctx, row.Email, r.Password, from) // after the token was checked, so that strangers cannot make the server hash
	if err != nil {
		return Account{}, err
	}
	account, err := a.useOnce(ctx, func(tx store.Tx) (accountRow, error) {
		row, p, err := a.use(ctx, tx, r.Token, toReset, toVerify)
		if err == nil && p == toVerify && row.Verified {
			err = errLink()
		}
		if err != nil {
			return row, err
		}
		if err := a.claim(ctx, tx, &row, from); err != nil {
			return row, err
		}
		if err := setPassword(ctx, tx, row.ID, hash); err != nil {
			return row, err
		}
		if !r.KeepOthers {
			if err := removeOthers(ctx, tx, row.ID); err != nil {
				return row, err
			}
		}
		if err := a.revokeAll(ctx, tx, row.ID); err != nil {
			return row, err
		}
		return row, addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: PasswordReset, From: from})
	})
	if err != nil {
		return Account{}, err
	}
	a.throttle.succeeded(account.Email)
	a.mailNotice(account.Email, changedMail)
	return account, nil
}

// removeOthers removes the passkeys and linked identities of an account.
func removeOthers(ctx context.Context, tx store.Tx, accountID string) error {
	err := each(ctx, tx, accountID,
		`DELETE FROM account_passkeys WHERE account_id = $1`,
		`DELETE FROM account_identities WHERE account_id = $1`)
	if err != nil {
		return fmt.Errorf("remove passkeys and identities: %w", err)
	}
	return nil
}

// readToken returns the account of a one-time token and, if it is bound to a browser, the digest of the browser's secret.
// It does not use the token up. It fails with [fault.InvalidToken], also on a verification token that is used for
// something else once the address is verified.
func (a *Accounts) readToken(ctx context.Context, token string, purposes ...purpose) (row accountRow, browser []byte, err error) {
	if !wellFormed(token, oneTimePrefix) {
		return accountRow{}, nil, errLink()
	}
	var accountID string
	var p purpose
	err = a.db.Read(ctx, func(tx store.Tx) error {
		err := tx.QueryRow(ctx, `SELECT account_id, purpose, browser FROM account_tokens WHERE hash = $1 AND purpose IN ($2, $3) AND expires > $4`,
			digest(token), purposes[0], purposes[len(purposes)-1], store.Micros(a.now())).Scan(&accountID, &p, &browser)
		if err != nil {
			return err
		}
		row, err = a.mustFind(ctx, tx, accountID)
		return err
	})
	if store.IsNoRows(err) || err == nil && p == toVerify && row.Verified && purposes[0] != toVerify {
		return accountRow{}, nil, errLink()
	}
	if err != nil {
		return accountRow{}, nil, fmt.Errorf("read a token: %w", err)
	}
	return row, browser, nil
}
