package zone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// Addresses of ICANN's Centralized Zone Data Service.
const (
	CZDS     = "https://czds-api.icann.org"    // links and downloads
	CZDSAuth = "https://account-api.icann.org" // tokens for a user and a password
)

// A Fetcher downloads zone files from the CZDS and builds indexes of them. What was downloaded of a zone stays beside the
// index until it is whole, and a later call goes on from there.
type Fetcher struct {
	Dir      string
	URL      string // of the service; empty: CZDS
	AuthURL  string // empty: CZDSAuth
	Login    Login
	Client   *http.Client // empty: one with the times of this package
	Now      func() time.Time
	Shrunk   bool                                   // as of Build
	Progress func(suffix string, done, total int64) // of the bytes of a download; may be nil
}

// A Login is what the CZDS asks for: a token, or the user and the password that tokens are made for.
type Login struct{ Token, User, Password string }

// ParseLogin reads a file of one line, a token, or of two, a user and a password.
func ParseLogin(text []byte) (Login, error) {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), "\n")
	for _, line := range lines {
		if strings.TrimSpace(line) != line || line == "" {
			return Login{}, errLogin
		}
	}
	switch len(lines) {
	case 1:
		return Login{Token: lines[0]}, nil
	case 2:
		return Login{User: lines[0], Password: lines[1]}, nil
	}
	return Login{}, errLogin
}

var errLogin = errors.New("a file with the login of the CZDS has one line, a token, or two, a user and a password")

// Limits on what the service may answer, and how long it may take.
const (
	fetchTries   = 5                // of one zone, each going on where the one before ended
	fetchStall   = 60 * time.Second // without a byte
	fetchAnswer  = 1 << 20          // bytes of answers that are not zones
	fetchPause   = time.Second      // before the second try; doubled before each further one
	fetchMinimum = 64 << 10         // bytes that make a try count as none: the zone is on its way
	maxZone      = 64 << 30
)

// ErrNotModified is the outcome of a fetch when the zone is the one that the index was made of.
var ErrNotModified = errors.New("the zone has not changed since the index was built")

// A FetchError is a failure that says what to do. It never has a token or an address with one.
type FetchError struct {
	Status int // of HTTP; 0 if there was no answer
	Text   string
}

func (e *FetchError) Error() string { return e.Text }

// Fetch downloads the zone of the suffix and puts the index into place. It fails with [ErrNotModified] where the service has no
// later one.
func (f *Fetcher) Fetch(ctx context.Context, suffix fqdn.Name) (Info, error) {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return Info{}, err
	}
	d := &download{Fetcher: f, suffix: suffix.String(), path: filepath.Join(f.Dir, "."+suffix.String()+".download")}
	if err := d.locate(ctx); err != nil {
		return Info{}, err
	}
	pause := fetchPause
	for try := 1; ; try++ {
		before := d.have()
		err := d.get(ctx)
		if err == nil {
			break
		}
		var final *FetchError
		if errors.As(err, &final) && final.Status != 0 && final.Status < 500 && final.Status != http.StatusTooManyRequests || errors.Is(err, ErrNotModified) || ctx.Err() != nil {
			return Info{}, err
		}
		if d.have() >= before+fetchMinimum {
			try, pause = 1, fetchPause
		}
		if try >= fetchTries {
			return Info{}, err
		}
		select {
		case <-ctx.Done():
			return Info{}, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause *= 2
	}
	return d.build(ctx)
}

// A download is that of one zone. Its file has the bytes so far, the file beside it what they are the beginning of.
type download struct {
	*Fetcher
	suffix, path string
	url          string
	token        string
}

// state is what is known of a download that is not complete, and of that of which the index was made.
type state struct {
	ETag     string    `json:"etag,omitzero"`
	Modified string    `json:"modified,omitzero"` // as the service wrote it
	Size     int64     `json:"size,omitzero"`     // of the whole
	Built    time.Time `json:"built,omitzero"`    // when the index was made of it
}

// validator is what a request for the rest names, so that the rest of another file is not taken (RFC 9110, section 13.1.5).
func (s state) validator() string {
	if s.ETag != "" && !strings.HasPrefix(s.ETag, "W/") {
		return s.ETag
	}
	return s.Modified
}

func (d *download) have() int64 {
	if info, err := os.Stat(d.path); err == nil {
		return info.Size()
	}
	return 0
}

