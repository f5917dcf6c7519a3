package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// StepUpLife is how long after an authentication a session passes [Accounts.StepUp].
const StepUpLife = 10 * time.Minute

// ErrStepUp is in the errors of [Accounts.StepUp], for errors.Is.
var ErrStepUp = errors.New("the session is not freshly authenticated")

// StepUp decides whether a session may change the sign-in methods of its account, export its data or delete it. It requires
// an authentication within [StepUpLife], so that a session that was left open or stolen does not give away the account. It
// fails with [ErrStepUp], as [fault.Forbidden]; the caller asks the person to sign in again, which starts another session.
//
// It guards, and is called by, [Accounts.BeginRegister], [Accounts.RemovePasskey], [Accounts.BeginLink],
// [Accounts.Unlink], [Accounts.ChangePassword] where there is no password yet, [Accounts.Export] and [Accounts.Delete].
func (a *Accounts) StepUp(s Session) error {
	if a.Fresh(s) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrStepUp, fault.New(fault.Forbidden, "this requires a sign-in within the last %d minutes", int(StepUpLife.Minutes())).
		WithHint("sign in again, then repeat it"))
}

// Fresh reports whether [Accounts.StepUp] lets the session pass.
func (a *Accounts) Fresh(s Session) bool {
	return s.AccountID != "" && a.now().Sub(s.AuthenticatedAt) < StepUpLife
}

// SignInMethods are the ways to sign in to an account.
type SignInMethods struct {
	Password   bool
	Passkeys   int
	Identities []Identity // at providers that are configured
	Mail       bool       // links are mailed, not only written to the log
}

// Last reports whether one passkey or identity is the only method beside mail.
func (m SignInMethods) Last() bool { return !m.Password && m.Passkeys+len(m.Identities) == 1 }

// none reports whether there is no method beside mail.
func (m SignInMethods) none() bool { return !m.Password && m.Passkeys+len(m.Identities) == 0 }

// SignInMethods returns how the account can be signed in to. It fails with [fault.NotFound].
func (a *Accounts) SignInMethods(ctx context.Context, accountID string) (m SignInMethods, err error) {
	err = a.db.Read(ctx, func(tx store.Tx) error {
		m, err = a.signInMethods(ctx, tx, accountID)
		return err
	})
	if err != nil {
		return SignInMethods{}, fmt.Errorf("read the sign-in methods: %w", err)
	}
	return m, nil
}

func (a *Accounts) signInMethods(ctx context.Context, tx store.Tx, accountID string) (SignInMethods, error) {
	row, err := a.mustFind(ctx, tx, accountID)
	if err != nil {
		return SignInMethods{}, err
	}
	m := SignInMethods{Password: row.password != "", Mail: a.mails}
	if a.passkeys != nil {
		if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM account_passkeys WHERE account_id = $1`, accountID).Scan(&m.Passkeys); err != nil {
			return SignInMethods{}, err
		}
	}
	linked, err := a.identities(ctx, tx, accountID)
	for _, i := range linked {
		if _, err := a.upstream(i.Provider); err == nil {
			m.Identities = append(m.Identities, i)
		}
	}
	return m, err
}

// Warned says whether the user confirmed, before removing the last sign-in method, that only links by mail remain.
type Warned bool

// afterRemoval refuses a removal that leaves no way to sign in or, without a warning, only mail.
func (a *Accounts) afterRemoval(ctx context.Context, tx store.Tx, accountID string, warned Warned) error {
	m, err := a.signInMethods(ctx, tx, accountID)
	switch {
	case err != nil || !m.none():
		return err
	case !m.Mail:
		return fault.New(fault.Conflict, "this is the only way to sign in to the account").WithHint("set a password first, or add a passkey")
	case !bool(warned):
		return fault.New(fault.Conflict, "this is the last way to sign in beside a link by mail").WithHint("confirm that a mailed link is all that will remain")
	}
	return nil
}
