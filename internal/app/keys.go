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

// KeyVariables are the environment variables that may hold the server's keys as text, the older name last.
var KeyVariables = []string{"NAMEWHARF_SERVER_KEYS", "NAMEWHARF_PARTNER_KEYS"}

// olderKeyFile is the earlier name of [seal.FileName], from when the keys encrypted only partners' secrets.
const olderKeyFile = "partner.key"

// KeysFlag defines the flags for the file with the server's keys.
func (c *Config) KeysFlag(fs *flag.FlagSet) {
	fs.StringVar(&c.KeysFile, "server-key-file", "", "`file` with the keys that encrypt secrets in the store, the same for all processes (default "+seal.FileName+" in the data directory, created if missing); "+KeyVariables[0]+" holds them as a text instead")
	fs.StringVar(&c.olderKeysFile, "partner-keys-file", "", "older name of -server-key-file")
}

// KeysPath returns the file with the server's keys; data is the data directory. It is empty if the environment holds them.
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

// keysText returns the environment variable that holds keys, and its value.
func keysText(environ func(string) (string, bool)) (name, text string) {
	for _, name := range KeyVariables {
		if text, ok := environ(name); ok {
			return name, text
		}
	}
	return "", ""
}

// Keys returns the server's keys, from the file or the environment; data is the data directory. It copies the key file of an
// earlier version there.
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
			log.Info("the key file of an earlier version was copied; remove the older file when that version is no longer used", "file", path, "older", older)
		}
	}
	if _, err := os.Stat(path); c.KeysExist && err != nil {
		return nil, fmt.Errorf("there is no key file %s: publicapi creates it when it starts; if the keys are in another place, set -server-key-file or %s", path, KeyVariables[0])
	}
	return seal.Load(path, func(err error) { log.Error("the key file has changed and cannot be read", "error", err.Error()) })
}

// Secret returns the secret that encrypts cursors, from the store. It fails if the store is encrypted with other keys, so that
// this process writes nothing that the other processes cannot decrypt.
func Secret(ctx context.Context, db *store.DB, keys *seal.Keys) ([]byte, error) {
	secret, err := db.Secret(ctx, "cursors", keys)
	if errors.Is(err, seal.ErrKey) {
		return nil, errors.New("the store is encrypted with another key: give all processes that share it the same -server-key-file")
	}
	return secret, err
}
