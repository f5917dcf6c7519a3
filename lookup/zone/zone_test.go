package zone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/namewharf/namewharf/fqdn"
)

var zoneDate = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func clock() time.Time { return zoneDate.Add(12 * time.Hour) }

// build makes an index of the text.
func build(t testing.TB, dir, suffix string, text []byte) (Info, error) {
	t.Helper()
	return Build{Dir: dir, Suffix: fqdn.MustParse(suffix), In: bytes.NewReader(text), Now: clock}.Run(t.Context())
}

func mustBuild(t testing.TB, dir, suffix string, text []byte) Info {
	t.Helper()
	info, err := build(t, dir, suffix, text)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func openIndex(t testing.TB, dir string) *Index {
	t.Helper()
	ix, err := Open(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func pack(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func synthetic(t testing.TB, suffix string, n uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Synthetic(&b, suffix, n, zoneDate); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const czds = `quarry.			86400	in	soa	a.nic.quarry. hostmaster.nic.quarry. 2026110103 1800 900 604800 86400
quarry.	172800	in	ns	a.nic.quarry.
a.nic.quarry.	172800	in	a	192.0.2.53
nic.quarry.	172800	in	ns	a.nic.quarry.
lantern.quarry.	172800	in	ns	ns1.lantern.quarry.
lantern.quarry.	172800	in	ns	ns2.example.
lantern.quarry.	86400	in	ds	12345 8 2 0123456789ABCDEF
ns1.lantern.quarry.	172800	in	a	192.0.2.1
XN--BCHER-KVA.quarry.	172800	IN	NS	ns2.example.
sub.lantern.quarry.	172800	in	ns	ns2.example.
onlyglue.quarry.	172800	in	a	192.0.2.1
signed.quarry.	86400	in	nsec3	1 0 1 AB C D
`

// TestFormats reads the same names from files of every form that is taken.
func TestFormats(t *testing.T) {
	t.Parallel()
	relative := `; a zone by hand
$TTL 1d
$ORIGIN quarry.
@	IN	SOA	a.nic hostmaster.nic (
		2026110103 ; serial
		1800 900 "a ) quoted" 604800
		86400 )
	IN	NS	a.nic
nic	172800	NS	a.nic
	IN	A	192.0.2.1
lantern	IN 172800 NS ns1.lantern ; a comment with ( in it
$ORIGIN
`
	for _, c := range []struct {
		title, text string
		date        time.Time
	}{
		{"as the CZDS gives it", czds, zoneDate},
		{"without a newline at its end", strings.TrimSuffix(czds, "\n"), zoneDate},
		{"with CR LF", strings.ReplaceAll(czds, "\n", "\r\n"), zoneDate},
		{"in upper case", strings.ToUpper(czds), zoneDate},
		{"with names relative to an origin", strings.TrimSuffix(relative, "$ORIGIN\n") + "xn--bcher-kva IN NS ns2.example.\n", zoneDate},
		{"a list", "# names\nnic.quarry\nlantern.quarry.\nLANTERN.quarry\nbücher.quarry\n\n", clock()},
		{"a list of labels", "nic\nlantern\nxn--bcher-kva\n", clock()},
		{"with a serial in seconds", strings.ReplaceAll(czds, "2026110103", fmt.Sprint(zoneDate.Add(3*time.Hour).Unix())), zoneDate.Add(3 * time.Hour)},
		{"with a serial that is a counter", strings.ReplaceAll(czds, "2026110103", "4711"), clock()},
		{"with a serial of another century", strings.ReplaceAll(czds, "2026110103", "4294967295"), clock()},
	} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed %t", c.title, packed), func(t *testing.T) {
				t.Parallel()
				dir, text := t.TempDir(), []byte(c.text)
				if packed {
					text = pack(t, text)
				}
				info := mustBuild(t, dir, "quarry", text)
				if info.Names != 3 || !info.Date.Equal(c.date) {
					t.Errorf("%d names of %v, want 3 of %v", info.Names, info.Date, c.date)
				}
				ix := openIndex(t, dir)
				for name, want := range map[string]bool{
					"nic.quarry": true, "lantern.quarry": true, "bücher.quarry": true, "onlyglue.quarry": false, "signed.quarry": false, "sub.quarry": false, "ns1.quarry": false,
				} {
					present, loaded, date := ix.Look(fqdn.MustParse(name))
					if present != want || !loaded || !date.Equal(info.Date) {
						t.Errorf("%s: present %t, loaded %t, of %v", name, present, loaded, date)
					}
				}
				if _, loaded, _ := ix.Look(fqdn.MustParse("lantern.com")); loaded {
					t.Error("another suffix is loaded")
				}
				if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// TestRefusedFiles builds from files that are no zones. The index before stays.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustBuild(t, dir, "quarry", synthetic(t, "quarry", 1000))
	packed := pack(t, synthetic(t, "quarry", 1000))
	wrong := bytes.Clone(packed)
	wrong[len(wrong)/2] ^= 0x40
	index, err := os.ReadFile(Path(dir, "quarry"))
	if err != nil {
		t.Fatal(err)
	}
	for title, c := range map[string]struct {
		text []byte
		want string
	}{
		"nothing":                     {nil, "delegates no name"},
		"a page":                      {[]byte("<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n<body>Please sign in.</body></html>\n"), "lines are no records"},
		"JSON":                        {[]byte("{\"message\": \"not authorized\"}\n"), "lines are no records"},
		"gzip cut short":              {packed[:len(packed)/2], "cut short"},
		"gzip with a wrong byte":      {wrong, "file"},
		"the zone of another TLD":     {synthetic(t, "lantern", 100), "the zone of \"lantern\""},
		"a list of another TLD":       {[]byte("a.lantern\nb.lantern\nc.lantern\n"), "no names of .quarry"},
		"an open record":              {[]byte(czds + "x.quarry. IN TXT ( \"a\"\n"), "not closed"},
		"a record that closes twice":  {[]byte(czds + "x.quarry. IN TXT ( \"a\" ) )\n"), "was not opened"},
		"an index":                    {index, "already"},
		"an include":                  {[]byte("$INCLUDE /etc/passwd\n" + czds), "$INCLUDE is not understood"},
		"a line without end":          {bytes.Repeat([]byte("a"), 2<<20), "longer than"},
		"a zone that lost most names": {synthetic(t, "quarry", 100), "less than half"},
	} {
		t.Run(title, func(t *testing.T) {
			_, err := build(t, dir, "quarry", c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if info, err := Verify(Path(dir, "quarry")); err != nil || info.Names != 1000 {
				t.Errorf("the index before is %v, %v", info, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	b := Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: bytes.NewReader(synthetic(t, "quarry", 100)), Now: clock, Shrunk: true}
	if info, err := b.Run(t.Context()); err != nil || info.Names != 100 {
		t.Errorf("a zone that shrank, with Shrunk: %v, %v", info, err)
	}
}

// TestEveryByteCounts changes single bytes of an index, and cuts it. None of it is taken, and none of it faults.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustBuild(t, dir, "quarry", []byte("a\nb\nc\n"))
	good, err := os.ReadFile(Path(dir, "quarry"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "changed")
	try := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Verify(path)
		return err
	}
	if err := try(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if padding := i >= headerSize+shardSize+4 && bytes.Equal(bad[:i], good[:i]) && i < int(align(headerSize+shardSize+4)); padding {
			continue
		}
		if try(bad) == nil {
			t.Errorf("byte %d may be wrong", i)
		}
		if try(good[:i]) == nil {
			t.Errorf("%d of %d bytes are taken", i, len(good))
		}
	}
}

// TestBrokenFilesAreNotServed puts broken files into the directory of a running index, and a good one at last.
func TestBrokenFilesAreNotServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustBuild(t, dir, "quarry", synthetic(t, "quarry", 5000))
	ix := openIndex(t, dir)
	name, missing := fqdn.MustParse(SyntheticLabel(4999)+".quarry"), fqdn.MustParse("missing.quarry")
	good, err := os.ReadFile(Path(dir, "quarry"))
	if err != nil {
		t.Fatal(err)
	}
	place := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "new"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), Path(dir, "quarry")); err != nil {
			t.Fatal(err)
		}
	}
	for title, data := range map[string][]byte{"cut": good[:len(good)/2], "empty": nil, "text": []byte("lantern.quarry\n"), "a wrong byte": append(bytes.Clone(good[:len(good)-1]), ^good[len(good)-1])} {
		place(data)
		changed, err := ix.Reload()
		if changed || err == nil || !strings.Contains(err.Error(), "the one before stays in force") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: changed %t, %v", title, changed, err)
		}
		if _, err := ix.Reload(); err != nil {
			t.Errorf("%s: it is reported twice: %v", title, err)
		}
		if present, loaded, _ := ix.Look(name); !present || !loaded {
			t.Errorf("%s: the index before is gone", title)
		}
	}
	mustBuild(t, dir, "quarry", synthetic(t, "quarry", 6000))
	if changed, err := ix.Reload(); !changed || err != nil || ix.Files()[0].Names != 6000 {
		t.Errorf("changed %t, %v", changed, err)
	}
	if present, loaded, _ := ix.Look(missing); present || !loaded {
		t.Error("a name that is not in the zone is present")
	}
	// Cut where it is: what is in memory faults, and the index says that it has no file.
	if err := os.Truncate(Path(dir, "quarry"), 10); err != nil {
		t.Fatal(err)
	}
	if _, loaded, _ := ix.Look(name); loaded {
		t.Error("a file that was cut short in its place still answers")
	}
	if err := os.Remove(Path(dir, "quarry")); err != nil {
		t.Fatal(err)
	}
	if changed, err := ix.Reload(); !changed || err != nil || len(ix.Files()) != 0 {
		t.Errorf("after removal: changed %t, %v, %v", changed, err, ix.Files())
	}
}

// TestOverlay learns names since the date of the zone.
func TestOverlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustBuild(t, dir, "quarry", synthetic(t, "quarry", 100))
	now := clock()
	ix, err := Open(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	fresh, dropped := fqdn.MustParse("fresh.quarry"), fqdn.MustParse(SyntheticLabel(1)+".quarry")
	ix.Learn(fresh, true)
	ix.Learn(dropped, false)
	ix.Learn(fqdn.MustParse("fresh.com"), true) // of no zone
	if present, loaded, date := ix.Look(fresh); !present || !loaded || !date.IsZero() {
		t.Errorf("a name that was learnt: present %t, loaded %t, of %v", present, loaded, date)
	}
	if present, loaded, _ := ix.Look(dropped); present || !loaded {
		t.Errorf("a name that was dropped: present %t, loaded %t", present, loaded)
	}
	later := Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: bytes.NewReader(synthetic(t, "quarry", 100)), Now: func() time.Time { return now.Add(96 * time.Hour) }}
	text := strings.ReplaceAll(string(synthetic(t, "quarry", 100)), "20261101", "20261103")
	later.In = strings.NewReader(text)
	if _, err := later.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Reload(); err != nil {
		t.Fatal(err)
	}
	if present, _, _ := ix.Look(fresh); present {
		t.Error("a later zone does not have the name, but what was learnt before counts")
	}
	if present, _, _ := ix.Look(dropped); !present {
		t.Error("a later zone has the name, but what was learnt before counts")
	}
	for i := range uint64(3 * overlayParts * overlayNames / 2) {
		ix.Learn(fqdn.MustParse(SyntheticLabel(i)+".quarry"), true)
	}
	total := 0
	for i := range ix.overlay.parts {
		total += len(ix.overlay.parts[i].names)
	}
	if total > overlayParts*overlayNames {
		t.Errorf("%d names are kept", total)
	}
}

// TestSwapUnderLoad replaces an index of several shards again and again while it is asked. No name of the zone is ever
// missing.
func TestSwapUnderLoad(t *testing.T) {
	t.Parallel()
	names := uint64(200_000)
	if testing.Short() {
		names = 20_000
	}
	dir := t.TempDir()
	text := synthetic(t, "quarry", names)
	mustBuild(t, dir, "quarry", text)
	ix := openIndex(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	var asked, missing atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if present, loaded, _ := ix.Look(fqdn.MustParse(SyntheticLabel(rand.Uint64N(names)) + ".quarry")); !present || !loaded {
					missing.Add(1)
				}
				asked.Add(1)
			}
		})
	}
	for i := range 8 {
		in := io.Reader(bytes.NewReader(text))
		if i%4 == 1 { // broken: refused
			in = bytes.NewReader(text[:len(text)/3])
		}
		_, err := Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: in, Now: clock}.Run(ctx)
		if (err != nil) != (i%4 == 1) || err != nil && !errors.Is(err, ErrShrunk) {
			t.Error(err)
		}
		if _, err := ix.Reload(); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	if missing.Load() > 0 || asked.Load() == 0 {
		t.Errorf("%d of %d names were missing", missing.Load(), asked.Load())
	}
}

