// Command sign is an example: it sends a signed request to the partner API and prints the answer.
//
//	go run ./examples/partner/sign METHOD PATH[?QUERY] [BODY [IDEMPOTENCY-KEY]]
//
// NAMEWHARF_BASE_URL, NAMEWHARF_KEY_ID and NAMEWHARF_PARTNER_SECRET are read from the environment.
package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) < 2 || len(args) > 4 {
		return errors.New("usage: sign METHOD PATH[?QUERY] [BODY [IDEMPOTENCY-KEY]]")
	}
	args = append(args, "", "")
	body := args[2]
	r, err := http.NewRequest(args[0], os.Getenv("NAMEWHARF_BASE_URL")+args[1], strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key := args[3]; key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if err := sign(r, body, os.Getenv("NAMEWHARF_KEY_ID"), os.Getenv("NAMEWHARF_PARTNER_SECRET")); err != nil {
		return err
	}
	client := http.Client{Timeout: 30 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(stdout, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= 400 {
		return errors.New(answer.Status)
	}
	return nil
}

// sign sets the headers, and sends the query as it is signed.
func sign(r *http.Request, body, keyID, secret string) error {
	query, err := canonicalQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	r.URL.RawQuery = query
	timestamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()
	digest := sha256.Sum256([]byte(body))
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), query, timestamp, nonce, hex.EncodeToString(digest[:])}, "\n")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(canonical))
	r.Header.Set("X-Service-Key-Id", keyID)
	r.Header.Set("X-Service-Timestamp", timestamp)
	r.Header.Set("X-Service-Nonce", nonce)
	r.Header.Set("X-Service-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))
	return nil
}

func canonicalQuery(raw string) (string, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return "", err
	}
	encode := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, value := range slices.Sorted(slices.Values(values[key])) {
			pairs = append(pairs, encode(key)+"="+encode(value))
		}
	}
	return strings.Join(pairs, "&"), nil
}
