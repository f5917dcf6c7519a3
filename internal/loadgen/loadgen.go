// Package loadgen generates load on the partner API. It speaks a minimum of HTTP, so that the load costs little on the
// machine of the server under test.
package loadgen

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/partner/signature"
)

// Root is the path of the partner API.
const Root = "/api/partner/v1"

// A Line is a connection to a server. One goroutine at a time sends signed requests and reads the responses.
type Conn struct {
	by   signature.Credential
	conn net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

// An Answer is the server's response.
type Response struct {
	Status   int
	Replayed bool   // the stored answer to an earlier request
	Body     []byte // valid until the next request on the connection
}

// timeout limits one request.
const timeout = 30 * time.Second

// Dial connects to a server. Requests are signed with the credential.
func Dial(address string, by signature.Credential) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	return &Conn{by: by, conn: conn, in: bufio.NewReader(conn)}, nil
}

// Close ends the connection.
func (l *Conn) Close() error { return l.conn.Close() }

// Do signs and sends a request with a fresh nonce, and reads the response. The target is a path with a query in canonical
// form; body and idempotency key may be empty. After an error the connection is unusable, and the request may have taken
// effect.
func (l *Conn) Do(method, target, body, key string) (Response, error) {
	var err error
	if l.out, err = AppendRequest(l.out[:0], l.by, method, target, body, key); err != nil {
		return Response{}, err
	}
	return l.Send(l.out)
}

// AppendRequest appends the bytes of a signed request, for [Conn.Send].
func AppendRequest(to []byte, by signature.Credential, method, target, body, key string) ([]byte, error) {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	s := signature.Request{
		Method: method, Nonce: hex.EncodeToString(raw[:]), Timestamp: strconv.FormatInt(time.Now().Unix(), 10),
		Body: signature.BodyDigest(method, []byte(body)),
	}
	s.Path, s.Query, _ = strings.Cut(target, "?")
	canonical, err := s.Canonical()
	if err != nil {
		return nil, err
	}
	to = fmt.Appendf(to, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n", method, target,
		signature.HeaderKeyID, by.KeyID, signature.HeaderTimestamp, s.Timestamp, signature.HeaderNonce, s.Nonce,
		signature.HeaderSignature, signature.Sign(by.Secret, canonical))
	if body != "" {
		to = fmt.Appendf(to, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	if key != "" {
		to = fmt.Appendf(to, "%s: %s\r\n", signature.HeaderIdempotencyKey, key)
	}
	return append(append(to, "\r\n"...), body...), nil
}

// Send sends the bytes of a request and reads the response.
func (l *Conn) Send(request []byte) (Response, error) {
	if err := l.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return Response{}, err
	}
	if _, err := l.conn.Write(request); err != nil {
		return Response{}, err
	}
	return l.readResponse()
}

func (l *Conn) readResponse() (a Response, err error) {
	status, err := l.in.ReadSlice('\n')
	if err != nil {
		return Response{}, err
	}
	if len(status) < len("HTTP/1.1 200") {
		return Response{}, errors.New("no status line")
	}
	if a.Status, err = strconv.Atoi(string(status[9:12])); err != nil {
		return Response{}, err
	}
	length := -1
	for {
		field, err := l.in.ReadSlice('\n')
		if err != nil {
			return Response{}, err
		}
		if len(field) == 2 {
			break
		}
		if value, ok := bytes.CutPrefix(field, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return Response{}, err
			}
		}
		a.Replayed = a.Replayed || bytes.HasPrefix(field, []byte("Idempotency-Replayed: true"))
	}
	if length < 0 {
		return Response{}, errors.New("an answer without a length")
	}
	l.body = slices.Grow(l.body[:0], length)[:length]
	a.Body = l.body
	_, err = io.ReadFull(l.in, l.body)
	return a, err
}
