//go:build man

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommands returns the command that writes the manual pages of all commands into a directory. Only release builds have it,
// because the writer is larger than all commands together.
func (p *program) manCommands() []*cobra.Command {
	return []*cobra.Command{p.command(writeManual, &cobra.Command{Use: "man DIRECTORY", Short: "Write the manual pages into a directory", GroupID: "more", Hidden: true})}
}

func writeManual(_ context.Context, p *program, args []string) error {
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return usageError{err}
	}
	root := p.root()
	root.DisableAutoGenTag = true
	var all []*cobra.Command
	visit(root, func(c *cobra.Command) {
		if !c.Hidden {
			all = append(all, c)
		}
	})
	for _, c := range all { // writePage changes them
		if err := writePage(c, args[0]); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes the manual page of one command, such as operator-listing-import.1.
func writePage(c *cobra.Command, dir string) error {
	if c.HasSubCommands() && !c.HasParent() {
		c.Long += "\n\n# EXIT STATUS\n\n" + strings.ReplaceAll(exitStatuses, "\n", "\n\n")
	}
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Source: "Namewharf", Manual: "Namewharf"}
	if err := doc.GenMan(c, header, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	text := strings.ReplaceAll(page.String(), `\fB--`, `\fB-`)
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}