func (d *download) state() (s state) {
	if text, err := os.ReadFile(d.path + ".json"); err == nil {
		_ = json.Unmarshal(text, &s) // what cannot be read is not known
	}
	return s
}

func (d *download) save(s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(d.path+".json", text, 0o600)
}

func (f *Fetcher) now() time.Time {
	if f.Now != nil {
		return f.Now()
	}
	return time.Now()
}

// client is the client for the service: it follows redirects to https, or within loopback, and takes no token elsewhere.
func (f *Fetcher) client() *http.Client {
	if f.Client != nil {
		return f.Client
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = fetchStall
	transport.DisableCompression = true
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 3 || checkURL(req.URL) != nil {
			return errors.New("a redirect that is not followed")
		}
		return nil
	}}
}

// checkURL allows https, and http to loopback.
func checkURL(u *url.URL) error {
	a, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && a.IsLoopback()) {
		return nil
	}
	return &FetchError{Text: "the address of the CZDS is an https URL"}
}

// locate gets a token and finds where the zone is.
func (d *download) locate(ctx context.Context) error {
	if d.token = d.Login.Token; d.token == "" {
		if err := d.authenticate(ctx); err != nil {
			return err
		}
	}
	base := strings.TrimSuffix(d.URL, "/")
	if base == "" {
		base = CZDS
	}
	body, err := d.ask(ctx, http.MethodGet, base+"/czds/downloads/links", nil)
	if err != nil {
		return err
	}
	var links []string
	if err := json.Unmarshal(body, &links); err != nil {
		return &FetchError{Text: "the CZDS answers with something else than a list of zones"}
	}
	for _, link := range links {
		u, err := url.Parse(link)
		if err != nil || checkURL(u) != nil {
			continue
		}
		if name, ok := strings.CutSuffix(u.Path[strings.LastIndexByte(u.Path, '/')+1:], ".zone"); ok && strings.EqualFold(name, d.suffix) {
			d.url = link
			return nil
		}
	}
	return &FetchError{Status: http.StatusNotFound, Text: "the CZDS account has no access to the zone of ." + d.suffix + "; ask for it at https://czds.icann.org"}
}

