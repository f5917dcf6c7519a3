package tools

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// A Page is the position of an answer in a longer list.
type Page struct {
	NextCursor op.NextCursor `json:"next_cursor" jsonschema:"cursor of the next page; null at the end"`
	Limit      int           `json:"limit"`
}

// A cursorKey seals cursors, so that forged ones, and those of another list, are detected.
type cursorKey []byte

const cursorMAC = 16 // bytes

func (k cursorKey) mac(list, position []byte) []byte {
	h := hmac.New(sha256.New, k)
	fmt.Fprintf(h, "%d:", len(list))
	h.Write(list)
	h.Write(position)
	return h.Sum(nil)[:cursorMAC]
}

// seal makes a cursor of a position in the list that the description, a JSON value, names.
func (k cursorKey) seal(list, position any) (op.NextCursor, error) {
	l, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	p, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	return op.NextCursor(base64.RawURLEncoding.EncodeToString(append(k.mac(l, p), p...))), nil
}

// open reads a cursor of the same list into position. Errors are [fault.Validation] on cursor.
func (k cursorKey) open(c op.Cursor, list, position any) error {
	l, err := json.Marshal(list)
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(raw) < cursorMAC || !hmac.Equal(raw[:cursorMAC], k.mac(l, raw[cursorMAC:])) {
		return fault.Invalid("cursor", "does not belong to this list with these filters and this order").
			WithHint("use next_cursor of the page before unchanged and repeat its other parameters, or leave it out to begin again")
	}
	if err := json.Unmarshal(raw[cursorMAC:], position); err != nil {
		return fmt.Errorf("decode sealed cursor: %w", err)
	}
	return nil
}
