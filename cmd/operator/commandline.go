package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/namewharf/namewharf/spelling"
)

// A line is a parsed command line: the command, its arguments and its flags.
//
// Cobra requires flags after the command and with two dashes. Here they may be anywhere and have one dash or two, as in the
// other programs; there are no clusters of one-letter flags.
type line struct {
	command *cobra.Command
	words   []string // arguments of the command
	flags   []typedFlag
	waiting string // a flag at the end whose value is missing; only while a line is completed
}

type typedFlag struct {
	name   string
	value  string
	valued bool
}

// read parses a command line. For an unknown command or flag it fails with a [usageError] that suggests the nearest one.
func read(root *cobra.Command, args []string) (line, error) {
	l, err := split(root, args)
	if err != nil {
		return line{}, err
	}
	typed := l.words
	l.command, l.words = descend(root, l.words)
	help := l.has("help")
	if l.command.HasSubCommands() && !l.has("version") && (len(l.words) > 0 || !help) {
		return line{}, noSuchCommand(root, typed)
	}
	for _, f := range l.flags {
		if err := checkFlag(l.command, f.name); err != nil {
			return line{}, err
		}
	}
	return l, nil
}

// split separates flags from words. Whether a flag takes a value is the same in all commands.
func split(root *cobra.Command, args []string) (l line, err error) {
	known := map[string]bool{"h": true}
	visit(root, func(c *cobra.Command) {
		note := func(f *pflag.Flag) { known[f.Name] = f.NoOptDefVal != "" }
		c.Flags().VisitAll(note)
		c.PersistentFlags().VisitAll(note)
	})
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			l.words = append(l.words, args[i+1:]...)
			break
		}
		name, isFlag := strings.CutPrefix(args[i], "-")
		if !isFlag || name == "" {
			l.words = append(l.words, args[i])
			continue
		}
		f := typedFlag{}
		f.name, f.value, f.valued = strings.Cut(strings.TrimPrefix(name, "-"), "=")
		bare, ok := known[f.name]
		switch {
		case !ok:
			command, _ := descend(root, l.words)
			return l, noSuchFlag(command, f.name)
		case f.name == "h":
			f.name = "help"
		case bare || f.valued:
		case i+1 == len(args):
			l.waiting = f.name
			return l, usagef("-%s needs a value", f.name)
		default:
			i++
			f.value, f.valued = args[i], true
		}
		l.flags = append(l.flags, f)
	}
	return l, nil
}

// descend follows the words from command to subcommand, and returns the last one with the remaining words.
func descend(c *cobra.Command, words []string) (*cobra.Command, []string) {
	for len(words) > 0 {
		at := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == words[0] || sub.HasAlias(words[0]) })
		if at < 0 {
			break
		}
		c, words = c.Commands()[at], words[1:]
	}
	return c, words
}

// has reports whether a flag is on the command line.
func (l line) has(name string) bool {
	return slices.ContainsFunc(l.flags, func(f typedFlag) bool { return f.name == name && f.value != "false" })
}

// args returns the line in the order and the spelling that cobra requires.
func (l line) args() []string {
	args := strings.Fields(wordsOf(l.command))
	for _, f := range l.flags {
		args = append(args, f.String())
	}
	return append(append(args, "--"), l.words...)
}

func (f typedFlag) String() string {
	if !f.valued {
		return "--" + f.name
	}
	return "--" + f.name + "=" + f.value
}

// visit calls f with a command and all below it.
func visit(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		visit(sub, f)
	}
}

// wordsOf returns the words of a command, without the name of the program.
func wordsOf(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	return words
}

// leaves returns the commands without subcommands, in the order of the help.
func leaves(root *cobra.Command) (all []*cobra.Command) {
	visit(root, func(c *cobra.Command) {
		if !c.HasSubCommands() && !c.Hidden {
			all = append(all, c)
		}
	})
	return all
}

// ownFlags returns the flags of a command beside the common ones.
func ownFlags(c *cobra.Command) (names []string) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// checkFlag refuses a flag that a command does not take. Ignoring it would be dangerous: "order refund -dry-run" would refund.
func checkFlag(c *cobra.Command, name string) error {
	if c.Flags().Lookup(name) != nil || c.Root().PersistentFlags().Lookup(name) != nil {
		return nil
	}
	own := ownFlags(c)
	if len(own) == 0 {
		return usagef("%s takes no -%s; -h lists the flags", wordsOf(c), name)
	}
	return usagef("%s takes no -%s; it takes -%s", wordsOf(c), name, strings.Join(own, ", -"))
}

// noSuchFlag returns the error for an unknown flag, with the nearest one.
func noSuchFlag(c *cobra.Command, name string) error {
	known := ownFlags(c)
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if c.HasSubCommands() { // the command may follow the flag
		for _, leaf := range leaves(c.Root()) {
			known = append(known, ownFlags(leaf)...)
		}
	}
	near := ""
	if meant := spelling.Nearest(name, known); meant != "" {
		near = "; did you mean -" + meant + "?"
	}
	return usagef("there is no flag -%s%s; -h lists the flags", name, near)
}

// noSuchCommand returns the error for an unknown command, with the nearest one.
func noSuchCommand(root *cobra.Command, words []string) error {
	if len(words) == 0 {
		return usagef("say what to do; -h lists the commands")
	}
	typed := strings.Join(words[:min(2, len(words))], " ")
	var known, below []string
	for _, c := range leaves(root) {
		known = append(known, wordsOf(c))
		for _, alias := range c.Aliases {
			known = append(known, strings.TrimPrefix(wordsOf(c.Parent())+" "+alias, " "))
		}
		if c.Parent() != root && strings.HasPrefix(wordsOf(c), words[0]+" ") {
			below = append(below, wordsOf(c))
		}
	}
	if len(words) == 1 && len(below) > 0 {
		return usagef("there is no command %q; there are %s", typed, strings.Join(below, ", "))
	}
	for _, c := range root.Commands() {
		known = append(known, c.Name())
	}
	if near := spelling.DidYouMean(typed, known); near != "" {
		return usagef("there is no command %q%s", typed, near)
	}
	if len(below) > 0 {
		return usagef("there is no command %q; there are %s", typed, strings.Join(below, ", "))
	}
	if near := spelling.DidYouMean(words[0], known); near != "" {
		return usagef("there is no command %q%s", typed, near)
	}
	return usagef("there is no command %q; -h lists the commands", typed)
}
