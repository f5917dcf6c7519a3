package account

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// Limits of passkeys.
const (
	maxPasskeys    = 20 // of one account
	maxPasskeyName = 60
	maxResponse    = 64 << 10 // bytes of what a browser sends back
)

// Kinds of passkey flows.
const (
	registering = "passkey registration"
	assertion   = "passkey sign-in"
)

// A Passkey is a key pair whose private key is in the person's device or password manager.
type Passkey struct {
	ID      string
	Name    string // given by the person
	Created time.Time
	Used    time.Time // zero: never
	Synced  bool      // the device may copy it to others
}

// relyingParty returns the WebAuthn relying party, whose ID is the host of the base URL. It is nil for an IP address, which
// WebAuthn does not permit.
func relyingParty(base *url.URL) (*webauthn.WebAuthn, error) {
	if _, err := netip.ParseAddr(base.Hostname()); err == nil {
		return nil, nil
	}
	return webauthn.New(&webauthn.Config{
		RPID:                  base.Hostname(),
		RPDisplayName:         "Namewharf",
		RPOrigins:             []string{base.Scheme + "://" + base.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: protocol.ResidentKeyRequired(),
			ResidentKey:        protocol.ResidentKeyRequirementRequired,
			UserVerification:   protocol.VerificationRequired, // a passkey alone signs in, so it must be two factors
		},
	})
}

// PasskeysWork reports whether passkeys are available: the base URL needs a host name. Browsers also need https, except on
// localhost.
func (a *Accounts) PasskeysWork() bool { return a.passkeys != nil }

func errNoPasskeys() error {
	return fault.New(fault.NotFound, "passkeys need a server with a host name")
}

func errPasskey() error {
	return fault.New(fault.AuthenticationRequired, "the passkey was not accepted").WithHint("try again, or sign in by other means")
}

// passkeyUser is an account as go-webauthn sees it.
type passkeyUser struct {
	accountRow
	credentials []webauthn.Credential
}

func (p *passkeyUser) WebAuthnID() []byte                         { return p.handle }
func (p *passkeyUser) WebAuthnName() string                       { return p.Email }
func (p *passkeyUser) WebAuthnDisplayName() string                { return p.Email }
func (p *passkeyUser) WebAuthnCredentials() []webauthn.Credential { return p.credentials }

// BeginRegister begins to add a passkey to the account of a session, which must pass [Accounts.StepUp]. Options is
// PublicKeyCredentialCreationOptions as JSON in a member "publicKey", for the browser's navigator.credentials.create; flow
// is for [Accounts.FinishRegister], within ten minutes. The browser may hold the flow, which is encrypted.
func (a *Accounts) BeginRegister(ctx context.Context, s Session) (options json.RawMessage, flow string, err error) {
	if a.passkeys == nil {
		return nil, "", errNoPasskeys()
	}
	if err := a.StepUp(s); err != nil {
		return nil, "", err
	}
	accountID := s.AccountID
	who, err := a.passkeyUser(ctx, "id", accountID)
	if err != nil {
		return nil, "", err
	}
	if len(who.credentials) >= maxPasskeys {
		return nil, "", errManyPasskeys()
	}
	exclude := webauthn.Credentials(who.credentials).CredentialDescriptors()
	creation, data, err := a.passkeys.BeginRegistration(who, webauthn.WithExclusions(exclude))
	if err != nil {
		return nil, "", fmt.Errorf("begin to register a passkey: %w", err)
	}
	return a.begin(flowContext(registering, accountID), creation, data)
}

func errManyPasskeys() error {
	return fault.New(fault.Conflict, "an account has at most %d passkeys", maxPasskeys).WithHint("remove one that is not used")
}

func (a *Accounts) begin(context []byte, options any, data *webauthn.SessionData) (json.RawMessage, string, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, "", fmt.Errorf("begin with a passkey: %w", err)
	}
	sealed, err := sealFlow(a.cfg.Keys, context, a.now(), data)
	return text, sealed, err
}

