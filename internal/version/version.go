// Package version knows which version of the product this is.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by who builds a release: -ldflags "-X github.com/namewharf/namewharf/internal/version.version=v1.2.3".
var version string

// Version is the version that the program was built as: the one given to the linker, else that of the module, which is
// made from the commit where the program is built in a clone, else "dev".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// Line is what a program prints for -version: its name, its version, the commit if that is known, and the compiler.
func Line(program string) string {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	return fmt.Sprintf("%s %s (commit %.12s, %s %s/%s)", program, Version(), cmp.Or(commit, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
