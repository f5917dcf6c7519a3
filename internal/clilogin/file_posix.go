//go:build !windows

package clilogin

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// tryLock takes the lock if it is free.
func tryLock(f *os.File) (locked bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func openShared(path string) (*os.File, error) { return os.Open(path) }

// replace renames a file over another and syncs the directory.
func replace(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
