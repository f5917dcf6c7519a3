package partner

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/seal"
)

// A Page is the paging part of a list answer.
type Page struct {
	NextCursor op.NextCursor `json:"next_cursor" jsonschema:"cursor of the next page; null at the end"`
}

// A cursorCodec seals the cursors of one list. A cursor is bound to the party, the list and its filters.
type cursorCodec struct {
	keys    *seal.Keys
	context []byte
}

func newCursorCodec(keys *seal.Keys, p credential.Party, name string, filters any) (cursorCodec, error) {
	text, err := json.Marshal([]any{"cursor", name, p.Partner, p.Environment, filters})
	return cursorCodec{keys, text}, err
}

// encode returns the cursor of a position.
func (l cursorCodec) encode(position any) (op.NextCursor, error) {
	text, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	return op.NextCursor(base64.RawURLEncoding.EncodeToString(l.keys.Seal(text, l.context))), nil
}

// decode reads the position of a cursor. It fails with [fault.Validation] for a cursor of another list.
func (l cursorCodec) decode(c op.Cursor, to any) error {
	sealed, err := base64.RawURLEncoding.DecodeString(string(c))
	var text []byte
	if err == nil {
		text, err = l.keys.Open(sealed, l.context)
	}
	if err != nil {
		return fault.Invalid("cursor", "does not belong to this list with these filters").
			WithHint("send next_cursor of the page before with its other parameters, or leave it out to begin again")
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("decode a sealed cursor: %w", err)
	}
	return nil
}
