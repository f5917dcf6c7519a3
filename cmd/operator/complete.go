package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/seal"
)

// completes reports whether a shell requests completions.
func completes(args []string) bool {
	return len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete prints completions for the shell. The last argument is the word to complete; a flag with one dash is completed with
// one dash.
func (p *program) complete(ctx context.Context, root *cobra.Command, args []string) error {
	word := args[len(args)-1]
	l, err := split(root, args[1:len(args)-1])
	if err != nil && l.waiting == "" {
		return err
	}
	line := append([]string{args[0]}, l.words...)
	for _, f := range l.flags {
		line = append(line, f.String())
	}
	if l.waiting != "" {
		line = append(line, "--"+l.waiting)
	}
	one := l.waiting == "" && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--")
	if one {
		word = "-" + word
	}
	root.SetArgs(append(line, word))
	var out bytes.Buffer
	root.SetOut(&out)
	err = root.ExecuteContext(ctx)
	for text := range strings.Lines(out.String()) {
		if rest, ok := strings.CutPrefix(text, "--"); ok && one {
			text = "-" + rest
		}
		text = strings.ReplaceAll(text, "`", "") // which mark the name of a flag's value
		if _, err := io.WriteString(p.stdout, text); err != nil {
			return err
		}
	}
	return err
}

// completeFlags registers the completions of a command's flag values.
func (p *program) completeFlags(c *cobra.Command) {
	fixed := map[string][]string{"env": {"live", "sandbox"}, "scopes": credential.Scopes}
	for _, name := range ownFlags(c) {
		switch {
		case name == "partner":
			_ = c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return p.partnerIDs(c, word), cobra.ShellCompDirectiveNoFileComp
			})
		case fixed[name] != nil:
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(fixed[name], cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// completeArgument completes an argument of a command, by its name in the usage.
func (p *program) completeArgument(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	wanted := argumentsOf(c)
	if len(args) >= len(wanted) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	switch name := strings.Trim(wanted[len(args)], "[]"); {
	case strings.HasPrefix(name, "FILE"):
		return nil, cobra.ShellCompDirectiveDefault
	case name == "PARTNER":
		return p.partnerIDs(c, word), cobra.ShellCompDirectiveNoFileComp
	case name == "KEY":
		return p.keyIDs(c, word), cobra.ShellCompDirectiveNoFileComp
	case name == "METHOD":
		return []string{"GET", "POST", "PUT", "DELETE"}, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// reader opens the partner services for reading. It returns nil without a store; then nothing is completed.
func (p *program) reader(c *cobra.Command) *admin.Operator {
	p.stderr = io.Discard
	if p.fill(c) != nil {
		return nil
	}
	db, err := p.openAsIs(c.Context())
	if err != nil {
		return nil
	}
	return admin.New(db, seal.Random(), db.Now, "operator") // nothing sealed is read
}

// partnerIDs are the ids of partners that begin with a word, with their names.
func (p *program) partnerIDs(c *cobra.Command, word string) (ids []string) {
	op := p.reader(c)
	if op == nil {
		return nil
	}
	all, _ := op.Partners(c.Context())
	for _, one := range all {
		if strings.HasPrefix(one.ID, word) {
			ids = append(ids, one.ID+"\t"+printable(one.Name))
		}
	}
	return ids
}

// keyIDs are the ids of credentials that begin with a word and are not revoked, with their partners.
func (p *program) keyIDs(c *cobra.Command, word string) (ids []string) {
	op := p.reader(c)
	if op == nil {
		return nil
	}
	all, _ := op.Credentials(c.Context(), "")
	all = slices.DeleteFunc(all, func(one admin.Credential) bool { return !one.Revoked.IsZero() })
	for _, one := range all {
		if strings.HasPrefix(one.KeyID, word) {
			ids = append(ids, one.KeyID+"\t"+one.Partner+" "+strings.Join(one.Scopes, ","))
		}
	}
	return ids
}
