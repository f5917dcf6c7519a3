package httpserver

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A Summary describes a program at its start.
type Summary struct {
	Program string      // with its version
	Links   [][2]string // names and URLs of what is served
	Store   string      // engine and location
	Off     []string    // features that are not configured
	Backup  []string    // what to back up, and how
}

// Print writes the summary for a person. It comes after the line "listening on", for which programs wait.
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
	_ = t.Flush() // fails only if nothing reads the output
}

func heading(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}

// Off lists the settings of the HTTP server that are not configured.
func (s *Settings) Off() (lines []string) {
	if s.MetricsAddr == "" {
		lines = append(lines, "metrics (-metrics-addr)")
	}
	if proxies, err := s.Proxies(); err == nil && len(proxies) == 0 {
		lines = append(lines, "proxies: X-Forwarded-For is ignored (-trusted-proxies)")
	}
	if s.RateLimits.Value == "off" {
		lines = append(lines, "all rate limits (-rate-limits)")
	}
	return lines
}
