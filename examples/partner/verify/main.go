// Command verify is an example: it receives webhooks and verifies their signatures.
//
//	go run ./examples/partner/verify [PORT]
//
// NAMEWHARF_WEBHOOK_SECRET is the secret with which the webhook was registered.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	port := "0"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := http.Server{Handler: receiver(os.Getenv("NAMEWHARF_WEBHOOK_SECRET")), ReadTimeout: 10 * time.Second}
	fmt.Fprintln(os.Stderr, "verify:", server.Serve(listener))
	os.Exit(1)
}

// receiver answers 200 to webhooks that were signed with the secret, else 401.
func receiver(secret string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !byService(secret, r.Header, body) || !byStandard(secret, r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct{ ID, Type string }
		if err := json.Unmarshal(body, &event); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		// Store the event by its id, which may arrive twice, and process it after the answer.
		fmt.Println(event.Type, event.ID)
	}
}

// byService verifies X-Service-Signature, which covers the body.
func byService(secret string, h http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	want := hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(want), []byte(h.Get("X-Service-Signature")))
}

// byStandard verifies webhook-signature, which covers the timestamp too and so prevents replays.
func byStandard(secret string, h http.Header, body []byte) bool {
	id, timestamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)).Abs(); err != nil || age > 5*time.Minute {
		return false
	}
	key := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err = base64.StdEncoding.DecodeString(coded); err != nil {
			return false
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for given := range strings.FieldsSeq(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(want), []byte(given)) {
			return true
		}
	}
	return false
}
