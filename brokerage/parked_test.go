package brokerage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages in testdata are written by hand in the manner of real ones.
func TestParkedPages(t *testing.T) {
	t.Parallel()
	for folder, parked := range map[string]bool{"parked": true, "active": false} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.html"))
		if err != nil || len(files) < 6 {
			t.Fatalf("%d pages in %s, %v", len(files), folder, err)
		}
		for _, file := range files {
			page, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := parking.page(page); got != parked {
				t.Errorf("%s: parked %v, want %v; seen: %+v", file, got, parked, readPage(page))
			}
		}
	}
}

func TestParkingHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"ns1.sedoparking.com": true, "NS2.Bodis.com.": true, "sedoparking.com": true,
		"ns1.notsedoparking.com": false, "ns1.sedoparking.com.example": false, "ns1.example.com": false, "": false,
	} {
		if got := parking.nameserver(host); got != want {
			t.Errorf("nameserver %q: parking %v, want %v", host, got, want)
		}
	}
	for host, want := range map[string]bool{"www.hugedomains.com": true, "hugedomains.com.example": false} {
		if got := parking.host(host); got != want {
			t.Errorf("host %q: parking %v, want %v", host, got, want)
		}
	}
}

// Each line of the data file says where it is from, and is good for something.
func TestParkingList(t *testing.T) {
	t.Parallel()
	for i, line := range strings.Split(parkedText, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		_, source, ok := strings.Cut(line, " # ")
		if letters := strings.Fields(source); !ok || len(letters) == 0 || !strings.Contains("MAWHDP", letters[0]) {
			t.Errorf("parked.txt, line %d: no source", i+1)
		}
	}
	for text, fails := range map[string]bool{"ns a.example # M": false, "ns": true, "host  # M": true, "nameserver a.example # M": true} {
		if _, err := parseParking(text); (err != nil) != fails {
			t.Errorf("%q: %v, want a failure: %v", text, err, fails)
		}
	}
	for _, host := range append(append([]string{}, parking.hosts...), parking.nameservers...) {
		if strings.ContainsAny(host, "/ :") || !strings.Contains(host, ".") {
			t.Errorf("%q is no host", host)
		}
	}
}

func FuzzParkedPage(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.html")
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		p := readPage(page)
		if len(p.hosts) > 64 || strings.Contains(p.text, "  ") || p.title != strings.TrimSpace(p.title) {
			t.Errorf("%d hosts, title %q, text %q", len(p.hosts), p.title, p.text)
		}
		parking.page(page)
	})
}
