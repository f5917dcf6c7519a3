package main

import (
	"testing"

	"github.com/namewharf/namewharf/internal/programtest"
)

func TestFlagsAreKnownToTheOtherPrograms(t *testing.T) {
	t.Parallel()
	stdout, stderr, _ := programtest.Run(t, nil, "-h")
	programtest.WantKnownFlags(t, programtest.Flags(stdout+stderr), 10)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	programtest.WantVersion(t, "mcp")
}

func TestMisspeltVariable(t *testing.T) {
	t.Parallel()
	programtest.WantMisspeltVariableRefused(t, "mcp", "-demo")
}
