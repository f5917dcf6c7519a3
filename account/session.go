package account

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// SessionLife is how long a session lasts after it was last seen.
const SessionLife = 30 * 24 * time.Hour

const (
	touchEvery   = time.Minute // how often at most a session's use is written
	maxSessions  = 100         // of one account; the least recently used ends
	maxUserAgent = 200
)

// A Session is a browser in which a person is signed in.
type Session struct {
	ID              string // for pages and forms; not secret
	AccountID       string
	Email           string
	Verified        bool
	Started         time.Time // UTC, as all times
	LastSeen        time.Time // to the minute
	Expires         time.Time
	AuthenticatedAt time.Time // when the person last proved who they are
	From            netip.Addr
	UserAgent       string // printable, cut to 200 characters
}

// StartSession signs a browser in and returns the token for its cookie, of which only a digest is stored. Every sign-in
// starts another session; the caller ends the browser's earlier one with [Accounts.EndSession]. It fails with
// [fault.RateLimited] after very many from the address or its network, and with [fault.NotFound] if the account was
// deleted or disabled meanwhile.
func (a *Accounts) StartSession(ctx context.Context, accountID string, from netip.Addr, userAgent string) (token string, _ Session, err error) {
	return a.StartSessionSince(ctx, accountID, a.now(), from, userAgent)
}

// StartSessionSince is [Accounts.StartSession] for a person who authenticated at an earlier time.
func (a *Accounts) StartSessionSince(ctx context.Context, accountID string, authenticated time.Time, from netip.Addr, userAgent string) (token string, _ Session, err error) {
	if !a.cfg.Unlimited {
		if err := a.limits.from(a.limits.sessions, from, "sign-ins came from this address or its network"); err != nil {
			return "", Session{}, err
		}
	}
	token, hash := newSecret(sessionPrefix)
	now := a.now().UTC().Truncate(time.Microsecond)
	s := Session{
		ID: store.NewID("ses"), AccountID: accountID, From: from.Unmap(), UserAgent: clean(userAgent, maxUserAgent),
		Started: now, LastSeen: now, Expires: now.Add(SessionLife), AuthenticatedAt: authenticated.UTC().Truncate(time.Microsecond),
	}
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		row, found, err := findTx(ctx, tx, "id", accountID)
		if err != nil {
			return err
		}
		if !found || !row.Disabled.IsZero() {
			return errNoAccount()
		}
		s.Email, s.Verified = row.Email, row.Verified
		_, err = tx.Exec(ctx, `INSERT INTO account_sessions (hash, id, account_id, started, seen, expires, authenticated, address, user_agent)
			VALUES ($1, $2, $3, $4, $4, $5, $8, $6, $7)`,
			hash, s.ID, accountID, store.Micros(now), store.Micros(s.Expires), addressText(from), s.UserAgent, store.Micros(s.AuthenticatedAt))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM account_sessions WHERE id IN
			(SELECT id FROM account_sessions WHERE account_id = $1 ORDER BY seen DESC, id DESC LIMIT 1000 OFFSET $2)`, accountID, maxSessions)
		return err
	})
	if err != nil {
		return "", Session{}, fmt.Errorf("start a session: %w", err)
	}
	return token, s, nil
}

const sessionColumns = `s.id, s.account_id, a.email, a.verified, s.started, s.seen, s.expires, s.authenticated, s.address, s.user_agent`

type scanner interface{ Scan(dest ...any) error }

func (s *Session) scan(row scanner) error {
	var verified, started, seen, expires, authenticated int64
	var address string
	err := row.Scan(&s.ID, &s.AccountID, &s.Email, &verified, &started, &seen, &expires, &authenticated, &address, &s.UserAgent)
	s.Verified = verified != 0
	s.Started, s.LastSeen, s.Expires, s.AuthenticatedAt = store.Time(started), store.Time(seen), store.Time(expires), store.Time(authenticated)
	s.From, _ = netip.ParseAddr(address)
	return err
}

// Session returns the session of a cookie's token and extends it to [SessionLife] from now. It fails with
// [fault.AuthenticationRequired] on a token that is malformed, unknown, expired or revoked.
func (a *Accounts) Session(ctx context.Context, token string) (Session, error) {
	none := fault.New(fault.AuthenticationRequired, "there is no session: sign in")
	if !wellFormed(token, sessionPrefix) {
		return Session{}, none
	}
	hash, now := digest(token), a.now().UTC()
	var s Session
	err := a.db.Read(ctx, func(tx store.Tx) error {
		return s.scan(tx.QueryRow(ctx, `SELECT `+sessionColumns+` FROM account_sessions s JOIN accounts a ON a.id = s.account_id
			WHERE s.hash = $1 AND s.expires > $2`, hash, store.Micros(now)))
	})
	if store.IsNoRows(err) {
		return Session{}, none
	}
	if err != nil {
		return Session{}, fmt.Errorf("read a session: %w", err)
	}
	if now.Sub(s.LastSeen) < touchEvery {
		return s, nil
	}
	s.LastSeen, s.Expires = now.Truncate(time.Microsecond), now.Add(SessionLife).Truncate(time.Microsecond)
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE account_sessions SET seen = $2, expires = $3 WHERE hash = $1`, hash, store.Micros(s.LastSeen), store.Micros(s.Expires))
		return err
	})
	if err != nil {
		return Session{}, fmt.Errorf("extend a session: %w", err)
	}
	return s, nil
}

