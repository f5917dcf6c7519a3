package store

import (
	"encoding/base32"
	"strings"
	"time"

	"github.com/google/uuid"
)

// crockford is base32 with an alphabet in ascending order, so that encoded texts sort as their bytes do.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID returns an id such as ord_06bq2k…: the prefix, and a version 7 UUID (RFC 9562, section 5.7) in 26 lower-case
// characters. Within a process, later ids sort after earlier ones; between processes they do to the millisecond. It is not a
// secret: only 62 of its bits are random.
func NewID(prefix string) string {
	id := uuid.Must(uuid.NewV7()) // fails only when the system has no randomness
	return prefix + "_" + crockford.EncodeToString(id[:])
}

// idSize is the length of an id behind its prefix.
const idSize = 26

// IDAt returns the text that sorts before all ids that [NewID] made at that time or later, by its machine's clock, and after
// those made before, to the millisecond.
func IDAt(prefix string, at time.Time) string {
	var id uuid.UUID
	for i, ms := 5, max(0, at.UnixMilli()); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return prefix + "_" + crockford.EncodeToString(id[:])
}

// IDTime returns when an id with the prefix was made, to the millisecond; ok is false for an id that [NewID] does not make.
func IDTime(prefix, id string) (at time.Time, ok bool) {
	text, ok := strings.CutPrefix(id, prefix+"_")
	if !ok || len(text) != idSize {
		return time.Time{}, false
	}
	raw, err := crockford.DecodeString(text)
	if err != nil || crockford.EncodeToString(raw) != text {
		return time.Time{}, false
	}
	parsed, err := uuid.FromBytes(raw)
	if err != nil || parsed.Version() != 7 || parsed.Variant() != uuid.RFC4122 {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range parsed[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC(), true
}
