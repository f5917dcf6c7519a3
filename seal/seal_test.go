package seal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	oldText, newText := NewText(), NewText()
	parse := func(text string) *Keys {
		t.Helper()
		k, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	secret, context := []byte("sk_live_ключ☕"), []byte("row 1")
	before, after, both := parse(oldText), parse(newText), parse(newText+"\n"+oldText)
	blob := before.Seal(secret, context)
	if bytes.Contains(blob, secret) || bytes.Equal(blob, before.Seal(secret, context)) {
		t.Error("what is sealed is readable, or the same twice")
	}
	for name, k := range map[string]*Keys{"the key": before, "a newer key beside it": both} {
		if got, err := k.Open(blob, context); err != nil || !bytes.Equal(got, secret) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if got, err := after.Open(both.Seal(secret, context), context); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("the first key seals: got %q, %v", got, err)
	}
	if _, err := after.Open(blob, context); err == nil {
		t.Error("another key opens")
	}
	if _, err := before.Open(blob, []byte("row 2")); err == nil {
		t.Error("it opens in another row")
	}
	for i := range blob {
		changed := bytes.Clone(blob)
		changed[i] ^= 1
		if _, err := before.Open(changed, context); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
		if _, err := before.Open(blob[:i], context); err == nil {
			t.Errorf("the first %d bytes of it open", i)
		}
	}
	for _, bad := range []string{"", "# nothing\n", "AAAA", oldText + "x\n", strings.Repeat("A", 44)} {
		if _, err := Parse(bad); err == nil || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("Parse(%q): %v", bad, err)
		}
	}
}

// The file is made once, by the first process, and other users may not read it.
func TestFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	var all [16]*Keys
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = Load(path, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	blob := all[0].Seal([]byte("secret"), nil)
	for i, k := range all {
		if _, err := k.Open(blob, nil); err != nil {
			t.Errorf("process %d has another key: %v", i, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "missing", FileName), nil); err == nil {
		t.Error("a file in a directory that is not there")
	}
}

func FuzzOpen(f *testing.F) {
	k := Random()
	f.Add(k.Seal([]byte("secret"), []byte("context")), []byte("context"))
	f.Add([]byte{1, 2, 3}, []byte{})
	f.Fuzz(func(t *testing.T, blob, context []byte) {
		if plain, err := k.Open(blob, context); err == nil && !(string(plain) == "secret" && string(context) == "context") {
			t.Errorf("%x opens as %q", blob, plain)
		}
	})
}