// FinishRegister adds the passkey that the browser made: response is the credential as JSON; the person chose the name. It
// fails with [fault.InvalidToken] on a flow that is expired, used or of another account, and with [fault.Validation] on a
// response that does not match.
func (a *Accounts) FinishRegister(ctx context.Context, accountID, flow string, response []byte, name string, from netip.Addr) (Passkey, error) {
	if a.passkeys == nil {
		return Passkey{}, errNoPasskeys()
	}
	f, err := openFlow[webauthn.SessionData](a.cfg.Keys, flowContext(registering, accountID), a.now(), flow)
	if err != nil {
		return Passkey{}, err
	}
	who, err := a.passkeyUser(ctx, "id", accountID)
	if err != nil {
		return Passkey{}, err
	}
	unfit := fault.Invalid("credential", "must be what the browser made for this attempt")
	if len(response) > maxResponse {
		return Passkey{}, unfit
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Passkey{}, unfit
	}
	made, err := a.passkeys.CreateCredential(who, f.Data, parsed)
	if err != nil {
		return Passkey{}, unfit
	}
	if name = clean(name, maxPasskeyName); name == "" {
		name = "Passkey"
	}
	now := a.now().UTC().Truncate(time.Microsecond)
	key := Passkey{ID: store.NewID("pk"), Name: name, Created: now, Synced: made.Flags.BackupState}
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		if err := useNonce(ctx, tx, f.Nonce, f.Expires); err != nil {
			return err
		}
		if err := insertPasskey(ctx, tx, accountID, key, made); err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: accountID, At: now, What: PasskeyAdded, Detail: name, From: from})
	})
	if err != nil {
		return Passkey{}, fmt.Errorf("register a passkey: %w", err)
	}
	a.mailNotice(who.Email, passkeyAddedMail)
	return key, nil
}

// BeginLogin begins a sign-in by a discoverable passkey: the device offers the passkeys it has. Options is
// PublicKeyCredentialRequestOptions as JSON in a member "publicKey", for navigator.credentials.get; flow is for
// [Accounts.FinishLogin].
func (a *Accounts) BeginLogin(context.Context) (options json.RawMessage, flow string, err error) {
	if a.passkeys == nil {
		return nil, "", errNoPasskeys()
	}
	request, data, err := a.passkeys.BeginDiscoverableLogin()
	if err != nil {
		return nil, "", fmt.Errorf("begin a sign-in by passkey: %w", err)
	}
	return a.begin(flowContext(assertion), request, data)
}

// FinishLogin returns the account whose passkey signed; the caller starts a session for it. It fails with
// [fault.InvalidToken] on a flow that is expired or used, and with [fault.AuthenticationRequired] on an unknown passkey, a
// wrong signature, missing user verification, or a signature counter that went back.
func (a *Accounts) FinishLogin(ctx context.Context, flow string, response []byte, from netip.Addr) (Account, error) {
	if a.passkeys == nil {
		return Account{}, errNoPasskeys()
	}
	f, err := openFlow[webauthn.SessionData](a.cfg.Keys, flowContext(assertion), a.now(), flow)
	if err != nil {
		return Account{}, err
	}
	if len(response) > maxResponse {
		return Account{}, errPasskey()
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Account{}, errPasskey()
	}
	who, err := a.passkeyUser(ctx, "handle", parsed.Response.UserHandle)
	if fault.Is(err, fault.NotFound) {
		return Account{}, errPasskey()
	}
	if err != nil {
		return Account{}, err
	}
	if !who.Disabled.IsZero() {
		return Account{}, errPasskey()
	}
	_, used, err := a.passkeys.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return who, nil }, f.Data, parsed)
	if err != nil {
		a.logLater(Entry{AccountID: who.ID, What: SignInFailed, Detail: "with a passkey", From: from})
		return Account{}, errPasskey()
	}
	if used.Authenticator.CloneWarning {
		a.logLater(Entry{AccountID: who.ID, What: PasskeyCloned, From: from})
		return Account{}, errPasskey()
	}
	err = a.db.Tx(ctx, func(tx store.Tx) error {
		if err := useNonce(ctx, tx, f.Nonce, f.Expires); err != nil {
			return err
		}
		if err := touchPasskey(ctx, tx, who.ID, used, a.now()); err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: who.ID, At: a.now(), What: SignedIn, Detail: "with a passkey", From: from})
	})
	if err != nil {
		return Account{}, fmt.Errorf("sign in by passkey: %w", err)
	}
	return who.Account, nil
}

