package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/namewharf/namewharf/internal/programtest"
)

// ours are the commands that are not cobra's.
func ours(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(leaves(root), func(c *cobra.Command) bool { return c.GroupID == "more" || c.Parent().GroupID == "more" })
}

// parse reads a command line up to the point at which the command would begin, and returns its arguments.
func parse(t *testing.T, args ...string) (p *program, c *cobra.Command, rest []string, err error) {
	t.Helper()
	p = &program{environ: nothing, stdout: t.Output(), stderr: t.Output()}
	root := p.root()
	visit(root, func(each *cobra.Command) {
		if each.RunE != nil {
			each.RunE = func(run *cobra.Command, args []string) error { c, rest = run, args; return nil }
		}
	})
	l, err := read(root, args)
	if err != nil {
		return p, nil, nil, err
	}
	root.SetArgs(l.args())
	return p, c, rest, root.ExecuteContext(t.Context())
}

// shellWords splits a line as a shell does, as far as examples need it: double quotes, pipes and redirections.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		part, _, _ = strings.Cut(part, " < ")
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// Every command has examples, each of which is a good call of that command.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, c := range ours(new(program).root()) {
		if c.Example == "" || c.Short == "" {
			t.Errorf("%s has no example or no description", wordsOf(c))
		}
		for example := range strings.SplitSeq(c.Example, "\n") {
			words := shellWords(example)
			if len(words) == 0 || words[0] != "operator" {
				t.Errorf("%s: the example %q is no call of operator", wordsOf(c), example)
				continue
			}
			_, meant, _, err := parse(t, words[1:]...)
			if err != nil {
				t.Errorf("%s: the example %q: %v", wordsOf(c), example, err)
			} else if meant == nil || wordsOf(meant) != wordsOf(c) {
				t.Errorf("%s: the example %q is of another command", wordsOf(c), example)
			}
		}
	}
}

// Where a flag stands before the command it is not known yet which: whether it takes a value is the same in all.
func TestFlagsAreOfOneKind(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{}
	root := new(program).root()
	for _, c := range ours(root) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if before, ok := kinds[f.Name]; ok && before != f.Value.Type() {
				t.Errorf("-%s is %s and %s", f.Name, before, f.Value.Type())
			}
			kinds[f.Name] = f.Value.Type()
			if f.Shorthand != "" || root.PersistentFlags().Lookup(f.Name) != nil {
				t.Errorf("%s: -%s has a short form, or is one of every command too", wordsOf(c), f.Name)
			}
		})
	}
}

// Flags have one dash or two and stand anywhere; a value may begin with a dash.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"listing import F -env live -dry-run -data D -reason -1",
		"listing import F --env live --dry-run --data D --reason -1",
		"-env live listing -dry-run import -data=D -reason=-1 F",
		"--env=live -dry-run=true --data=D --reason=-1 listing import F",
		"-dry-run -env live -data D -reason -1 -- listing import F",
		"-dry-run listing -env live import -data D -reason -1 -- F",
	} {
		p, c, rest, err := parse(t, strings.Fields(line)...)
		if err != nil || wordsOf(c) != "listing import" || !slices.Equal(rest, []string{"F"}) ||
			p.env != "live" || !p.dryRun || p.data != "D" || p.reason != "-1" {
			t.Errorf("%s: got %+v, %q, %v", line, p.options, rest, err)
		}
	}
	for line, want := range map[string][]string{
		"dev sign GET /x -body -":               {"GET", "/x"},
		"dev sign -body - GET /x":               {"GET", "/x"},
		"listing import -env live -":            {"-"},
		"order show -- -strange":                {"-strange"},
		"order show -reason -- ord_1":           {"ord_1"},
		"partner terms prt_1 -service-bp 1":     {"prt_1"},
		"partner terms prt_1 -service-bp -1":    {"prt_1"},
		"credential rotate K -overlap -1h":      {"K"},
		"partner -service-bp=5 set -json prt_1": {"prt_1"},
	} {
		if _, _, rest, err := parse(t, strings.Fields(line)...); err != nil || !slices.Equal(rest, want) {
			t.Errorf("%s: got %q, %v; want %q", line, rest, err, want)
		}
	}
}

