package settings_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/settings"
)

func TestParse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings.toml")
	if err := os.WriteFile(file, []byte("base-url = \"from file\"\nlist = [\"a\", \"b\"]\nmode = \"closed\"\ndemo = true\nrate_per_host = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(bad, []byte("a = 1\nb ="), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args string
		env  map[string]string
		want string
	}{
		{"defaults", "", nil, "base=: list=: mode=open: demo=false: rate=2: []"},
		{"flags", "-base-url=x -list a,b, -mode closed -demo -rate-per-host 4", nil, "base=x: list=a,b: mode=closed: demo=true: rate=4: []"},
		{"the environment", "", map[string]string{"NAMEWHARF_BASE_URL": "env", "NAMEWHARF_DEMO": "true"}, "base=env: list=: mode=open: demo=true: rate=2: []"},
		{"a flag wins over the environment", "-base-url flag", map[string]string{"NAMEWHARF_BASE_URL": "env"}, "base=flag: list=: mode=open: demo=false: rate=2: []"},
		{"the file", "-config " + file, nil, "base=from file: list=a,b: mode=closed: demo=true: rate=3: []"},
		{"the environment wins over the file", "-config " + file, map[string]string{"NAMEWHARF_BASE_URL": "env"}, "base=env: list=a,b: mode=closed: demo=true: rate=3: []"},
		{"the file is named by the environment", "", map[string]string{"NAMEWHARF_CONFIG": file}, "base=from file: list=a,b: mode=closed: demo=true: rate=3: []"},
		{"flags between and behind words", "order -demo list -mode invite one", nil, "base=: list=: mode=invite: demo=true: rate=2: [order list one]"},
		{"two hyphens end the flags", "list -demo -- -mode x", nil, "base=: list=: mode=open: demo=true: rate=2: [list -mode x]"},
		{"an unknown flag", "-nope", nil, "error: flag provided but not defined: -nope; -h lists the flags"},
		{"a bad value", "-mode ajar", nil, `error: invalid value "ajar" for flag -mode: must be one of open, invite, closed; -h lists the flags`},
		{"a bad value in the environment", "", map[string]string{"NAMEWHARF_DEMO": "maybe"}, `error: environment variable NAMEWHARF_DEMO: parse error`},
		{"no such file", "-config /nowhere.toml", nil, "error: -config: open /nowhere.toml: no such file or directory"},
		{"a broken file", "-config " + bad, nil, "error: -config " + bad + ", line 2: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			var list settings.List
			fs.Var(&list, "list", "a list")
			base, demo, rate := fs.String("base-url", "", ""), fs.Bool("demo", false, ""), fs.Int("rate-per-host", 2, "")
			mode := settings.OneOf(fs, "mode", "a choice", "open", "invite", "closed")
			rest, err := settings.Parse(fs, strings.Fields(test.args), func(name string) (string, bool) { v, ok := test.env[name]; return v, ok }, t.Output())
			got := fmt.Sprintf("base=%s: list=%s: mode=%s: demo=%v: rate=%d: %v", *base, list.String(), mode.Value, *demo, *rate, rest)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != test.want && (err == nil || !strings.HasPrefix(got, test.want)) {
				t.Errorf("Parse(%s)\n got %s\nwant %s", test.args, got, test.want)
			}
		})
	}
}

func TestUnknownKeyInTheFileIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings.toml")
	if err := os.WriteFile(file, []byte("adr = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.String("addr", "", "")
	_, err := settings.Parse(fs, []string{"-config", file}, func(string) (string, bool) { return "", false }, t.Output())
	if err == nil || !strings.HasSuffix(err.Error(), "unknown key adr; did you mean addr?; known are addr") {
		t.Errorf("got %v", err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	fs := flag.NewFlagSet("wharf", flag.ContinueOnError)
	fs.String("addr", "127.0.0.1:8080", "where to listen")
	var out strings.Builder
	_, err := settings.Parse(fs, []string{"-h"}, func(string) (string, bool) { return "", false }, &out)
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "where to listen") {
		t.Errorf("got %v, %s", err, &out)
	}
}

// A misspelt variable used to be ignored silently.
func TestCheckEnvironment(t *testing.T) {
	t.Parallel()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.String("only-here", "", "")
	for variable, want := range map[string]string{
		"NAMEWHARF_DATA=/x": "", "NAMEWHARF_ONLY_HERE=1": "", "NAMEWHARF_TOKEN=t": "", "NAMEWHARF_TEST_POSTGRES=x": "", "PATH=/bin": "", "NAMEWHARFDATA=": "",
		"NAMEWHARF_DAAT=/x":     "the environment variable NAMEWHARF_DAAT means nothing here; did you mean NAMEWHARF_DATA?",
		"NAMEWHARF_ONLY_HRE=":   "the environment variable NAMEWHARF_ONLY_HRE means nothing here; did you mean NAMEWHARF_ONLY_HERE?",
		"NAMEWHARF_data=secret": "the environment variable NAMEWHARF_data means nothing here; did you mean NAMEWHARF_DATA?",
		"NAMEWHARF_XYZZY=s":     "the environment variable NAMEWHARF_XYZZY means nothing here",
	} {
		got := ""
		if err := settings.CheckEnvironment(fs, []string{"HOME=/", variable}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", variable, got, want)
		}
	}
}

// Programs may share a settings file; a key that none of them knows is an error.
func TestSharedFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"trusted-proxies = \"none\"\naddr = \"x\"\n": "",
		"trusted-prxies = \"none\"\n":                "unknown key trusted-prxies",
	} {
		file := filepath.Join(t.TempDir(), "settings.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		fs.String("addr", "", "")
		_, err := settings.Parse(fs, []string{"-config", file}, func(string) (string, bool) { return "", false }, t.Output())
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	if _, err := settings.Parse(fs, []string{"-version"}, func(string) (string, bool) { return "", false }, t.Output()); !errors.Is(err, settings.ErrVersion) {
		t.Errorf("got %v", err)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"65536": "64KiB", "64KiB": "64KiB", "64 KiB": "64KiB", "1GiB": "1GiB", "1025": "1025", "1536KiB": "1536KiB",
		"0": "must be at least 1KiB", "1023": "must be at least 1KiB", "-1": "must be at least 1KiB", "-9999999999GiB": "must be a number of bytes",
		"": "must be a number of bytes", "64MB": "must be a number of bytes", "64.5KiB": "must be a number of bytes", "KiB": "must be a number of bytes",
		"9223372036854775807KiB": "must be a number of bytes",
	} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		size := settings.SizeOf(fs, "size", 1<<20, 1<<10, "")
		if err := size.Set(text); err != nil {
			if !strings.HasPrefix(err.Error(), want) || size.Bytes != 1<<20 {
				t.Errorf("%q: got %v and %d, want %s and the default", text, err, size.Bytes, want)
			}
		} else if size.String() != want {
			t.Errorf("%q: got %s, want %s", text, size, want)
		}
	}
}
