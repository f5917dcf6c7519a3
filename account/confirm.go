package account

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/netip"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Proof shows that who confirms an address is who chose the password of its account: by the secret that signing up
// left in the browser, [Pending.Browser], or by the password itself. One will do.
type Proof struct {
	Browser  string
	Password string
}

// errProof asks for a proof where there was none.
func errProof() error {
	return fault.Invalid("password", "must be the one that was chosen when the account was made")
}

// VerifyEmail notes that the person reads mail at the account's address, by a link of that mail. The link alone shows
// who owns the address, not who set up the account: a stranger may have signed up with it. So it takes a proof that the
// password was chosen by the same person. Who has none sets a password by [Accounts.ResetPassword] with the same token,
// which removes what others set up.
//
// It fails with [fault.InvalidToken] on the token, with [fault.Validation] about the password where there is no proof,
// and with [fault.AuthenticationRequired] on a wrong password, which is slowed down like a sign-in; the token stays good.
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

// sameBrowser reports whether the secret is the one that was given to the browser with the digest.
func sameBrowser(digested []byte, secret string) bool {
	return len(digested) > 0 && wellFormed(secret, browserPrefix) && subtle.ConstantTimeCompare(digested, digest(secret)) == 1
}

// A Reset is how a person sets a password by a link in a mail.
type Reset struct {
	Token    string // of a link to [ResetPath], or of one to [VerifyPath] while the address is not verified
	Password string

	// KeepOthers leaves the passkeys and linked identities in place. Who resets a password because a stranger got in
	// must not leave it so: the stranger may have added some.
	KeepOthers bool
}

// ResetPassword sets the password of a link's account and ends all its sessions and grants; it removes the passkeys and
// linked identities unless they are to be kept. On an account that was not verified everything that was set up before
// goes. The token is used up only if the password will do. It fails with [fault.InvalidToken], or [fault.Validation]
// about the password.
func (a *Accounts) ResetPassword(ctx context.Context, r Reset, from netip.Addr) (Account, error) {
	row, _, err := a.readToken(ctx, r.Token, toReset, toVerify)
	if err != nil {
		return Account{}, err
	}
	hash, err := a.hashNew(ctx, row.Email, r.Password, from) // not before the token was looked at: strangers would have it for nothing
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

// removeOthers removes what signs in to an account beside its password.
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
// It does not use the token up. It fails with [fault.InvalidToken], also on a token to verify an address that is used for something
// else once the address is verified.
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
