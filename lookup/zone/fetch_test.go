package zone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// A czdsServer is a small CZDS: it gives out zones, and breaks off after breakAt bytes.
type czdsServer struct {
	*httptest.Server
	mu       sync.Mutex
	zones    map[string][]byte
	modified time.Time
	breakAt  int // bytes after which a download breaks off; 0: none does
	ranges   []string
	refuse   int  // status for downloads
	ignore   bool // of ranges
}

const czdsToken = "token-of-the-test"

func newCZDS(t *testing.T) *czdsServer {
	t.Helper()
	s := &czdsServer{zones: map[string][]byte{}, modified: zoneDate}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/authenticate", func(w http.ResponseWriter, r *http.Request) {
		var login struct{ Username, Password string }
		if json.NewDecoder(r.Body).Decode(&login) != nil || login.Username != "ada" || login.Password != "secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"accessToken":%q,"message":"Authentication Successful"}`, czdsToken)
	})
	mux.HandleFunc("GET /czds/downloads/links", s.authorized(func(w http.ResponseWriter, r *http.Request) {
		links := []string{"ftp://elsewhere.example/quarry.zone", "http://elsewhere.example/quarry.zone"}
		for name := range s.zones {
			links = append(links, s.URL+"/czds/downloads/"+name+".zone")
		}
		_ = json.NewEncoder(w).Encode(links)
	}))
	mux.HandleFunc("GET /czds/downloads/{file}", s.authorized(s.download))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *czdsServer) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+czdsToken {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func (s *czdsServer) download(w http.ResponseWriter, r *http.Request) {
	zone, ok := s.zones[strings.TrimSuffix(r.PathValue("file"), ".zone")]
	switch {
	case s.refuse != 0:
		http.Error(w, "no", s.refuse)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	w.Header().Set("ETag", fmt.Sprintf(`"%d-%d"`, len(zone), s.modified.Unix()))
	if s.ignore {
		r.Header.Del("Range")
	}
	if s.breakAt > 0 {
		w = &breaking{w, s.breakAt}
	}
	http.ServeContent(w, r, "", s.modified, bytes.NewReader(zone))
}

// breaking breaks the connection off after some bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		_, _ = b.ResponseWriter.Write(p[:b.left])
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

func (s *czdsServer) fetcher(dir string) *Fetcher {
	return &Fetcher{Dir: dir, URL: s.URL, AuthURL: s.URL, Login: Login{Token: czdsToken}, Now: clock}
}

// TestFetch downloads a zone, with a token and with a password, and asks again when there is nothing new, and when there is.
func TestFetch(t *testing.T) {
	t.Parallel()
	s := newCZDS(t)
	s.zones["quarry"] = pack(t, synthetic(t, "quarry", 1000))
	for _, login := range []Login{{Token: czdsToken}, {User: "ada", Password: "secret"}} {
		dir := t.TempDir()
		f := s.fetcher(dir)
		f.Login = login
		info, err := f.Fetch(t.Context(), fqdn.MustParse("quarry"))
		if err != nil || info.Names != 1000 || !info.Date.Equal(zoneDate) {
			t.Fatalf("%+v, %v", info, err)
		}
		if _, err := f.Fetch(t.Context(), fqdn.MustParse("quarry")); !errors.Is(err, ErrNotModified) {
			t.Errorf("the second time: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, ".quarry.download")); err == nil {
			t.Error("the download is left behind")
		}
		if err := os.Remove(Path(dir, "quarry")); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Fetch(t.Context(), fqdn.MustParse("quarry")); err != nil {
			t.Errorf("without the index: %v", err)
		}
	}
	dir := t.TempDir()
	f := s.fetcher(dir)
	if _, err := f.Fetch(t.Context(), fqdn.MustParse("quarry")); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.zones["quarry"], s.modified = pack(t, synthetic(t, "quarry", 1100)), zoneDate.Add(24*time.Hour)
	s.mu.Unlock()
	if info, err := f.Fetch(t.Context(), fqdn.MustParse("quarry")); err != nil || info.Names != 1100 {
		t.Errorf("a later zone: %+v, %v", info, err)
	}
}

// TestFetchGoesOn breaks a download off again and again. Each try goes on where the one before ended, unless the file is
// another by then.
func TestFetchGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title  string
		ignore bool
	}{{"the service takes ranges", false}, {"it does not at the end", true}} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			s := newCZDS(t)
			s.zones["quarry"] = synthetic(t, "quarry", 20_000) // 1.5 MB
			s.breakAt = 400_000
			f := s.fetcher(t.TempDir())
			f.Progress = func(suffix string, done, total int64) {
				if suffix != "quarry" || done > total || total != int64(len(s.zones["quarry"])) {
					t.Errorf("progress of %s: %d of %d", suffix, done, total)
				}
				if c.ignore && done > 600_000 {
					go func() { // once the handler that breaks off has ended
						s.mu.Lock()
						s.ignore, s.breakAt = true, 0
						s.mu.Unlock()
					}()
				}
			}
			info, err := f.Fetch(t.Context(), fqdn.MustParse("quarry"))
			if err != nil || info.Names != 20_000 {
				t.Fatalf("%+v, %v", info, err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.ranges) < 3 || s.ranges[0] != "" || !strings.HasPrefix(s.ranges[1], "bytes=4") {
				t.Errorf("asked for %q", s.ranges)
			}
		})
	}
	t.Run("another file is begun anew", func(t *testing.T) {
		t.Parallel()
		s := newCZDS(t)
		s.zones["quarry"] = pack(t, synthetic(t, "quarry", 500))
		f := s.fetcher(t.TempDir())
		d := filepath.Join(f.Dir, ".quarry.download")
		if err := os.WriteFile(d, []byte("the beginning of another file"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d+".json", []byte(`{"etag":"\"other\"","size":5000}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := f.Fetch(t.Context(), fqdn.MustParse("quarry")); err != nil || info.Names != 500 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// TestFetchRefusals shows what the operator reads when the service does not give the zone. No text has the login.
func TestFetchRefusals(t *testing.T) {
	t.Parallel()
	s := newCZDS(t)
	s.zones["quarry"] = pack(t, []byte("<html>please sign in</html>\n"))
	s.zones["lantern"] = pack(t, synthetic(t, "lantern", 10))
	for _, c := range []struct {
		title  string
		login  Login
		suffix string
		change func(*Fetcher)
		want   string
	}{
		{"a token that is none", Login{Token: "bad-token"}, "quarry", nil, "does not take the login (401)"},
		{"a wrong password", Login{User: "ada", Password: "bad-secret"}, "quarry", nil, "does not take the login (401)"},
		{"a zone without access", Login{Token: czdsToken}, "missing", nil, "no access to the zone of .missing"},
		{"a page in the place of the zone", Login{Token: czdsToken}, "quarry", nil, "delegates no name"},
		{"an address without TLS", Login{Token: czdsToken}, "quarry", func(f *Fetcher) { f.URL = "http://czds.example" }, "is an https URL"},
		{"an address that is none", Login{Token: czdsToken}, "quarry", func(f *Fetcher) { f.URL = "%zz" }, "is an https URL"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			f := s.fetcher(t.TempDir())
			f.Login = c.login
			if c.change != nil {
				c.change(f)
			}
			_, err := f.Fetch(t.Context(), fqdn.MustParse(c.suffix))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "bad-") || strings.Contains(err.Error(), czdsToken) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseLogin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Login{"token\n": {Token: "token"}, "ada\r\nsecret word\r\n": {User: "ada", Password: "secret word"}, "": {}, "a\nb\nc": {}, "a\n\nb": {}} {
		got, err := ParseLogin([]byte(text))
		if got != want || (err != nil) != (want == Login{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A stalled is the body of an answer that never comes.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (stalled) Close() error               { return nil }

// A service that answers and then sends nothing is given up, and the failure says so.
func TestFetchOfAStalledService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := Fetcher{Dir: dir, URL: "https://czds.example", Login: Login{Token: "t"}, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body := io.ReadCloser(stalled{r.Context()})
			if strings.HasSuffix(r.URL.Path, "/links") {
				body = io.NopCloser(strings.NewReader(`["https://czds.example/czds/downloads/quarry.zone"]`))
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
		})}}
		began := time.Now()
		if _, err := f.Fetch(t.Context(), fqdn.MustParse("quarry")); !errors.Is(err, errStalled) {
			t.Errorf("got %v, want %v", err, errStalled)
		}
		if took := time.Since(began); took < fetchTries*fetchStall || took > 2*fetchTries*fetchStall {
			t.Errorf("it took %v, want %d tries of %v", took, fetchTries, fetchStall)
		}
	})
}

// What a build that was killed left is removed by a later one; what another build is writing is not.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".keys.1.part": 2 * abandoned, ".com.2.part": 2 * abandoned, ".net.3.part": time.Minute} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	mustBuild(t, dir, "quarry", synthetic(t, "quarry", 10))
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".net.3.part" {
		t.Errorf("%q are left, %v", left, err)
	}
}
