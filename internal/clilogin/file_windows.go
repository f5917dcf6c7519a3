package clilogin

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock if it is free.
func tryLock(f *os.File) (locked bool, err error) {
	const whole = ^uint32(0)
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, whole, whole, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// openShared opens a file that another process may be replacing.
func openShared(path string) (f *os.File, err error) {
	return f, retryShared(func() error { f, err = os.Open(path); return err })
}

// replace renames a file over another, which another process may be reading.
func replace(from, to string) error {
	return retryShared(func() error { return os.Rename(from, to) })
}

// retryShared retries what fails because another process has the file open, for up to a second.
func retryShared(do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if tries == 100 || !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
