package oauthas

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Prefixes of secrets, by which scanners recognise a leaked one.
const (
	codePrefix    = "nw_ac_"
	accessPrefix  = "nw_at_"
	refreshPrefix = "nw_rt_"

	interactionPrefix = "nw_in_"
)

// secretSize is the size of every secret: 256 bits cannot be guessed, so a fast hash is enough to store them.
const secretSize = 32

const prefixSize = len(codePrefix)

// secretLength is the number of characters of a secret in text.
var secretLength = prefixSize + base64.RawURLEncoding.EncodedLen(secretSize)

// A digest is the SHA-256 of a secret. The database stores only digests.
type digest [sha256.Size]byte

func digestOf(secret string) digest {
	var buf [64]byte // avoids an allocation for well-formed secrets
	return sha256.Sum256(append(buf[:0], secret...))
}

// newSecret returns a fresh secret.
func newSecret(prefix string) string {
	var b [secretSize]byte
	rand.Read(b[:])
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// wellFormed reports whether s may be a secret with that prefix; if not, there is no need to query the database.
func wellFormed(s, prefix string) bool {
	if len(s) != secretLength || !strings.HasPrefix(s, prefix) {
		return false
	}
	return base64url(s[prefixSize:])
}

// base64url reports whether s has only characters of base64url (RFC 4648, section 5).
func base64url(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// successor is the refresh token that follows the given one. It needs both the salt, which is stored, and the token, which is
// not.
func successor(token string, salt []byte) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(token))
	return refreshPrefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// newSalt returns a random salt for [successor].
func newSalt() []byte {
	salt := make([]byte, secretSize)
	rand.Read(salt)
	return salt
}