// A mistake in a command line is one line that says what was probably meant.
func TestMistypedLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                     "say what to do; -h lists the commands",
		"listng import f.csv":                  `there is no command "listng import"; did you mean listing import?`,
		"listing imprt f.csv -env live":        `there is no command "listing imprt"; did you mean listing import?`,
		"lsting":                               `there is no command "lsting"; did you mean listing?`,
		"ordr 4711":                            `there is no command "ordr 4711"; did you mean order?`,
		"audti -since 1d":                      `there is no command "audti"; did you mean audit?`,
		"partner term prt_1":                   `there is no command "partner term"; did you mean partner terms?`,
		"order":                                `there is no command "order"; there are order list, order show,`,
		"xyzzy":                                `there is no command "xyzzy"; -h lists the commands`,
		"xyzzy -h":                             `there is no command "xyzzy"; -h lists the commands`,
		"help listing imprt":                   `there is no command "listing imprt"; did you mean listing import?`,
		"listing import":                       "an argument is missing: usage: operator listing import FILE.csv",
		"dev sign":                             "2 arguments are missing: usage: operator dev sign METHOD PATH",
		"order list ord_1":                     "there is an argument too many: usage: operator order list",
		"order list -satus x":                  "there is no flag -satus; did you mean -status?; -h lists the flags",
		"order list --satus=x":                 "there is no flag -satus; did you mean -status?; -h lists the flags",
		"-dry-rum listing import f.csv":        "there is no flag -dry-rum; did you mean -dry-run?; -h lists the flags",
		"order list -jsno":                     "there is no flag -jsno; did you mean -json?; -h lists the flags",
		"order list -status":                   "-status needs a value",
		"order list -limit many":               `invalid argument "many" for "-limit" flag`,
		"order refund ord_1 -dry-run":          "order refund takes no -dry-run; -h lists the flags",
		"credential list -scopes buy":          "credential list takes no -scopes; it takes -partner",
		"listing list -config /nowhere/x.toml": "-config: open /nowhere/x.toml: no such file",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, status := programtest.Run(t, nil, strings.Fields(line)...)
			if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "operator: "+want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d, %q, %q; want 2 and one line with %q", status, stdout, stderr, want)
			}
		})
	}
}

// Help is there for every command and group, in every way of asking for it.
func TestHelp(t *testing.T) {
	t.Parallel()
	want := help(t, "listing", "import", "-h")
	for _, text := range []string{"operator listing import FILE.csv [FLAGS]", "Examples:\n  operator listing import names.csv", "  -dry-run ", "  -env environment"} {
		if !strings.Contains(want, text) {
			t.Errorf("the help of listing import lacks %q:\n%s", text, want)
		}
	}
	for _, line := range []string{"listing import --help", "-help listing import", "help listing import", "listing import f.csv -env live -h"} {
		if got := help(t, strings.Fields(line)...); got != want {
			t.Errorf("%s: got\n%s", line, got)
		}
	}
	root := help(t, "-h")
	for _, text := range []string{"Exit status:\n  0 ", "\n  2 ", "NAMEWHARF_<NAME>", "Names and prices:\n", "  listing     Names for sale: import, list", "  -data directory"} {
		if !strings.Contains(strings.Join(strings.Fields(root), " "), strings.Join(strings.Fields(text), " ")) {
			t.Errorf("the help lacks %q:\n%s", text, root)
		}
	}
	if strings.Contains(root, "-dry-run") || strings.Contains(root, "-scopes") {
		t.Errorf("the help of all commands has flags of one:\n%s", root)
	}
	for _, c := range ours(new(program).root()) {
		text := help(t, append(strings.Fields(wordsOf(c)), "-h")...)
		for _, name := range ownFlags(c) {
			if !strings.Contains(text, "\n  -"+name+" ") {
				t.Errorf("the help of %s lacks -%s", wordsOf(c), name)
			}
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, "\t") || strings.HasSuffix(line, " \n") || len([]rune(line)) > 130 {
				t.Errorf("the help of %s: the line %q", wordsOf(c), line)
			}
		}
	}
}

func help(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, err := operate(t, args...)
	if err != nil || errs != "" {
		t.Fatalf("%q: %v, %s", args, err, errs)
	}
	return out
}

// The completions that a shell gets.
func TestCompletion(t *testing.T) {
	t.Parallel()
	data := newStore(t)
	var ids []string
	for _, name := range []string{"One", "Two"} {
		out, _, err := operate(t, "partner", "create", "-name", name, "-data", data, "-json")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strings.Split(out, `"`)[3])
	}
	out, _, err := operate(t, "credential", "create", "-partner", ids[0], "-env", "sandbox", "-scopes", "buy", "-data", data, "-json")
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(out, `"`)[3]
	for _, test := range []struct {
		line string // the word that is being typed is the last
		want []string
	}{
		{"lis", []string{"listing"}},
		{"listing ", []string{"import", "list", "show", "remove"}},
		{"listing import -d", []string{"-data", "-db", "-dry-run"}},
		{"listing import --dry", []string{"--dry-run"}},
		{"listing import -env ", []string{"live", "sandbox"}},
		{"listing -data=x import --env ", []string{"live", "sandbox"}},
		{"order refund -dry", nil},
		{"partner suspend -data " + data + " ", ids},
		{"-data " + data + " partner show " + ids[1], ids[1:]},
		{"partner show x -data " + data + " ", nil},
		{"credential list -data " + data + " -partner ", ids},
		{"credential revoke -data " + data + " nw_", []string{key}},
		{"partner suspend -data /nowhere ", nil},
		{"dev sign P", []string{"POST", "PUT"}},
	} {
		words := append([]string{"__complete"}, strings.Split(test.line, " ")...)
		out, _, err := operate(t, words...)
		if err != nil {
			t.Errorf("%q: %v", test.line, err)
		}
		var got []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if !strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		if strings.HasPrefix(test.line, "dev sign") { // the shell filters
			got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "P") })
		}
		if !slices.Equal(got, test.want) || strings.Contains(out, "`") {
			t.Errorf("%q: got %q, want %q", test.line, got, test.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if script := help(t, "completion", shell); !strings.Contains(script, "operator") || !strings.Contains(script, "__complete") {
			t.Errorf("%s: got %d bytes of a script", shell, len(script))
		}
	}
}
