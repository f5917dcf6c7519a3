package account

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// ExportData is the stored data of an account, without its security log, which [Accounts.LogAfter] reads. Other packages
// export names and apps.
type ExportData struct {
	Account     Account
	HasPassword bool
	Sessions    []Session
	Passkeys    []Passkey
	Identities  []Identity
}

// Export returns the data of a session's account and records that in the security log. The session must pass
// [Accounts.StepUp].
func (a *Accounts) Export(ctx context.Context, s Session, from netip.Addr) (r ExportData, err error) {
	if err := a.StepUp(s); err != nil {
		return ExportData{}, err
	}
	if err := a.Record(ctx, Entry{AccountID: s.AccountID, What: DataExported, From: from}); err != nil {
		return ExportData{}, err
	}
	row, err := a.find(ctx, "id", s.AccountID)
	if err != nil {
		return ExportData{}, err
	}
	r.Account, r.HasPassword = row.Account, row.password != ""
	if r.Sessions, err = a.Sessions(ctx, s.AccountID); err != nil {
		return ExportData{}, err
	}
	if r.Passkeys, err = a.Passkeys(ctx, s.AccountID); err != nil {
		return ExportData{}, err
	}
	if r.Identities, err = a.Identities(ctx, s.AccountID); err != nil {
		return ExportData{}, err
	}
	return r, nil
}

// LogAfter returns up to limit entries, at most 500, of an account's security log that follow the entry after, the earliest
// first. The zero Entry starts at the first.
func (a *Accounts) LogAfter(ctx context.Context, accountID string, after Entry, limit int) (entries []Entry, err error) {
	err = a.db.Read(ctx, func(tx store.Tx) error {
		entries, err = scanLog(ctx, tx, accountID, `AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4`,
			store.Micros(after.At), after.ID, max(1, min(limit, maxLog)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the security log: %w", err)
	}
	return entries, nil
}

// Delete removes the account of a session, which must pass [Accounts.StepUp], in one transaction: its sessions, passkeys,
// identities, security log, and what [Config.OnDelete] removes. The address may sign up again. It fails with
// [fault.Conflict] if something in progress needs the account.
func (a *Accounts) Delete(ctx context.Context, s Session) error {
	if err := a.StepUp(s); err != nil {
		return err
	}
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		if _, err := a.mustFind(ctx, tx, s.AccountID); err != nil {
			return err
		}
		return a.remove(ctx, tx, s.AccountID)
	})
	if err != nil {
		return fmt.Errorf("delete an account: %w", err)
	}
	a.mailNotice(s.Email, deletedMail)
	return nil
}

// remove removes an account and all its data.
func (a *Accounts) remove(ctx context.Context, tx store.Tx, accountID string) error {
	if a.cfg.OnDelete != nil {
		if err := a.cfg.OnDelete(ctx, tx, accountID); err != nil {
			return err
		}
	}
	if err := a.revokeAll(ctx, tx, accountID); err != nil {
		return err
	}
	if err := each(ctx, tx, accountID, `DELETE FROM accounts WHERE id = $1`); err != nil { // its other rows go with it
		return fmt.Errorf("remove an account: %w", err)
	}
	return nil
}

// UnconfirmedLife is how long after its last sign-in an account with an unconfirmed address is removed, if
// [Config.VerifyFirst] is set. One that holds something stays, see [Config.Holds].
const UnconfirmedLife = 7 * 24 * time.Hour

// UnconfirmedRetention is the retention rule of accounts whose [UnconfirmedLife] is over. It is not part of [Retention]
// because it also removes what other packages store about an account.
func (a *Accounts) UnconfirmedRetention() []sweep.Rule {
	if !a.cfg.VerifyFirst {
		return nil
	}
	return []sweep.Rule{{Table: "accounts", Kept: accountsKept, Keep: UnconfirmedLife, Plan: a.planUnconfirmedSweep}}
}

// planUnconfirmedSweep finds expired unconfirmed accounts that hold nothing.
func (a *Accounts) planUnconfirmedSweep(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	var free []string
	for last := (accountRow{}); len(free) < limit; {
		rows, err := unconfirmed(ctx, tx, over, `AND (created, id) > ($4, $5) ORDER BY created, id LIMIT $6`, store.Micros(last.Created), last.ID, limit)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			held, err := a.holds(ctx, tx, row.ID)
			if err != nil {
				return nil, err
			}
			if !held {
				free = append(free, row.ID)
			}
		}
		last = rows[len(rows)-1]
	}
	if len(free) == 0 {
		return nil, nil
	}
	return func(ctx context.Context, tx store.Tx) (n int64, err error) {
		for _, id := range free[:min(len(free), limit)] {
			removed, err := a.removeUnconfirmed(ctx, tx, id, over)
			if err != nil {
				return 0, fmt.Errorf("remove an account that was never confirmed: %w", err)
			}
			if removed {
				n++
			}
		}
		return n, nil
	}, nil
}

func (a *Accounts) holds(ctx context.Context, tx store.Tx, accountID string) (bool, error) {
	if a.cfg.Holds == nil {
		return false, nil
	}
	return a.cfg.Holds(ctx, tx, accountID)
}

// removeUnconfirmed removes an account unless it has been used since planUnconfirmedSweep found it.
func (a *Accounts) removeUnconfirmed(ctx context.Context, tx store.Tx, accountID string, over time.Time) (removed bool, err error) {
	still, err := unconfirmed(ctx, tx, over, `AND id = $4`, accountID)
	if err != nil || len(still) == 0 {
		return false, err
	}
	if held, err := a.holds(ctx, tx, accountID); err != nil || held {
		return false, err
	}
	return true, a.remove(ctx, tx, accountID)
}

// unconfirmed reads the unconfirmed accounts without a sign-in after over and without a valid link. The rest of the query
// selects among them, with the binds from $4 on.
func unconfirmed(ctx context.Context, tx store.Tx, over time.Time, rest string, args ...any) ([]accountRow, error) {
	return store.Collect(ctx, tx, scanAccount, `
		SELECT `+accountColumns+` FROM accounts a
		WHERE verified = 0 AND disabled = 0 AND created <= $1
			AND NOT EXISTS (SELECT 1 FROM account_sessions s WHERE s.account_id = a.id AND s.seen > $1)
			AND NOT EXISTS (SELECT 1 FROM account_log l WHERE l.account_id = a.id AND l.at > $1 AND l.what = $2)
			AND NOT EXISTS (SELECT 1 FROM account_tokens t WHERE t.account_id = a.id AND t.expires > $3) `+rest,
		append([]any{store.Micros(over), SignedIn, store.Micros(over.Add(UnconfirmedLife))}, args...)...)
}
