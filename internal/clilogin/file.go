package clilogin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
)

// Directory returns the directory of the user's token files: below XDG_CONFIG_HOME if environ has it, else below
// [os.UserConfigDir].
func Directory(environ func(string) (string, bool)) (string, error) {
	config, ok := environ("XDG_CONFIG_HOME")
	if !ok || !filepath.IsAbs(config) {
		var err error
		if config, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("find the directory for sign-ins: %w", err)
		}
	}
	return filepath.Join(config, "namewharf", "sign-ins"), nil
}

// A record is the content of the file. Without an access token the sign-in has ended.
type record struct {
	Resource  string    `json:"resource"`
	Issuer    string    `json:"issuer"`
	TokenURL  string    `json:"token_endpoint,omitzero"`
	RevokeURL string    `json:"revocation_endpoint,omitzero"`
	ClientID  string    `json:"client_id,omitzero"`
	Access    string    `json:"access_token,omitzero"`
	Refresh   string    `json:"refresh_token,omitzero"`
	Renew     time.Time `json:"renew_at,omitzero"`
	Expires   time.Time `json:"expires_at,omitzero"`
}

// A file holds the record of one resource. Writers replace it atomically under the lock, so it can be read at any time.
type file struct {
	path     string
	resource string
}

// Errors of read.
var (
	errNoFile  = errors.New("there is no file of a sign-in")
	errDamaged = fault.Words("the file of the sign-in is damaged")
)

const maxFile = 64 << 10

// newFile returns the file for the resource, named after its host, to be readable, and a digest, to be unique.
func newFile(dir string, resource *url.URL) file {
	host := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, resource.Hostname())
	sum := sha256.Sum256([]byte(resource.String()))
	return file{filepath.Join(dir, host[:min(len(host), 64)]+"-"+hex.EncodeToString(sum[:8])+".json"), resource.String()}
}

// read returns the record, errNoFile or errDamaged.
func (f file) read() (record, error) {
	opened, err := openShared(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, errNoFile
	}
	if err != nil {
		return record{}, fmt.Errorf("read the sign-in: %w", err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxFile))
	if err != nil {
		return record{}, fmt.Errorf("read the sign-in: %w", err)
	}
	var r record
	if json.Unmarshal(text, &r) != nil || r.Resource != f.resource {
		return record{}, errDamaged
	}
	return r, nil
}

// write replaces the record. When it returns, the record survives a power failure.
func (f file) write(r record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	next := f.path + ".new" // one name is enough under the lock, and bounds what killed writers leave
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	opened, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = opened.Write(append(text, '\n'))
	if err == nil {
		err = opened.Sync()
	}
	if err = errors.Join(err, opened.Close()); err == nil {
		err = replace(next, f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// remove deletes the record, and the new file of a killed writer.
func (f file) remove() error {
	for _, path := range []string{f.path + ".new", f.path} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lock excludes other processes and goroutines from changing the record. The system releases it when a process dies. It
// makes the directory.
func (f file) lock(ctx context.Context) (unlock func(), err error) {
	if err := f.makeDir(); err != nil {
		return nil, fmt.Errorf("make the directory for sign-ins: %w", err)
	}
	opened, err := os.OpenFile(f.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the sign-in: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, fmt.Errorf("another program has locked the sign-in for %v", lockTime))
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		locked, err := tryLock(opened)
		if locked {
			return func() { _ = opened.Close() }, nil // which releases the lock
		}
		if err != nil {
			_ = opened.Close()
			return nil, fmt.Errorf("lock the sign-in: %w", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			_ = opened.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// makeDir makes the directory one that only the user can enter.
func (f file) makeDir() error {
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() == 0o700 {
		return err
	}
	return os.Chmod(dir, 0o700)
}
