// Package seal encrypts what the database must not show, with keys that are stored outside it.
//
// The keys are in one file, for all uses and all processes. The first seals; every key opens what it sealed. A
// process follows the file while it runs: when the key is changed ([AddKey]), it seals with the new one within about a
// second, and opens at once what others have sealed with it. The packages that own the tables then seal their rows
// anew, and a key that no row needs any more is removed ([RemoveKeys]).
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Keys seal what must be kept secret at rest and still be read again. They are safe for concurrent use.
//
// As text, keys are one a line, 32 random bytes in base64 each; empty lines and those that begin with # do not
// count.
type Keys struct {
	keys atomic.Pointer[keySet]
	file *follower // nil: they never change
}

// A keySet is the keys as they were read at one time.
type keySet struct {
	ids  []ID // the first seals
	byID map[ID]cipher.AEAD
}

// An ID names a key inside what it sealed: the first bytes of its SHA-256. It reveals nothing about the key.
type ID [4]byte

// String is the id in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

const (
	keySize     = 32 // AES-256
	blobVersion = 1
	blobHead    = 1 + len(ID{}) // version and key id
)

// Parse reads keys as a text. It fails where there is none, or where a line is not one.
func Parse(text string) (*Keys, error) {
	r, err := parse(text)
	if err != nil {
		return nil, err
	}
	k := &Keys{}
	k.keys.Store(r)
	return k, nil
}

// Random returns one fresh key that is written nowhere: what it seals is opened by this process alone.
func Random() *Keys {
	k, err := Parse(NewText())
	if err != nil {
		panic(err) // NewText writes what Parse reads
	}
	return k
}

func parse(text string) (*keySet, error) {
	r := &keySet{byID: map[ID]cipher.AEAD{}}
	for line := range strings.Lines(text) {
		raw, ok, err := parseLine(line)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("sealing keys: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("sealing keys: %w", err)
		}
		id := idOf(raw)
		if r.byID[id] == nil {
			r.ids = append(r.ids, id)
		}
		r.byID[id] = aead
	}
	if len(r.ids) == 0 {
		return nil, errors.New("sealing keys: there is no key")
	}
	return r, nil
}

// parseLine reads a key; ok is false for a line that does not count.
func parseLine(line string) (raw []byte, ok bool, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil, false, nil
	}
	raw, err = base64.StdEncoding.DecodeString(line)
	if err != nil || len(raw) != keySize {
		return nil, false, fmt.Errorf("sealing keys: a line is not %d bytes in base64", keySize)
	}
	return raw, true, nil
}

func idOf(raw []byte) ID {
	sum := sha256.Sum256(raw)
	return ID(sum[:])
}

const explanation = "# Seals what the database must not show. Keep it as secret as that, and a copy apart from the database's.\n"

// NewText returns keys as a text: one fresh key with a word of explanation.
func NewText() string { return explanation + newLine() }

func newLine() string {
	raw := make([]byte, keySize)
	rand.Read(raw)
	return base64.StdEncoding.EncodeToString(raw) + "\n"
}

// IDs are the keys there are, that which seals first.
func (k *Keys) IDs() []ID { return append([]ID(nil), k.current().ids...) }

// current is the set of keys in the file, at most [followEvery] old.
func (k *Keys) current() *keySet {
	if k.file != nil {
		k.file.refresh(k, followEvery)
	}
	return k.keys.Load()
}

// Refresh reads the file at once if it has changed.
func (k *Keys) Refresh() {
	if k.file != nil {
		k.file.refresh(k, 0)
	}
}

// Seal encrypts a secret for a context, such as the row where it is kept: in another it cannot be opened.
func (k *Keys) Seal(secret, context []byte) []byte {
	r := k.current()
	first := r.ids[0]
	aead := r.byID[first]
	blob := make([]byte, blobHead+aead.NonceSize(), blobHead+aead.NonceSize()+len(secret)+aead.Overhead())
	blob[0] = blobVersion
	copy(blob[1:], first[:])
	nonce := blob[blobHead:]
	rand.Read(nonce)
	return aead.Seal(blob, nonce, secret, context)
}

// ErrKey is the failure to open what was sealed with a key that is not among those given.
var ErrKey = errors.New("the key it was sealed with is not among those given")

// Open decrypts what Seal made. It fails on what was changed or was sealed for another context, and with [ErrKey].
func (k *Keys) Open(blob, context []byte) ([]byte, error) {
	id, ok := IDOf(blob)
	if !ok {
		return nil, errors.New("open a sealed secret: it is none")
	}
	aead := k.current().byID[id]
	if aead == nil && k.file != nil { // another process may have changed the key a moment ago
		k.file.refresh(k, 0)
		aead = k.keys.Load().byID[id]
	}
	if aead == nil {
		return nil, fmt.Errorf("open a sealed secret: %w", ErrKey)
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

// IDOf returns the key with which something was sealed; ok is false for what is not sealed.
func IDOf(blob []byte) (id ID, ok bool) {
	if len(blob) < blobHead || blob[0] != blobVersion {
		return ID{}, false
	}
	return ID(blob[1:blobHead]), true
}

// Head is how everything begins that the key has sealed, for a database to be searched by.
func (id ID) Head() []byte { return append([]byte{blobVersion}, id[:]...) }
