package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/namewharf/namewharf/internal/settings"
)

// sections are the headings under which the help lists the groups of commands.
var sections = []*cobra.Group{
	{ID: "selling", Title: "Names and prices"},
	{ID: "accounts", Title: "Accounts"},
	{ID: "partners", Title: "Partners"},
	{ID: "orders", Title: "Orders and ledger"},
	{ID: "store", Title: "Store and keys"},
	{ID: "more", Title: "More"},
}

// unsorted makes cobra list commands in the order of their definition, in the whole process.
var unsorted = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// root returns the root command with all commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "operator COMMAND",
		Short: "Run the business of a Namewharf service",
		Long:  "Works on the store of a Namewharf service, running or stopped: names and prices, accounts, partners, orders, keys and the database.",
		Args:  cobra.ArbitraryArgs,

		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddGroup(sections...)
	common := flag.NewFlagSet("operator", flag.ContinueOnError)
	commonFlags(common, &p.commonOptions)
	root.PersistentFlags().AddGoFlagSet(common)
	root.PersistentFlags().BoolP("help", "h", false, "describe the command and end")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usagef("%s; -h lists the flags", strings.ReplaceAll(err.Error(), "--", "-"))
	})
	root.SetHelpFunc(p.help)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return p.fill(c) }
	unsorted()

	help := p.helpCommand()
	root.AddCommand(
		p.listingCommands(), p.pricingCommands(), p.zoneCommands(),
		p.accountCommands(),
		p.partnerCommands(), p.credentialCommands(), p.webhookCommands(), p.sandboxCommands(), p.devCommands(),
		p.orderCommands(), p.paymentCommands(), p.domainCommands(), p.brokerageCommands(), p.settlementCommands(), p.payoutCommands(), p.ledgerCommands(), p.auditCommand(),
		p.keyCommands(), p.dbCommands(),
		help,
	)
	root.AddCommand(p.manCommands()...)
	root.SetHelpCommand(help)
	root.SetCompletionCommandGroupID("more")
	root.InitDefaultCompletionCmd()
	completion, _ := descend(root, []string{"completion"})
	completion.Short = "Print the completion script of a shell"
	return root
}

// group returns a command with subcommands.
func group(section, name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, GroupID: section, Args: cobra.ArbitraryArgs}
	c.AddCommand(commands...)
	return c
}

// An action is what a command does, with its arguments.
type action func(context.Context, *program, []string) error

// command completes the definition of a command: what it does and the flags it takes. The words in capitals behind its name
// in Use are its arguments; those in brackets may be left out.
func (p *program) command(do action, c *cobra.Command, flags ...option) *cobra.Command {
	own := flag.NewFlagSet(c.Name(), flag.ContinueOnError)
	for _, f := range flags {
		f(own, &p.options)
	}
	c.Flags().AddGoFlagSet(own)
	c.Args = func(c *cobra.Command, args []string) error {
		least, most := argumentCount(c)
		switch got := len(args); {
		case got < least:
			return usagef("%s: usage: operator %s", countOf(got, least), usageOf(c))
		case got > most:
			return usagef("%s: usage: operator %s", countOf(got, most), usageOf(c))
		}
		return nil
	}
	c.ValidArgsFunction = p.completeArgument
	c.RunE = func(c *cobra.Command, args []string) error { return do(c.Context(), p, args) }
	p.completeFlags(c)
	return c
}

// argumentsOf returns the arguments of a command as its usage names them.
func argumentsOf(c *cobra.Command) []string { return strings.Fields(c.Use)[1:] }

// argumentCount is how many arguments a command takes: those in brackets may be left out.
func argumentCount(c *cobra.Command) (least, most int) {
	for _, name := range argumentsOf(c) {
		most++
		if !strings.HasPrefix(name, "[") {
			least++
		}
	}
	return least, most
}

// usageOf returns the command line of a command, with its arguments.
func usageOf(c *cobra.Command) string {
	return strings.Join(append([]string{wordsOf(c)}, argumentsOf(c)...), " ")
}

// countOf describes how the number of arguments differs from the expected one.
func countOf(got, want int) string {
	switch {
	case got == want-1:
		return "an argument is missing"
	case got < want:
		return fmt.Sprintf("%d arguments are missing", want-got)
	case got == want+1:
		return "there is an argument too many"
	}
	return fmt.Sprintf("there are %d arguments too many", got-want)
}

// fill sets flags that are not on the command line from the environment and the settings file, which may also have settings
// of other commands and programs.
func (p *program) fill(c *cobra.Command) error {
	all := flag.NewFlagSet(c.Name(), flag.ContinueOnError)
	var err error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || all.Lookup(f.Name) != nil {
			return
		}
		all.Var(f.Value, f.Name, f.Usage)
		if f.Changed && err == nil {
			err = all.Set(f.Name, f.Value.String())
		}
	})
	if err == nil {
		err = settings.Fill(all, p.environ)
	}
	if err == nil {
		err = settings.CheckEnvironment(all, os.Environ())
	}
	if err != nil {
		return usageError{err}
	}
	p.given = map[string]bool{}
	all.Visit(func(f *flag.Flag) { p.given[f.Name] = true })
	return nil
}
