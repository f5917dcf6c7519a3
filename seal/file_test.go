package seal

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func load(t *testing.T, path string, failed func(error)) *Keys {
	t.Helper()
	k, err := Load(path, failed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func wantOpen(t *testing.T, what string, k *Keys, blob []byte) {
	t.Helper()
	if got, err := k.Open(blob, []byte("row")); err != nil || string(got) != "secret" {
		t.Errorf("%s: got %q, %v", what, got, err)
	}
}

// A running process follows the file: it opens at once what others seal with a new key, and seals with it within a second.
func TestRunningProcessesFollowTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), FileName)
		running := load(t, path, nil)
		before := running.Seal([]byte("secret"), []byte("row"))
		fresh, err := AddKey(path)
		if err != nil {
			t.Fatal(err)
		}
		operator := load(t, path, nil)
		after := operator.Seal([]byte("secret"), []byte("row"))
		if id, _ := IDOf(after); id != fresh || !bytes.HasPrefix(after, fresh.Head()) {
			t.Errorf("the new key is %v, and %v seals", fresh, id)
		}
		wantOpen(t, "what the new key sealed, at once", running, after)
		wantOpen(t, "what the key before sealed", operator, before)

		third, err := AddKey(path)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(followEvery)
		if id, _ := IDOf(running.Seal(nil, nil)); id != third {
			t.Errorf("after a second %v seals, want %v", id, third)
		}
		old, _ := IDOf(before)
		if err := RemoveKeys(path, old); err != nil {
			t.Fatal(err)
		}
		time.Sleep(followEvery)
		if _, err := running.Open(before, []byte("row")); err == nil {
			t.Error("a key that was removed opens")
		}
		wantOpen(t, "the key between", running, after)
		if err := RemoveKeys(path, running.IDs()...); err == nil {
			t.Error("the last key was removed")
		}
		wantOpen(t, "after that was refused", load(t, path, nil), after)
	})
}

// A file that cannot be read is reported once, and the keys before stay.
func TestABrokenFileDoesNotStopAProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), FileName)
		var reported []error
		k := load(t, path, func(err error) { reported = append(reported, err) })
		blob := k.Seal([]byte("secret"), []byte("row"))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := os.WriteFile(path, []byte("half a li"), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(followEvery)
			wantOpen(t, "beside a broken file", k, blob)
		}
		if len(reported) != 1 || !strings.Contains(reported[0].Error(), path) || strings.Contains(reported[0].Error(), "half") {
			t.Errorf("reported %v, want one failure that names the file", reported)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(followEvery)
		wantOpen(t, "with the file mended", k, blob)
	})
}

// Others could read a key file that was copied carelessly.
func TestOthersMayNotReadTheFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where modes say nothing
	}
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o644, 0o640, 0o666, 0o604} {
		path := filepath.Join(dir, FileName)
		if err := os.WriteFile(path, []byte(NewText()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		load(t, path, nil)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("mode %v stays %v, %v", mode, info.Mode(), err)
		}
	}
}

// The file of a version that sealed the secrets of partners only goes on working.
func TestAnOlderFileIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, older := filepath.Join(dir, FileName), filepath.Join(dir, "partner.key")
	if adopted, err := Adopt(path, older); adopted || err != nil {
		t.Errorf("from nothing: %t, %v", adopted, err)
	}
	before := load(t, older, nil)
	if _, err := AddKey(older); err != nil {
		t.Fatal(err)
	}
	blob := before.Seal([]byte("secret"), []byte("row"))
	text, _ := os.ReadFile(older)
	if adopted, err := Adopt(path, older); !adopted || err != nil {
		t.Errorf("from the older file: %t, %v", adopted, err)
	}
	wantOpen(t, "what it sealed", load(t, path, nil), blob)
	if kept, _ := os.ReadFile(older); !bytes.Equal(kept, text) {
		t.Error("the older file has changed")
	}
	if err := os.WriteFile(older, []byte(NewText()), 0o600); err != nil {
		t.Fatal(err)
	}
	if adopted, err := Adopt(path, older); adopted || err != nil {
		t.Errorf("where there is one already: %t, %v", adopted, err)
	}
	wantOpen(t, "the keys that were taken over", load(t, path, nil), blob)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}
