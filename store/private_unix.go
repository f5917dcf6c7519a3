//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

const ofOthers fs.FileMode = 0o077 // permissions of everybody but the owner

// closeDir makes a directory that is ours one that nobody else may read, and says so in the log. It refuses a directory of
// somebody else that others may read, and one that is not there for a store alone: to close that would take it from those
// who use it.
func closeDir(dir string, log *slog.Logger) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&ofOthers == 0 {
		return err
	}
	if !ours(info) {
		return fmt.Errorf("others may read directory %s, which does not belong to this user: its owner can change that by chmod 700", dir)
	}
	shared := info.Mode()&fs.ModeSticky != 0
	if _, err := os.Stat(filepath.Join(dir, liteFile)); err != nil && !shared {
		if shared, err = holdsDirectories(dir); err != nil {
			return err
		}
	}
	if shared {
		return fmt.Errorf("others may read directory %s, and it is not there for a store alone: name a directory of its own, or close it by chmod 700", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	log.Warn("others could read the data directory; it is closed to them now", "directory", dir, "mode_before", fmt.Sprintf("%#04o", info.Mode().Perm()))
	return nil
}

func holdsDirectories(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			return true, nil
		}
	}
	return false, err
}

// closeFile makes a file that is ours and that is there one that only we may read. One that is somebody else's stands in a
// directory that nobody else may read.
func closeFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Mode()&ofOthers == 0 || !ours(info) {
		return err
	}
	return os.Chmod(path, 0o600)
}

// ours reports whether the user of this process owns the file.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
