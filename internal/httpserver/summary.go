package httpserver

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A Summary is what a program says of itself when it starts.
type Summary struct {
	Program string      // with its version
	Links   [][2]string // what is served, and where
	Store   string      // engine and place
	Off     []string    // what is not configured, and what that means
	Backup  []string    // what to copy, and how
}

// Print writes the summary for a person to read. It comes after the first line, which programs wait for.
func (s Summary) Print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n", s.Program)
	for _, link := range s.Links {
		fmt.Fprintf(t, "  %s\t%s\n", link[0], link[1])
	}
	fmt.Fprintf(t, "  store\t%s\n", s.Store)
	for i, line := range s.Off {
		fmt.Fprintf(t, "  %s\t%s\n", heading(i, "off"), line)
	}
	for i, line := range s.Backup {
		fmt.Fprintf(t, "  %s\t%s\n", heading(i, "back up"), line)
	}
	_ = t.Flush() // nobody reads any more
}

func heading(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}

// Off is what of the network's settings is not configured.
func (s *Settings) Off() (lines []string) {
	if s.MetricsAddr == "" {
		lines = append(lines, "metrics (-metrics-addr)")
	}
	if proxies, err := s.Proxies(); err == nil && len(proxies) == 0 {
		lines = append(lines, "proxies: X-Forwarded-For counts from nobody (-trusted-proxies)")
	}
	if s.RateLimits.Value == "off" {
		lines = append(lines, "every limit of requests (-rate-limits)")
	}
	return lines
}
