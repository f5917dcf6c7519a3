package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Signature is the value of X-Service-Signature: the HMAC-SHA256 of the body with the secret as key, in lower-case hex.
func Signature(secret string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// StandardSignature is the value of webhook-signature (Standard Webhooks 1.0) for an event sent at a time: the HMAC-SHA256 of
// "id.timestamp.body". The key is the base64 text after whsec_ in the secret, or else the secret itself.
func StandardSignature(secret, id string, at time.Time, body []byte) string {
	h := hmac.New(sha256.New, standardKey(secret))
	h.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	h.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func standardKey(secret string) []byte {
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(coded); err == nil {
			return key
		}
	}
	return []byte(secret)
}
