package account

import (
	"time"

	"github.com/namewharf/namewharf/store/sweep"
)

const accountsKept = "until the person deletes the account; where mail is sent, one that was never confirmed 7 days after the last sign-in, unless it holds a name"

// Retention returns the retention rules of this package's tables; entries of the security log live for the time log.
func Retention(log time.Duration) []sweep.Rule {
	return []sweep.Rule{
		{Table: "accounts", Kept: accountsKept},
		{Table: "account_passkeys", Kept: "as the account, or until they are removed from it"},
		{Table: "account_identities", Kept: "as the account, or until they are unlinked"},
		{Table: "account_sessions", Kept: "until they expire or end", Key: "hash", Age: "expires"},
		{Table: "account_tokens", Kept: "until they are used or expire", Key: "hash", Age: "expires"},
		{Table: "account_spent", Kept: "until the attempt to sign in would have expired", Key: "nonce", Age: "expires"},
		{Table: "account_log", Kept: "400 days (`-keep-log`)", Keep: log, Key: "id", Age: "at"},
	}
}
