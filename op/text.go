package op

import (
	"encoding/json"
	"sync"
)

// Text is an answer for who reads text alone: compact, a line for each thing, with all that the reader needs in order to
// go on. An operation without a rendering of its own is read as JSON.
func (o *Op) Text(a Answer) string {
	switch {
	case a.text != nil:
		return a.text()
	case o.text != nil:
		return o.text(a.JSON)
	}
	return string(a.JSON)
}

// HasText reports whether the operation has a rendering of its own.
func (o *Op) HasText() bool { return o.text != nil }

// textOf is the rendering of encoded answers; nil where there is none. What does not decode, as an answer of a remote
// service of another version may not, is read as JSON.
func (d Operation[In, Out]) textOf() func(raw []byte) string {
	if d.Text == nil {
		return nil
	}
	return func(raw []byte) string {
		var out Out
		if err := json.Unmarshal(raw, &out); err != nil {
			return string(raw)
		}
		return d.Text(out)
	}
}

// textLater renders an answer when it is first read as text, and once. A cached answer holds its JSON alone until then.
func (d Operation[In, Out]) textLater(o *Op, out Out, raw []byte, cached bool) func() string {
	switch {
	case o.text == nil:
		return nil
	case cached:
		return sync.OnceValue(func() string { return o.text(raw) })
	}
	return func() string { return d.Text(out) }
}
