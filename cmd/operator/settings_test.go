package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/internal/settings"
)

// The environment and the settings file may be shared by our programs: what this one takes, the others know.
func TestFlagsAreKnownToTheOtherPrograms(t *testing.T) {
	t.Parallel()
	var flags []string
	root := new(program).root()
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	for _, c := range leaves(root) {
		if c.GroupID != "more" && c.Parent().GroupID != "more" { // those of cobra's own commands are no settings
			flags = append(flags, ownFlags(c)...)
		}
	}
	for _, name := range flags {
		if name != "help" && !settings.Known(name) {
			t.Errorf("-%s is not in the list of internal/settings", name)
		}
	}
	if len(flags) < 40 {
		t.Errorf("there are %q only", flags)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := programtest.Run(t, nil, "-version")
	if status != 0 || stderr != "" || !strings.HasPrefix(stdout, "operator ") || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "go1.") {
		t.Errorf("-version: status %d, %q, %q", status, stdout, stderr)
	}
}

// A misspelt variable used to be passed over, and the setting with it.
func TestMisspeltVariable(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := programtest.Run(t, []string{"NAMEWHARF_DAAT=/nowhere"}, "order", "list")
	if status != 2 || stdout != "" || stderr != "operator: the environment variable NAMEWHARF_DAAT means nothing here; did you mean NAMEWHARF_DATA?\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}
