package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/namewharf/namewharf/internal/programtest"
)

func TestFlagsAreKnownToTheOtherPrograms(t *testing.T) {
	t.Parallel()
	var flags []string
	root := new(program).root()
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	for _, c := range leaves(root) {
		if c.GroupID != "more" && c.Parent().GroupID != "more" { // the flags of cobra's own commands are not settings
			flags = append(flags, ownFlags(c)...)
		}
	}
	flags = slices.DeleteFunc(flags, func(name string) bool { return name == "help" })
	programtest.WantKnownFlags(t, flags, 40)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	programtest.WantVersion(t, "operator")
}

func TestMisspeltVariable(t *testing.T) {
	t.Parallel()
	programtest.WantMisspeltVariableRefused(t, "operator", "order", "list")
}