// authenticate gets a token for the user and the password.
func (d *download) authenticate(ctx context.Context) error {
	base := strings.TrimSuffix(d.AuthURL, "/")
	if base == "" {
		base = CZDSAuth
	}
	login, err := json.Marshal(map[string]string{"username": d.Login.User, "password": d.Login.Password})
	if err != nil {
		return err
	}
	body, err := d.ask(ctx, http.MethodPost, base+"/api/authenticate", login)
	if err != nil {
		return err
	}
	var answer struct {
		AccessToken string `json:"accessToken"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.AccessToken == "" {
		return &FetchError{Text: "the CZDS answers a sign-in without a token"}
	}
	d.token = answer.AccessToken
	return nil
}

// ask makes a small request.
func (d *download) ask(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchStall)
	defer cancel()
	req, err := d.request(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	resp, err := d.client().Do(req)
	if err != nil {
		return nil, failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, fetchAnswer))
	if err != nil {
		return nil, failure(ctx, err)
	}
	return text, nil
}

func (d *download) request(ctx context.Context, method, address string, body []byte) (*http.Request, error) {
	u, err := url.Parse(address)
	if err == nil {
		err = checkURL(u)
	}
	if err != nil {
		return nil, &FetchError{Text: "the address of the CZDS is an https URL"}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, */*;q=0.1")
	req.Header.Set("User-Agent", "namewharf")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	return req, nil
}

// errStalled is the end of an exchange in which nothing came for too long.
var errStalled = &FetchError{Text: fmt.Sprintf("the CZDS has sent nothing for %s", fetchStall)}

// failure is an exchange without an answer. Errors of net/http repeat addresses, which may carry secrets.
func failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) || errors.Is(cause, errStalled) {
		return cause
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return &FetchError{Text: fmt.Sprintf("the CZDS does not answer: %v", err)}
}

// refusal is an answer that is none.
func refusal(status int) error {
	text := fmt.Sprintf("the CZDS answers with status %d", status)
	switch status {
	case http.StatusUnauthorized:
		text = "the CZDS does not take the login (401); a token holds for a day"
	case http.StatusForbidden:
		text = "the CZDS refuses the zone (403); its terms are to be accepted, or access asked for, at https://czds.icann.org"
	case http.StatusTooManyRequests:
		text = "the CZDS was asked too often (429)"
	}
	return &FetchError{Status: status, Text: text}
}

// get downloads the zone, or what is missing of it.
func (d *download) get(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(fetchStall, func() { cancel(errStalled) })
	defer stalled.Stop()
	req, err := d.request(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return err
	}
	known, have := d.state(), d.have()
	switch {
	case have > 0 && known.validator() != "":
		req.Header.Set("Range", "bytes="+strconv.FormatInt(have, 10)+"-")
		req.Header.Set("If-Range", known.validator())
	case have == 0 && !known.Built.IsZero() && d.built():
		if known.ETag != "" {
			req.Header.Set("If-None-Match", known.ETag)
		} else if known.Modified != "" {
			req.Header.Set("If-Modified-Since", known.Modified)
		}
	}
	resp, err := d.client().Do(req)
	if err != nil {
		return failure(ctx, err)
	}
	defer resp.Body.Close()
	s := state{ETag: resp.Header.Get("ETag"), Modified: resp.Header.Get("Last-Modified"), Size: resp.ContentLength}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	switch resp.StatusCode {
	case http.StatusNotModified:
		return ErrNotModified
	case http.StatusRequestedRangeNotSatisfiable: // there is no more of it, or it is another: all again
		if known.Size == have && have > 0 {
			return nil
		}
		os.Remove(d.path)
		return &FetchError{Status: http.StatusServiceUnavailable, Text: "the CZDS has another file than the one that was begun"}
	case http.StatusPartialContent:
		from, size, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || from != have {
			os.Remove(d.path)
			return &FetchError{Status: http.StatusServiceUnavailable, Text: "the CZDS gives another part than the one asked for"}
		}
		mode = os.O_WRONLY | os.O_APPEND
		s.Size = size
	case http.StatusOK:
		have = 0
	default:
		return refusal(resp.StatusCode)
	}
	return d.receive(ctx, resp, s, mode, have, stalled)
}

// receive writes the body of the answer to the file.
func (d *download) receive(ctx context.Context, resp *http.Response, s state, mode int, have int64, stalled *time.Timer) error {
	if s.Size > maxZone {
		return &FetchError{Status: http.StatusOK, Text: "the zone file is too large"}
	}
	if err := d.save(s); err != nil {
		return err
	}
	out, err := os.OpenFile(d.path, mode, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			stalled.Reset(fetchStall)
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
			if have += int64(n); have > maxZone {
				return &FetchError{Status: http.StatusOK, Text: "the zone file is too large"}
			}
			if d.Progress != nil {
				d.Progress(d.suffix, have, s.Size)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return failure(ctx, err)
		}
	}
	if s.Size > 0 && have != s.Size {
		return &FetchError{Text: "the download ended early"}
	}
	return out.Close()
}

// contentRange reads "bytes 5-9/10".
func contentRange(text string) (from, size int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, whole, _ := strings.Cut(text, "/")
	first, _, _ := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	if size, err2 := strconv.ParseInt(whole, 10, 64); err2 == nil {
		return from, size, ok && err == nil
	}
	return from, 0, ok && err == nil
}

// built reports whether there is an index that can be used.
func (d *download) built() bool {
	_, err := Verify(Path(d.Dir, d.suffix))
	return err == nil
}

// build makes the index of what was downloaded and removes it.
func (d *download) build(ctx context.Context) (Info, error) {
	in, err := os.Open(d.path)
	if err != nil {
		return Info{}, err
	}
	defer in.Close()
	s := d.state()
	b := Build{Dir: d.Dir, Suffix: fqdn.MustParse(d.suffix), In: in, Now: d.Now, Shrunk: d.Shrunk}
	if t, err := http.ParseTime(s.Modified); err == nil {
		b.Date = t
	}
	info, err := b.Run(ctx)
	if err != nil {
		if ctx.Err() == nil {
			os.Remove(d.path) // it is no good, and the next download begins anew
			os.Remove(d.path + ".json")
		}
		return Info{}, err
	}
	s.Built = d.now()
	os.Remove(d.path)
	return info, d.save(s)
}
