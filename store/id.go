package store

import (
	"encoding/base32"

	"github.com/google/uuid"
)

// crockford is base32 whose alphabet is in the order of its values, so that texts sort as their bytes do.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID returns an unguessable id such as ord_06bq2k…: the prefix, and a version 7 UUID (RFC 9562,
// section 5.7) in 26 lower-case characters. Within a process, later ids sort after earlier ones;
// between processes they do to the millisecond. It is an address, not a secret: 62 of its bits are random.
func NewID(prefix string) string {
	id := uuid.Must(uuid.NewV7()) // fails only when the system has no randomness
	return prefix + "_" + crockford.EncodeToString(id[:])
}
