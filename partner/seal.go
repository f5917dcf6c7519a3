package partner

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFile is the name of the file with the sealing keys in a data directory.
const KeyFile = "partner.key"

// Keys seal what must be kept secret at rest and still be read again: the secrets of partners. The first key seals;
// every key opens what it sealed. They are safe for concurrent use.
//
// As a text, keys stand one a line, 32 random bytes in base64 each; empty lines and those that begin with # do not
// count. To change the key, put a new one first and keep the old ones until nothing is sealed with them.
type Keys struct {
	first keyID
	byID  map[keyID]cipher.AEAD
}

// A keyID names a sealing key inside what it sealed: the first bytes of its SHA-256.
type keyID [4]byte

const (
	keySize     = 32 // AES-256
	blobVersion = 1
	blobHead    = 1 + len(keyID{}) // version and key id
)

// ParseKeys reads keys as a text. It fails where there is none, or where a line is not one.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{byID: map[keyID]cipher.AEAD{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("sealing keys: a line is not %d bytes in base64", keySize)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("sealing keys: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("sealing keys: %w", err)
		}
		sum := sha256.Sum256(raw)
		id := keyID(sum[:])
		if len(k.byID) == 0 {
			k.first = id
		}
		k.byID[id] = aead
	}
	if len(k.byID) == 0 {
		return nil, errors.New("sealing keys: there is no key")
	}
	return k, nil
}

// NewKeys returns keys as a text: one fresh key with a word of explanation.
func NewKeys() string {
	raw := make([]byte, keySize)
	rand.Read(raw)
	return "# Seals the secrets of partners. Keep it as secret as they are, and a copy apart from the database's.\n" +
		base64.StdEncoding.EncodeToString(raw) + "\n"
}

// LoadKeys reads the keys from a file, which it makes, with mode 0600, where there is none. Of several processes that
// make it at once, one does.
func LoadKeys(path string) (*Keys, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKeyFile(path); err == nil {
			text, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sealing keys: %w", err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// makeKeyFile writes the file under another name and links it to its own, so that nobody reads half of it and nobody
// overwrites another's.
func makeKeyFile(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".partner-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.WriteString(NewKeys()); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Seal encrypts a secret for a context, such as the row where it is kept: in another it cannot be opened.
func (k *Keys) Seal(secret, context []byte) []byte {
	aead := k.byID[k.first]
	blob := make([]byte, blobHead+aead.NonceSize(), blobHead+aead.NonceSize()+len(secret)+aead.Overhead())
	blob[0] = blobVersion
	copy(blob[1:], k.first[:])
	nonce := blob[blobHead:]
	rand.Read(nonce)
	return aead.Seal(blob, nonce, secret, context)
}

// Open decrypts what Seal made. It fails on what was changed, was sealed for another context, or was sealed with a key
// that is not among these.
func (k *Keys) Open(blob, context []byte) ([]byte, error) {
	if len(blob) < blobHead || blob[0] != blobVersion {
		return nil, errors.New("open a sealed secret: it is none")
	}
	aead := k.byID[keyID(blob[1:blobHead])]
	if aead == nil {
		return nil, errors.New("open a sealed secret: the key it was sealed with is not among those given")
	}
	if len(blob) < blobHead+aead.NonceSize() {
		return nil, errors.New("open a sealed secret: it is too short")
	}
	nonce, sealed := blob[blobHead:blobHead+aead.NonceSize()], blob[blobHead+aead.NonceSize():]
	secret, err := aead.Open(nil, nonce, sealed, context)
	if err != nil {
		return nil, fmt.Errorf("open a sealed secret: %w", err)
	}
	return secret, nil
}
