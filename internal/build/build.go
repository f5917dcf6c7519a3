// Package build knows which version of the product this is.
package build

import "runtime/debug"

// Version is the module version of a released build, or "dev".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