// Sessions lists the sessions of an account, the one seen last first.
func (a *Accounts) Sessions(ctx context.Context, accountID string) ([]Session, error) {
	scan := func(rows *sql.Rows) (s Session, err error) {
		err = s.scan(rows)
		return s, err
	}
	var sessions []Session
	err := a.db.Read(ctx, func(tx store.Tx) (err error) {
		sessions, err = store.Collect(ctx, tx, scan, `SELECT `+sessionColumns+` FROM account_sessions s JOIN accounts a ON a.id = s.account_id
			WHERE s.account_id = $1 AND s.expires > $2 ORDER BY s.seen DESC, s.id DESC`, accountID, store.Micros(a.now()))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return sessions, nil
}

// EndSession ends the session of a token. It succeeds if there is none.
func (a *Accounts) EndSession(ctx context.Context, token string, from netip.Addr) error {
	return a.end(ctx, SignedOut, from, `DELETE FROM account_sessions WHERE hash = $1 RETURNING account_id`, digest(token))
}

// EndSessionByID ends one session of the account, for the page that lists them. It succeeds if there is none.
func (a *Accounts) EndSessionByID(ctx context.Context, accountID, sessionID string, from netip.Addr) error {
	if !plainID(sessionID) {
		return nil
	}
	return a.end(ctx, SessionEnded, from, `DELETE FROM account_sessions WHERE id = $1 AND account_id = $2 RETURNING account_id`, sessionID, accountID)
}

// plainText reports whether s may be stored and compared: PostgreSQL fails on NUL and on what is not UTF-8.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// plainID reports whether id may come from [store.NewID]. PostgreSQL fails on text that is not valid UTF-8.
func plainID(id string) bool {
	return len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (a *Accounts) end(ctx context.Context, what Event, from netip.Addr, query string, args ...any) error {
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		var accountID string
		err := tx.QueryRow(ctx, query, args...).Scan(&accountID)
		if store.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: accountID, At: a.now(), What: what, From: from})
	})
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// EndSessions ends all sessions, one-time tokens and grants of the account.
func (a *Accounts) EndSessions(ctx context.Context, accountID string, from netip.Addr) error {
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		if err := a.revokeAll(ctx, tx, accountID); err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: accountID, At: a.now(), What: SessionEnded, Detail: "all, and all apps", From: from})
	})
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// revokeAll ends the sessions and one-time tokens of an account, and by OnRevokeAll its grants.
func (a *Accounts) revokeAll(ctx context.Context, tx store.Tx, accountID string) error {
	err := each(ctx, tx, accountID, `DELETE FROM account_sessions WHERE account_id = $1`, `DELETE FROM account_tokens WHERE account_id = $1`)
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	if a.cfg.OnRevokeAll == nil {
		return nil
	}
	return a.cfg.OnRevokeAll(ctx, tx, accountID)
}

// clean turns untrusted text into one printable line of at most limit runes.
func clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	line := make([]rune, 0, min(len(s), limit))
	for _, r := range s {
		if len(line) == limit {
			break
		}
		if !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) {
			r = ' '
		}
		line = append(line, r)
	}
	return strings.TrimSpace(string(line))
}
