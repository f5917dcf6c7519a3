package backend

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/namewharf/namewharf/partner"
)

// KeysVariable is the environment variable that may hold the keys that seal partners' secrets, as a text.
const KeysVariable = "NAMEWHARF_PARTNER_KEYS"

// KeysFlag defines the flag for the file with the keys that seal partners' secrets.
func (c *Config) KeysFlag(fs *flag.FlagSet) {
	fs.StringVar(&c.KeysFile, "partner-keys-file", "", "`file` with the keys that seal partners' secrets, the same for all processes (default "+partner.KeyFile+" in the data directory, made if need be); "+KeysVariable+" holds them as a text instead")
}

// Keys are the keys that seal partners' secrets, from the environment or the file; data is the data directory.
func (c *Config) Keys(environ func(string) (string, bool), data string) (*partner.Keys, error) {
	if text, ok := environ(KeysVariable); ok && c.KeysFile == "" {
		keys, err := partner.ParseKeys(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", KeysVariable, err)
		}
		return keys, nil
	}
	file := cmp.Or(c.KeysFile, filepath.Join(data, partner.KeyFile))
	if c.KeysExist {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("there is no key file %s: publicapi makes it when it starts; -partner-keys-file or %s gives the keys where they are elsewhere", file, KeysVariable)
		}
	}
	if c.KeysFile == "" && !c.KeysExist {
		if err := os.MkdirAll(data, 0o700); err != nil { // with PostgreSQL it need not be there yet
			return nil, err
		}
	}
	keys, err := partner.LoadKeys(file)
	if err != nil {
		return nil, fmt.Errorf("-partner-keys-file: %w", err)
	}
	return keys, nil
}
