package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// KeyVariables are the environment variables that may hold the server's keys as a text, the older name last.
var KeyVariables = []string{"NAMEWHARF_SERVER_KEYS", "NAMEWHARF_PARTNER_KEYS"}

// olderKeyFile is what [seal.FileName] was called while the keys sealed the secrets of partners only.
const olderKeyFile = "partner.key"

// KeysFlag defines the flags for the file with the server's keys.
func (c *Config) KeysFlag(fs *flag.FlagSet) {
	fs.StringVar(&c.KeysFile, "server-key-file", "", "`file` with the keys that seal what the store must not show, the same for all processes (default "+seal.FileName+" in the data directory, made if need be); "+KeyVariables[0]+" holds them as a text instead")
	fs.StringVar(&c.olderKeysFile, "partner-keys-file", "", "older name of -server-key-file")
}

// KeysPath is the file with the server's keys; data is the data directory. It is empty where the environment holds them.
func (c *Config) KeysPath(environ func(string) (string, bool), data string) (path string, err error) {
	switch {
	case c.KeysFile != "" && c.olderKeysFile != "" && c.KeysFile != c.olderKeysFile:
		return "", errors.New("-server-key-file and -partner-keys-file name different files: give the first alone")
	case c.KeysFile != "":
		return c.KeysFile, nil
	case c.olderKeysFile != "":
		return c.olderKeysFile, nil
	}
	if name, _ := keysText(environ); name != "" {
		return "", nil
	}
	return filepath.Join(data, seal.FileName), nil
}

// keysText is the variable that holds keys, and what it holds.
func keysText(environ func(string) (string, bool)) (name, text string) {
	for _, name := range KeyVariables {
		if text, ok := environ(name); ok {
			return name, text
		}
	}
	return "", ""
}

// Keys are the server's keys, from the file or the environment; data is the data directory. A file that an earlier
// version made there is taken over.
func (c *Config) Keys(environ func(string) (string, bool), data string, log *slog.Logger) (*seal.Keys, error) {
	path, err := c.KeysPath(environ, data)
	if err != nil {
		return nil, err
	}
	if path == "" {
		name, text := keysText(environ)
		keys, err := seal.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return keys, nil
	}
	if path == filepath.Join(data, seal.FileName) {
		if !c.KeysExist {
			if err := os.MkdirAll(data, 0o700); err != nil { // with PostgreSQL it need not be there yet
				return nil, err
			}
		}
		older := filepath.Join(data, olderKeyFile)
		adopted, err := seal.Adopt(path, older)
		if err != nil {
			return nil, err
		}
		if adopted {
			log.Info("the keys of an earlier version are taken over; remove the older file when that version is no longer used", "file", path, "older", older)
		}
	}
	if _, err := os.Stat(path); c.KeysExist && err != nil {
		return nil, fmt.Errorf("there is no key file %s: publicapi makes it when it starts; -server-key-file or %s gives the keys where they are elsewhere", path, KeyVariables[0])
	}
	return seal.Load(path, func(err error) { log.Error("the key file has changed and cannot be read", "error", err.Error()) })
}

// Secret opens the secret of cursors in the store. Where the store is sealed with other keys it says what to do, so
// that nothing is sealed with keys that the other processes do not have.
func Secret(ctx context.Context, db *store.DB, keys *seal.Keys) ([]byte, error) {
	secret, err := db.Secret(ctx, "cursors", keys)
	if errors.Is(err, seal.ErrKey) {
		return nil, errors.New("the store is sealed with another key: give all processes that share it the same -server-key-file")
	}
	return secret, err
}
