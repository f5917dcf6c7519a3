package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitStatuses describes the exit statuses.
const exitStatuses = `  0  it is done
  1  it was tried and failed, or bad rows or damage were found
  2  it cannot be done as it was typed: nothing was changed
`

// helpWidth is the line width of help texts.
const helpWidth = 110

// help prints the help of a command.
func (p *program) help(c *cobra.Command, _ []string) {
	w := p.stdout
	fmt.Fprintf(w, "%s.\n", wrap(strings.TrimSuffix(cmp.Or(c.Long, c.Short), ".")))
	usage := c.Root().Name() + " " + strings.TrimSpace(usageOf(c))
	if c.HasSubCommands() && c.HasParent() {
		usage += " COMMAND"
	}
	fmt.Fprintf(w, "\nUsage:\n  %s [FLAGS]\n", usage)
	if len(c.Aliases) > 0 {
		fmt.Fprintf(w, "\nOlder name: %s\n", strings.Join(c.Aliases, ", "))
	}
	printCommands(w, c)
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if !c.HasParent() {
		fmt.Fprintf(w, "\nFlags of every command:\n%s", flagUsages(c.PersistentFlags()))
		fmt.Fprintf(w, "\nA flag has one dash or two, anywhere on the line. It is also NAMEWHARF_<NAME> in the environment\n"+
			"and a key of the -config file; a flag wins over the environment, the environment over the file.\n"+
			"\nExit status:\n%s\n\"operator COMMAND -h\" describes a command.\n", exitStatuses)
		return
	}
	if own := flagUsages(c.LocalNonPersistentFlags()); own != "" {
		fmt.Fprintf(w, "\nFlags:\n%s", own)
	}
	fmt.Fprintf(w, "\nFlags of every command, which \"operator -h\" describes:\n  %s\n", commonNames(c))
}

// wrap breaks the lines of a text between words.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		switch {
		case i > 0 && column+len(word) >= helpWidth:
			b.WriteByte('\n')
			column = 0
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
		if end := strings.LastIndexByte(word, '\n'); end >= 0 {
			column = len(word) - end - 1
		}
	}
	return b.String()
}

// printCommands lists the commands below one, those of the program by section.
func printCommands(w io.Writer, c *cobra.Command) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	if c.HasParent() {
		for i, sub := range c.Commands() {
			if i == 0 {
				fmt.Fprintln(t, "\nCommands:")
			}
			fmt.Fprintf(t, "  %s\t%s\n", usageOf(sub), sub.Short)
		}
		return
	}
	for _, section := range sections {
		fmt.Fprintf(t, "\n%s:\n", section.Title)
		for _, sub := range c.Commands() {
			if sub.GroupID != section.ID || sub.Hidden {
				continue
			}
			var names []string
			for _, below := range sub.Commands() {
				names = append(names, below.Name())
			}
			text := sub.Short
			if len(names) > 0 {
				text += ": " + strings.Join(names, ", ")
			}
			fmt.Fprintf(t, "  %s\t%s\n", sub.Name(), text)
		}
	}
}

// flagUsages describes flags with one dash, as the documentation writes them.
func flagUsages(fs *pflag.FlagSet) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			shown.AddFlag(f)
		}
	})
	const cobras, ours = "      --", "  -"
	var b strings.Builder
	for text := range strings.Lines(shown.FlagUsagesWrapped(helpWidth)) {
		if rest, ok := strings.CutPrefix(text, cobras); ok {
			b.WriteString(ours + rest)
			continue
		}
		b.WriteString(text[min(len(cobras)-len(ours), len(text)-1):]) // the rest of a description
	}
	return b.String()
}

func commonNames(c *cobra.Command) string {
	var names []string
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "-"+f.Name) })
	return strings.Join(names, ", ")
}

// helpCommand returns the command help.
func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Describe a command", GroupID: "more", Args: cobra.ArbitraryArgs,
		Example: "  operator help listing import",
		RunE: func(c *cobra.Command, args []string) error {
			command, rest := descend(c.Root(), args)
			if len(rest) > 0 {
				return noSuchCommand(c.Root(), args)
			}
			p.help(command, nil)
			return nil
		},
	}
}
