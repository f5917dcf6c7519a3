package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// FileName is the name of the file with the keys in a data directory.
const FileName = "server.key"

// followEvery is how old a process's view of the file may be.
const followEvery = time.Second

// A follower reads the file again when it has changed.
type follower struct {
	path   string
	failed func(error)

	mu      sync.Mutex // guards what follows
	looked  time.Time
	read    os.FileInfo // the file that the keys are from
	failure string      // the last that was reported
}

// Load reads the keys from a file, which it makes, with mode 0600, where there is none, and follows it from then on.
// Of several processes that make it at once, one does. A file that others may read is made the owner's alone, or
// refused where that cannot be. While the file cannot be read later, the keys before stay; failed, if it is not nil, is
// reported once.
func Load(path string, failed func(error)) (*Keys, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path, NewText()); err != nil {
			return nil, fmt.Errorf("sealing keys: %w", err)
		}
	}
	r, info, err := readFile(path)
	if err != nil {
		return nil, err
	}
	k := &Keys{file: &follower{path: path, failed: failed, looked: time.Now(), read: info}}
	k.keys.Store(r)
	return k, nil
}

// readFile reads a file of keys, which other users may not read. The information is from before the text: what changes in between is
// read again later.
func readFile(path string) (*keySet, os.FileInfo, error) {
	if err := guard(path); err != nil {
		return nil, nil, fmt.Errorf("sealing keys: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("sealing keys: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("sealing keys: %w", err)
	}
	r, err := parse(string(text))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, info, nil
}

// guard takes from others what they may do with the file. It fails where they still may.
func guard(path string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("%s may be read by others, and that cannot be changed: give it to the user of the service alone, with mode 0600: %w", path, err)
	}
	return nil
}

// refresh reads the file if it has changed, unless it was looked at within age.
func (f *follower) refresh(k *Keys, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if age > 0 && time.Since(f.looked) < age {
		return
	}
	f.looked = time.Now()
	info, err := os.Stat(f.path)
	if err == nil && os.SameFile(info, f.read) && info.ModTime().Equal(f.read.ModTime()) && info.Size() == f.read.Size() {
		return
	}
	var r *keySet
	if err == nil {
		r, info, err = readFile(f.path)
	}
	if err != nil {
		if f.failed != nil && err.Error() != f.failure {
			f.failed(fmt.Errorf("the keys before stay in use: %w", err))
		}
		f.failure = err.Error()
		return
	}
	f.read, f.failure = info, ""
	k.keys.Store(r)
}

// Adopt makes the file of the keys in another, unless there is one at path or none at from, and reports whether it did.
// The other file stays as it is, but other users may not read it.
func Adopt(path, from string) (bool, error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if _, _, err := readFile(from); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return false, fmt.Errorf("sealing keys: %w", err)
	}
	var keys strings.Builder
	keys.WriteString(explanation)
	for line := range strings.Lines(string(text)) {
		if _, ok, _ := parseLine(line); ok {
			keys.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	if err := create(path, keys.String()); err != nil {
		return false, fmt.Errorf("sealing keys: %w", err)
	}
	return true, nil
}

// create makes the file under another name and links it to its own, so that no process reads half of it and no process
// overwrites another's.
func create(path, text string) error {
	return write(path, text, func(fresh string) error {
		if err := os.Link(fresh, path); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// write writes the text to a file beside path, which place then puts there.
func write(path, text string, place func(fresh string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".server-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.WriteString(text); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := place(f.Name()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name last. Windows does so by itself.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// AddKey puts a fresh key first in the file: from now on it seals. Of callers at once the last wins: let there be one.
func AddKey(path string) (ID, error) {
	line := newLine()
	raw, _, err := parseLine(line)
	if err != nil {
		return ID{}, err
	}
	err = edit(path, func(lines []string) []string {
		at := max(0, slices.IndexFunc(lines, func(l string) bool { _, ok, _ := parseLine(l); return ok }))
		return slices.Insert(lines, at, line)
	})
	return idOf(raw), err
}

// RemoveKeys removes keys from the file. It fails where none would be left.
func RemoveKeys(path string, ids ...ID) error {
	return edit(path, func(lines []string) []string {
		return slices.DeleteFunc(lines, func(l string) bool {
			raw, ok, _ := parseLine(l)
			return ok && slices.Contains(ids, idOf(raw))
		})
	})
}

// edit replaces the file by a changed one at once.
func edit(path string, change func(lines []string) []string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("sealing keys: %w", err)
	}
	if err := guard(path); err != nil {
		return fmt.Errorf("sealing keys: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("sealing keys: %w", err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimRight(line, "\r\n")+"\n")
	}
	changed := strings.Join(change(lines), "")
	if _, err := parse(changed); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := write(path, changed, func(fresh string) error { return os.Rename(fresh, path) }); err != nil {
		return fmt.Errorf("sealing keys: %w", err)
	}
	return nil
}