// TestShards builds an index of two shards and asks for all names and as many others.
func TestShards(t *testing.T) {
	if testing.Short() {
		t.Skip("two million names take seconds")
	}
	t.Parallel()
	const names = 2*shardNames + 1000
	dir := t.TempDir()
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(Synthetic(pw, "quarry", names, zoneDate)) }()
	info, err := Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: pr, Now: clock}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if perName := float64(info.Bytes) / float64(info.Names); info.Names != names || perName > 2.3 {
		t.Errorf("%d names, %.3f bytes a name", info.Names, perName)
	}
	f, err := openFile(info.Path)
	if err != nil || len(f.filters) != 2 {
		t.Fatal(err, len(f.filters))
	}
	ix := openIndex(t, dir)
	wrong := 0
	for i := range uint64(names) {
		if present, _, _ := ix.Look(fqdn.MustParse(SyntheticLabel(i) + ".quarry")); !present {
			t.Fatalf("name %d is missing", i)
		}
		if present, _, _ := ix.Look(fqdn.MustParse(SyntheticLabel(names+i) + ".quarry")); present {
			wrong++
		}
	}
	if rate := float64(wrong) / names; rate > 3.0/65536 {
		t.Errorf("%d of %d other names are present", wrong, names)
	}
}

// FuzzMasterFile shows that no text makes the reader panic, and that what it emits are labels in lower case.
func FuzzMasterFile(f *testing.F) {
	f.Add([]byte(czds))
	f.Add([]byte("a\nb.quarry\n"))
	f.Add([]byte("$ORIGIN x\n@ IN SOA ( a\n"))
	f.Add(pack(f, []byte(czds)))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = readNames(bytes.NewReader(text), "quarry", func(label []byte) error {
			if len(label) == 0 || bytes.IndexByte(label, '.') >= 0 || !bytes.Equal(label, bytes.Map(lower, label)) {
				t.Errorf("label %q", label)
			}
			return nil
		})
	})
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// FuzzIndexFile shows that no file makes the index fault or panic.
func FuzzIndexFile(f *testing.F) {
	dir := f.TempDir()
	mustBuild(f, dir, "quarry", []byte("a\nb\nc\n"))
	good, err := os.ReadFile(Path(dir, "quarry"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:400])
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := newFile(data); err == nil {
			for key := range uint64(64) {
				file.has(key << 58)
			}
		}
	})
}
