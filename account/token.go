package account

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A purpose is the action that a one-time token permits.
type purpose string

const (
	toVerify   purpose = "verify"
	toSignIn   purpose = "signin"
	toReset    purpose = "reset"
	byOperator purpose = "operator" // a sign-in link from the operator
	toSignUp   purpose = "invite"
)

// tokenLife is how long a one-time token is valid: long enough to read a mail, and shorter the more it permits.
var tokenLife = map[purpose]time.Duration{
	toVerify:   PendingLife,
	toSignIn:   15 * time.Minute,
	toReset:    time.Hour,
	byOperator: 24 * time.Hour,
	toSignUp:   14 * 24 * time.Hour,
}

// Paths of the pages that links open, with the query parameter TokenParameter. A page must not use the token on GET,
// because mail scanners follow links: it shows a button that posts it.
const (
	VerifyPath     = "/verify"      // post to [Accounts.VerifyEmail]
	LinkPath       = "/signin/link" // post to [Accounts.UseLink]
	ResetPath      = "/reset"       // post, with a password, to [Accounts.ResetPassword]; takes the tokens of VerifyPath too
	SignUpPath     = "/signup"      // of an invitation: the parameter is InviteParameter
	TokenParameter = "token"

	InviteParameter = "invite"
)

var purposePath = map[purpose]string{toVerify: VerifyPath, toSignIn: LinkPath, toReset: ResetPath, byOperator: LinkPath}

func errLink() error {
	return fault.New(fault.InvalidToken, "the link was used already or has expired").WithHint("ask for another")
}

// newToken stores a one-time token for an account, or for no account if accountID is empty.
func (a *Accounts) newToken(ctx context.Context, tx store.Tx, p purpose, accountID string) (string, error) {
	return a.newBoundToken(ctx, tx, p, accountID, nil)
}

// newBoundToken is newToken bound to the browser whose secret has the digest.
func (a *Accounts) newBoundToken(ctx context.Context, tx store.Tx, p purpose, accountID string, browser []byte) (string, error) {
	token, hash := newSecret(oneTimePrefix)
	_, err := tx.Exec(ctx, `INSERT INTO account_tokens (hash, purpose, account_id, expires, browser) VALUES ($1, $2, $3, $4, $5)`,
		hash, p, sql.NullString{String: accountID, Valid: accountID != ""}, store.Micros(a.now().Add(tokenLife[p])), browser)
	if err != nil {
		return "", fmt.Errorf("store a token: %w", err)
	}
	return token, nil
}

// link stores a token in a transaction of its own and returns its URL.
func (a *Accounts) link(ctx context.Context, p purpose, accountID string) (address string, err error) {
	return a.linkTo(ctx, purposePath[p], p, accountID, nil)
}

// linkTo is link with a path and a browser, see newBoundToken.
func (a *Accounts) linkTo(ctx context.Context, path string, p purpose, accountID string, browser []byte) (address string, err error) {
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		token, err := a.newBoundToken(ctx, tx, p, accountID, browser)
		address = a.cfg.BaseURL + path + "?" + url.Values{TokenParameter: {token}}.Encode()
		if err != nil || p != byOperator {
			return err
		}
		return a.audit(ctx, tx, "account.link", accountID)
	})
	return address, err
}

// use deletes a one-time token and returns its account. Of several concurrent uses one succeeds; the others fail with
// [fault.InvalidToken], as do tokens that are unknown, expired or of another purpose.
func (a *Accounts) use(ctx context.Context, tx store.Tx, token string, purposes ...purpose) (accountRow, purpose, error) {
	var accountID sql.NullString
	var p purpose
	var expires int64
	if !wellFormed(token, oneTimePrefix) {
		return accountRow{}, "", errLink()
	}
	first, last := purposes[0], purposes[len(purposes)-1]
	err := tx.QueryRow(ctx, `DELETE FROM account_tokens WHERE hash = $1 AND purpose IN ($2, $3) RETURNING account_id, purpose, expires`,
		digest(token), first, last).Scan(&accountID, &p, &expires)
	if store.IsNoRows(err) {
		return accountRow{}, "", errLink()
	}
	if err != nil {
		return accountRow{}, "", fmt.Errorf("use a token: %w", err)
	}
	if !a.now().Before(store.Time(expires)) {
		return accountRow{}, "", errLink()
	}
	if !accountID.Valid {
		return accountRow{}, p, nil
	}
	row, found, err := findTx(ctx, tx, "id", accountID.String)
	if err == nil && (!found || !row.Disabled.IsZero()) {
		err = errLink()
	}
	return row, p, err
}

