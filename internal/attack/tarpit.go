package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// tarpits requests client metadata documents from many hosts that accept connections and never answer, repeatedly and from
// several addresses. Beside it, users sign in to applications with good documents, each from its own address and for a
// document that is not cached yet.
func tarpits(ctx context.Context, s *server, size string, r *report) error {
	hosts, addresses, lasts := 60, 6, 8*time.Second
	if size == full {
		hosts, addresses, lasts = 400, 40, 45*time.Second
	}
	documents, err := serveDocuments(filepath.Dir(s.log.Name()))
	if err != nil {
		return err
	}
	defer documents.Close()
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	var attack sync.WaitGroup
	defer attack.Wait()
	for i := range hosts {
		// Each host has its own address, like a site of its own.
		pit, err := net.Listen("tcp", fmt.Sprintf("127.30.%d.%d:0", i>>8, i&0xff))
		if err != nil {
			cancel()
			return err
		}
		attack.Go(func() { acceptSilently(ctx, pit) })
		attack.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				status := s.authorize(ctx, uint16(i%addresses), fmt.Sprintf("https://%s/%d.json", pit.Addr(), n))
				if ctx.Err() == nil {
					r.count("of a slow host: " + status)
				}
				if status == "429" { // which costs the server little
					sleep(ctx, time.Second)
				}
			}
		})
	}
	sleep(ctx, time.Second) // until the fetches hang
	for n := uint16(0); ctx.Err() == nil; n++ {
		began := time.Now()
		status := s.authorize(ctx, 0xff00+n, fmt.Sprintf("https://%s/%d.json", documents.Addr, n))
		switch {
		case ctx.Err() != nil:
		case status == "303": // to the sign-in page: the document was read
			r.signIns = append(r.signIns, time.Since(began))
		default:
			r.failedSignIns++
		}
		sleep(ctx, honestInterval)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// acceptSilently accepts connections and never answers, until ctx ends.
func acceptSilently(ctx context.Context, l net.Listener) {
	var open sync.WaitGroup
	defer open.Wait()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		open.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			_, _ = io.Copy(io.Discard, conn)
		})
	}
}

// authorize sends an authorization request of an application with a metadata document, and returns the status of the answer,
// or why there was none.
func (s *server) authorize(ctx context.Context, from uint16, id string) string {
	conn, err := s.dial(ctx, from)
	if err != nil {
		return "no connection"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	query := url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {"https://app.example/cb"}, "state": {"x"},
		"code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"},
	}
	if _, err := fmt.Fprintf(conn, "GET /oauth/authorize?%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", query.Encode(), s.addr); err != nil {
		return "no connection"
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "no answer"
	}
	_ = answer.Body.Close()
	return fmt.Sprint(answer.StatusCode)
}

// The files of the certificate of the honest documents' server.
const (
	certificateFile = "documents.pem"
	keyFile         = "documents.key"
)

// documentFlags lets the server fetch documents from this machine, with a certificate that it creates in dir.
func documentFlags(dir string) ([]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "documents"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	registry, err := json.Marshal(map[string]any{"allow_private_cidrs": []string{"127.0.0.0/8"}, "ca_file": certificateFile})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "registry.json")
	for name, data := range map[string][]byte{
		filepath.Join(dir, certificateFile): pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		filepath.Join(dir, keyFile):         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		file:                                registry,
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"-registry", file}, nil
}

// serveDocuments starts a server with a good document at every path, without a max age.
func serveDocuments(dir string) (*http.Server, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &http.Server{
		Addr: l.Addr().String(), ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{
				"client_id": "https://" + l.Addr().String() + r.URL.Path, "client_name": "Ember",
				"redirect_uris": []string{"https://app.example/cb"}, "token_endpoint_auth_method": "none",
			})
		}),
	}
	go func() { _ = h.ServeTLS(l, "", "") }()
	return h, nil
}
