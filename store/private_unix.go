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

const ofOthers fs.FileMode = 0o077 // permissions of group and others

// closeDir removes the permissions of others from a directory of this user, and logs that. If others may read it, it refuses a
// directory of another user, and one with other content than a store, which others may need.
func closeDir(dir string, log *slog.Logger) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&ofOthers == 0 {
		return err
	}
	if !ours(info) {
		return fmt.Errorf("others may read directory %s, which belongs to another user: its owner must chmod 700 it", dir)
	}
	shared := info.Mode()&fs.ModeSticky != 0
	if _, err := os.Stat(filepath.Join(dir, liteFile)); err != nil && !shared {
		if shared, err = holdsDirectories(dir); err != nil {
			return err
		}
	}
	if shared {
		return fmt.Errorf("others may read directory %s, which is not only for a store: use another directory, or chmod 700 it", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	log.Warn("others could read the data directory; their permissions were removed", "directory", dir, "mode_before", fmt.Sprintf("%#04o", info.Mode().Perm()))
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

// closeFile removes the permissions of others from a file of this user, if it exists. The directory protects a file of another
// user.
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
