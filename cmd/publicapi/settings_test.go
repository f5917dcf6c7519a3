package main

import (
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/internal/settings"
)

// The environment and the settings file may be shared by our programs: what this one takes, the others know.
func TestFlagsAreKnownToTheOtherPrograms(t *testing.T) {
	t.Parallel()
	stdout, stderr, _ := programtest.Run(t, nil, "-h")
	flags := programtest.Flags(stdout + stderr)
	for _, name := range flags {
		if !settings.Known(name) {
			t.Errorf("-%s is not in the list of internal/settings", name)
		}
	}
	if len(flags) < 10 {
		t.Errorf("-h tells of %q only", flags)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := programtest.Run(t, nil, "-version")
	if status != 0 || stderr != "" || !strings.HasPrefix(stdout, "publicapi ") || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "go1.") {
		t.Errorf("-version: status %d, %q, %q", status, stdout, stderr)
	}
}

// A misspelt variable used to be passed over, and the setting with it.
func TestMisspeltVariable(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := programtest.Run(t, []string{"NAMEWHARF_DAAT=/nowhere"}, "-addr", "127.0.0.1:0")
	if status != 2 || stdout != "" || stderr != "publicapi: the environment variable NAMEWHARF_DAAT means nothing here; did you mean NAMEWHARF_DATA?\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}
