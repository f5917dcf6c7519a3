package event

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
)

var here = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url             string
		strict, lenient bool // whether it is fine without and with private addresses allowed
	}{
		{"https://example.com/hook?x=1&y=%20", true, true},
		{"https://example.com:8443", true, true},
		{"HTTPS://example.com/", true, true},
		{"https://8.8.8.8/", true, true},
		{"https://[2606:4700::1111]/", true, true},
		{"https://localhost/", true, true}, // the guard at the socket refuses the address
		{"http://example.com/", false, false},
		{"http://localhost:8080/", false, true},
		{"http://127.0.0.1:8080/", false, true},
		{"http://10.1.2.3/", false, false}, // allowed, and not this machine
		{"https://10.1.2.3/", false, true},
		{"https://127.0.0.1/", false, true},
		{"https://192.168.1.1/", false, false},
		{"https://169.254.169.254/latest/meta-data", false, false},
		{"https://[::1]/", false, false},
		{"https://[::ffff:192.168.1.1]/", false, false},
		{"https://[fe80::1%25eth0]/", false, false},
		{"https://0.0.0.0/", false, false},
		{"https://2130706433/", false, false},
		{"https://0x7f.1/", false, false},
		{"https://127.1/", false, false},
		{"https://0177.0.0.1./", false, false},
		{"https://[2606:4700::1%25eth0]/", false, false},
		{"https://user@example.com/", false, false},
		{"https://user:pass@example.com/", false, false},
		{"https://example.com/#part", false, false},
		{"https://example.com/#", false, false},
		{"https://example.com:/", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com/\r\nX-A: b", false, false},
		{"https://bücher.example/", false, false},
		{"https:///path", false, false},
		{"https:example.com", false, false},
		{"//example.com", false, false},
		{"/hook", false, false},
		{"ftp://example.com/", false, false},
		{"file:///etc/passwd", false, false},
		{"", false, false},
		{"https://example.com/" + strings.Repeat("a", MaxURL-20), true, true},
		{"https://example.com/" + strings.Repeat("a", MaxURL-19), false, false},
	} {
		for _, policy := range []struct {
			allow []netip.Prefix
			want  bool
		}{{nil, test.strict}, {here, test.lenient}} {
			err := checkURL(test.url, newClient(Config{Allow: policy.allow}))
			if (err == nil) != policy.want || err != nil && !fault.Is(err, fault.Validation) {
				t.Errorf("%q with %v: got %v, want fine: %v", test.url, policy.allow, err, policy.want)
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]bool{
		strings.Repeat("a", MinSecret-1): false,
		strings.Repeat("a", MinSecret):   true,
		strings.Repeat("ä", MinSecret):   true,
		strings.Repeat("ä", MaxSecret):   true,
		strings.Repeat("a", MaxSecret+1): false,
		"with spaces and such ~!@#$%^":   true,
		"with a line\nfeed in it":        false,
		"0123456789abcdef\x00":           false,
		"0123456789abcdef\xff":           false,
		"":                               false,
	} {
		if err := checkSecret(secret); (err == nil) != want || err != nil && !fault.Is(err, fault.Validation) {
			t.Errorf("%q: got %v, want fine: %v", secret, err, want)
		}
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	body, at := []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)
	// The example of the Standard Webhooks libraries.
	const secret, want = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := StandardSignature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// RFC 4231, section 4.3.
	if got := Signature("Jefe", []byte("what do ya want for nothing?")); got != "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" {
		t.Errorf("got %s", got)
	}
	key := []byte("0123456789abcdef")
	for secret, want := range map[string][]byte{
		"whsec_" + base64.StdEncoding.EncodeToString(key): key,
		"whsec_not base64, though":                        []byte("whsec_not base64, though"),
		"0123456789abcdef":                                key,
	} {
		if got := standardKey(secret); !bytes.Equal(got, want) {
			t.Errorf("the key of %q: got %q, want %q", secret, got, want)
		}
	}
}

// FuzzURL checks that every accepted URL has the properties that the dispatcher needs.
func FuzzURL(f *testing.F) {
	for _, u := range []string{
		"https://example.com/hook", "http://127.0.0.1:1/", "https://[::1]:443/", "https://a@b/", "https://a/#", "https://[fe80::1%25eth0]/",
		"https://0x7f.1/", "https://2130706433/", "https://127.1/", "http://localhost", "https://%31%32%37.0.0.1/", "https://a\\b/",
	} {
		f.Add(u)
	}
	strict, lenient := newClient(Config{}), newClient(Config{Allow: here})
	f.Fuzz(func(t *testing.T, raw string) {
		fine := checkURL(raw, strict) == nil
		if checkURL(raw, lenient) != nil {
			if fine {
				t.Errorf("%q is fine only where private addresses are not", raw)
			}
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(raw) > MaxURL {
			t.Fatalf("%q was accepted: %v", raw, err)
		}
		if fine && u.Scheme != "https" || u.Scheme != "https" && u.Scheme != "http" {
			t.Errorf("%q was accepted with scheme %q", raw, u.Scheme)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && fine && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified()) {
			t.Errorf("%q was accepted", raw)
		}
	})
}

// TestScheduleSpreads draws the waits of the schedule many times: never late, at most a tenth early, not all the same.
func TestScheduleSpreads(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for retries, wait := range schedule {
		seen := map[time.Duration]bool{}
		for range 200 {
			o := deliveryRow{retries: retries}.after(Stream{}, Attempt{}, false, now)
			got := o.due.Sub(now)
			if o.status != Pending || o.retries != retries+1 || got > wait || got < wait-wait/10 {
				t.Fatalf("retry %d: got %s after %v, want pending after %v or up to a tenth less", retries, o.status, got, wait)
			}
			seen[got] = true
		}
		if len(seen) < 50 {
			t.Errorf("retry %d: got %d different waits of 200", retries, len(seen))
		}
	}
	if o := (deliveryRow{retries: len(schedule)}).after(Stream{}, Attempt{}, false, now); o.status != Failed {
		t.Errorf("after the schedule: got %s, want failed", o.status)
	}
	o := outcome{}
	for range 3 * MaxAttempts {
		o = deliveryRow{attempts: o.attempts, attempt: o.attempt}.after(Stream{}, Attempt{LatencyMS: int64(o.attempt)}, true, now)
	}
	if n := len(o.attempts); n != MaxAttempts || o.attempts[n-1].LatencyMS != 3*MaxAttempts-1 {
		t.Errorf("got %d attempts kept up to %+v, want the last %d", n, o.attempts[n-1], MaxAttempts)
	}
}