// Passkeys lists the passkeys of an account, the oldest first.
func (a *Accounts) Passkeys(ctx context.Context, accountID string) ([]Passkey, error) {
	keys := []Passkey{}
	err := a.db.Read(ctx, func(tx store.Tx) error {
		return readPasskeys(ctx, tx, accountID, func(k Passkey, _ webauthn.Credential) { keys = append(keys, k) })
	})
	if err != nil {
		return nil, fmt.Errorf("list passkeys: %w", err)
	}
	return keys, nil
}

// RemovePasskey removes a passkey from the account of a session, which must pass [Accounts.StepUp]. It fails with
// [fault.NotFound], and with [fault.Conflict] if it is the last way to sign in, see [Warned].
func (a *Accounts) RemovePasskey(ctx context.Context, s Session, id string, warned Warned, from netip.Addr) error {
	none := fault.New(fault.NotFound, "there is no such passkey")
	if err := a.StepUp(s); err != nil {
		return err
	}
	if !plainID(id) {
		return none
	}
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		var name string
		err := tx.QueryRow(ctx, `DELETE FROM account_passkeys WHERE id = $1 AND account_id = $2 RETURNING name`, id, s.AccountID).Scan(&name)
		if store.IsNoRows(err) {
			return none
		}
		if err != nil {
			return err
		}
		if err := a.afterRemoval(ctx, tx, s.AccountID, warned); err != nil {
			return err
		}
		return addEntry(ctx, tx, Entry{AccountID: s.AccountID, At: a.now(), What: PasskeyRemoved, Detail: name, From: from})
	})
	if err != nil {
		return fmt.Errorf("remove a passkey: %w", err)
	}
	a.mailNotice(s.Email, passkeyRemovedMail)
	return nil
}

// passkeyUser reads an account with its passkeys. It fails with [fault.NotFound].
func (a *Accounts) passkeyUser(ctx context.Context, column string, value any) (*passkeyUser, error) {
	who := &passkeyUser{}
	err := a.db.Read(ctx, func(tx store.Tx) error {
		row, found, err := findTx(ctx, tx, column, value)
		if err != nil {
			return err
		}
		if !found {
			return errNoAccount()
		}
		who.accountRow = row
		return readPasskeys(ctx, tx, row.ID, func(_ Passkey, c webauthn.Credential) { who.credentials = append(who.credentials, c) })
	})
	if err != nil {
		return nil, fmt.Errorf("read passkeys: %w", err)
	}
	return who, nil
}

func readPasskeys(ctx context.Context, tx store.Tx, accountID string, each func(Passkey, webauthn.Credential)) error {
	read := func(rows *sql.Rows) error {
		var k Passkey
		var record []byte
		var created, used int64
		if err := rows.Scan(&k.ID, &k.Name, &record, &created, &used); err != nil {
			return err
		}
		var c webauthn.Credential
		if err := json.Unmarshal(record, &c); err != nil {
			return fmt.Errorf("passkey %s: %w", k.ID, err)
		}
		k.Created, k.Used, k.Synced = store.Time(created), store.Time(used), c.Flags.BackupState
		each(k, c)
		return nil
	}
	return store.Each(ctx, tx, read, `SELECT id, name, record, created, used FROM account_passkeys WHERE account_id = $1 ORDER BY id`, accountID)
}

func insertPasskey(ctx context.Context, tx store.Tx, accountID string, k Passkey, c *webauthn.Credential) error {
	record, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var count int
	if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM account_passkeys WHERE account_id = $1`, accountID).Scan(&count); err != nil {
		return err
	}
	if count >= maxPasskeys {
		return errManyPasskeys()
	}
	n, err := tx.Exec(ctx, `INSERT INTO account_passkeys (id, account_id, credential, name, record, created, used)
		VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT (credential) DO NOTHING`, k.ID, accountID, c.ID, k.Name, record, store.Micros(k.Created))
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "this passkey is registered already")
	}
	return err
}

// touchPasskey stores the current counter and flags of a passkey.
func touchPasskey(ctx context.Context, tx store.Tx, accountID string, c *webauthn.Credential, now time.Time) error {
	record, err := json.Marshal(c)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `UPDATE account_passkeys SET record = $3, used = $4 WHERE account_id = $1 AND credential = $2`, accountID, c.ID, record, store.Micros(now))
	if err == nil && n == 0 {
		err = errPasskey() // removed meanwhile
	}
	return err
}