// claim gives an unverified account to the person who has just proved to own its address. It removes all that somebody
// else may have set up there: password, passkeys, linked identities, sessions and grants.
func (a *Accounts) claim(ctx context.Context, tx store.Tx, row *accountRow, from netip.Addr) error {
	if row.Verified {
		return nil
	}
	row.Verified, row.password = true, ""
	if err := setVerified(ctx, tx, row.ID, a.now()); err != nil {
		return err
	}
	if err := setPassword(ctx, tx, row.ID, ""); err != nil {
		return err
	}
	if err := removeOthers(ctx, tx, row.ID); err != nil {
		return err
	}
	if err := a.revokeAll(ctx, tx, row.ID); err != nil {
		return err
	}
	return addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: Claimed, From: from})
}

// UseLink returns the account of a sign-in link, from a mail or from the operator; the caller starts a session for it.
// A mailed link proves the address: on an unverified account it removes all credentials set up before, the password
// included. It fails with [fault.InvalidToken].
func (a *Accounts) UseLink(ctx context.Context, token string, from netip.Addr) (Account, error) {
	return a.useOnce(ctx, func(tx store.Tx) (accountRow, error) {
		row, p, err := a.use(ctx, tx, token, toSignIn, byOperator)
		if err != nil {
			return row, err
		}
		detail := "with a link from the operator"
		if p == toSignIn {
			detail = "with a link by mail"
			if err := a.claim(ctx, tx, &row, from); err != nil {
				return row, err
			}
		}
		return row, addEntry(ctx, tx, Entry{AccountID: row.ID, At: a.now(), What: SignedIn, Detail: detail, From: from})
	})
}

func (a *Accounts) useOnce(ctx context.Context, fn func(store.Tx) (accountRow, error)) (Account, error) {
	var row accountRow
	err := a.db.Tx(ctx, func(tx store.Tx) (err error) {
		row, err = fn(tx)
		return err
	})
	if err != nil {
		return Account{}, fmt.Errorf("use a link: %w", err)
	}
	return row.Account, nil
}

// Link returns a one-time sign-in URL that the operator passes on, valid for a day. It fails with [fault.NotFound], and
// with [fault.Conflict] on a disabled account.
func (a *Accounts) Link(ctx context.Context, email string) (string, error) {
	found, err := a.Find(ctx, email)
	if err != nil {
		return "", err
	}
	if !found.Disabled.IsZero() {
		return "", fault.New(fault.Conflict, "the account is disabled").WithHint("enable it first")
	}
	address, err := a.link(ctx, byOperator, found.ID)
	if err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	return address, nil
}

// Invite returns a one-time URL for a sign-up in the mode [Invite], valid for two weeks.
func (a *Accounts) Invite(ctx context.Context) (address string, err error) {
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		token, err := a.newToken(ctx, tx, toSignUp, "")
		address = a.cfg.BaseURL + SignUpPath + "?" + url.Values{InviteParameter: {token}}.Encode()
		if err != nil {
			return err
		}
		return a.audit(ctx, tx, "account.invite", "")
	})
	if err != nil {
		return "", fmt.Errorf("invite: %w", err)
	}
	return address, nil
}

func errInvite() error {
	return fault.New(fault.Forbidden, "sign-up needs an invitation that was not used yet").WithHint("ask the operator for one")
}

// checkInvite checks an invitation before any costly work is done for it.
func (a *Accounts) checkInvite(ctx context.Context, invite string) error {
	if a.cfg.Signup != Invite {
		return nil
	}
	var one int
	err := a.db.Read(ctx, func(tx store.Tx) error {
		return tx.QueryRow(ctx, `SELECT 1 FROM account_tokens WHERE hash = $1 AND purpose = $2 AND expires > $3`,
			digest(invite), toSignUp, store.Micros(a.now())).Scan(&one)
	})
	if store.IsNoRows(err) {
		return errInvite()
	}
	if err != nil {
		return fmt.Errorf("read an invitation: %w", err)
	}
	return nil
}

// useInvite uses an invitation up, where one is needed.
func (a *Accounts) useInvite(ctx context.Context, tx store.Tx, invite string) error {
	if a.cfg.Signup != Invite {
		return nil
	}
	_, _, err := a.use(ctx, tx, invite, toSignUp)
	if fault.Is(err, fault.InvalidToken) {
		return errInvite()
	}
	return err
}
