package main

import (
	"fmt"
	"io"

	"github.com/namewharf/namewharf/internal/registry"
)

// printDemo tells what there is to try. It comes after the first line, which programs wait for.
func printDemo(w io.Writer, base string, samples []registry.Sample) {
	fmt.Fprintf(w, "\nThis is the demo: its registry runs in this process, on loopback, and nothing outside is asked.\n\n")
	fmt.Fprintf(w, "  pages   %s/  %s/docs\n  MCP     %s/mcp\n\n", base, base, base)
	fmt.Fprintf(w, "A name of each kind to try:\n\n")
	for _, s := range samples {
		fmt.Fprintf(w, "  %-20s %s\n", s.Kind, s.Name)
	}
	fmt.Fprintf(w, "\n  curl %s/api/domain/search --json '{\"q\":\"%s\"}'\n\n", base, samples[0].Name)
}
