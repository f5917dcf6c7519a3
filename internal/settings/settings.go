// Package settings reads a program's settings from flags, environment variables and a TOML file.
package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/namewharf/namewharf/spelling"
)

// Prefix of the environment variables: -base-url is NAMEWHARF_BASE_URL.
const Prefix = "NAMEWHARF_"

// ErrVersion is the error of [Parse] for -version.
var ErrVersion = errors.New("the version is asked for")

// Parse sets the flags of fs: from args, else from the environment, else from the TOML file that -config names. It adds
// the flags config and version. Flags and other arguments, which it returns, may be mixed; "--" ends the flags. Errors are
// one line. Parse fails with [flag.ErrHelp] after printing the usage, and with [ErrVersion] for -version.
func Parse(fs *flag.FlagSet, args []string, environ func(string) (string, bool), usage io.Writer) (rest []string, err error) {
	version := Define(fs)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	for remaining := args; ; {
		before := len(remaining)
		err := fs.Parse(remaining)
		if errors.Is(err, flag.ErrHelp) {
			printUsage(fs, usage)
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w%s; -h lists the flags", err, suggestion(fs, err))
		}
		remaining = fs.Args()
		if consumed := before - len(remaining); consumed > 0 && args[len(args)-len(remaining)-1] == "--" {
			rest = append(rest, remaining...)
			break
		}
		if len(remaining) == 0 {
			break
		}
		rest, remaining = append(rest, remaining[0]), remaining[1:]
	}
	if *version {
		return nil, ErrVersion
	}
	return rest, Fill(fs, environ)
}

// Define adds the flags config and version.
func Define(fs *flag.FlagSet) (version *bool) {
	fs.String("config", "", "TOML `file` with these settings as keys")
	return fs.Bool("version", false, "print the version and end")
}

// Fill sets the flags of fs that are not set yet: from the environment, else from the TOML file that -config names. It
// is for a program that parses its command line without [Parse]. Fs has the flags of [Define].
func Fill(fs *flag.FlagSet, environ func(string) (string, bool)) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := fromEnvironment(fs, given, environ); err != nil {
		return err
	}
	config := fs.Lookup("config").Value.String()
	if config == "" {
		return nil
	}
	return fromFile(fs, given, config)
}

// suggestion names the defined flag that is spelt most like an undefined one.
func suggestion(fs *flag.FlagSet, err error) string {
	word, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	if near := spelling.Nearest(word, names(fs)); near != "" {
		return "; did you mean -" + near + "?"
	}
	return ""
}

// variable is the name of the environment variable of a flag.
func variable(name string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func fromEnvironment(fs *flag.FlagSet, given map[string]bool, environ func(string) (string, bool)) (err error) {
	fs.VisitAll(func(f *flag.Flag) {
		value, ok := environ(variable(f.Name))
		if !ok || f.Name == "version" || given[f.Name] || err != nil {
			return
		}
		if setErr := fs.Set(f.Name, value); setErr != nil {
			err = fmt.Errorf("environment variable %s: %w", variable(f.Name), setErr)
		}
		given[f.Name] = true
	})
	return err
}

func fromFile(fs *flag.FlagSet, given map[string]bool, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("-config: %w", err)
	}
	var keys map[string]any
	if _, err := toml.Decode(string(text), &keys); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return fmt.Errorf("-config %s, line %d: %s", path, parse.Position.Line, parse.Message)
		}
		return fmt.Errorf("-config %s: %w", path, err)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) { // sorted, so that the error is deterministic
		value := keys[key]
		name := strings.ReplaceAll(key, "_", "-")
		if name == "config" || name == "version" || fs.Lookup(name) == nil && !Known(name) {
			return fmt.Errorf("-config %s: unknown key %s%s; known are %s", path, key, spelling.DidYouMean(name, names(fs)), strings.Join(names(fs), ", "))
		}
		if given[name] || fs.Lookup(name) == nil { // of another program
			continue
		}
		if err := setFrom(fs, name, value); err != nil {
			return fmt.Errorf("-config %s: key %s: %w", path, key, err)
		}
	}
	return nil
}

func setFrom(fs *flag.FlagSet, name string, value any) error {
	switch v := value.(type) {
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = fmt.Sprint(v[i])
		}
		return fs.Set(name, strings.Join(items, ","))
	case string, bool, int64, float64:
		return fs.Set(name, fmt.Sprint(v))
	}
	return errors.New("must be a string, a number, true or false, or a list of these")
}

func names(fs *flag.FlagSet) (all []string) {
	fs.VisitAll(func(f *flag.Flag) {
		if f.Name != "config" && f.Name != "version" {
			all = append(all, f.Name)
		}
	})
	slices.Sort(all)
	return all
}

func printUsage(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "Usage of %s (each flag is also %s<NAME> in the environment and a key of -config):\n", fs.Name(), Prefix)
	fs.SetOutput(w)
	fs.PrintDefaults()
	fs.SetOutput(io.Discard)
}

// A List is a flag of comma-separated items. It is empty by default.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

// Set replaces the list; empty items are dropped.
func (l *List) Set(s string) error {
	*l = nil
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}

// A Choice is an enumeration flag. Its first value is the default.
type Choice struct {
	Value   string
	options []string
}

// OneOf defines a [Choice] flag.
func OneOf(fs *flag.FlagSet, name, usage string, options ...string) *Choice {
	c := &Choice{options[0], options}
	fs.Var(c, name, usage)
	return c
}

func (c *Choice) String() string { return c.Value }

// Set fails for a value that is not an option.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.options, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.options, ", "))
	}
	c.Value = s
	return nil
}

// A Count is a flag of a number that is at least 1.
type Count int

// CountOf defines a [Count] flag.
func CountOf(fs *flag.FlagSet, name string, value int, usage string) *Count {
	c := Count(value)
	fs.Var(&c, name, usage)
	return &c
}

func (c *Count) String() string { return strconv.Itoa(int(*c)) }

// Set parses a number.
func (c *Count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("must be a number and at least 1")
	}
	*c = Count(n)
	return nil
}

// A Networks is a flag of comma-separated CIDRs. It is empty by default.
type Networks []netip.Prefix

// NetworksOf defines a [Networks] flag.
func NetworksOf(fs *flag.FlagSet, name, usage string) *Networks {
	n := &Networks{}
	fs.Var(n, name, usage)
	return n
}

func (n *Networks) String() string {
	var texts []string
	for _, p := range *n {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ",")
}

// Set replaces the networks.
func (n *Networks) Set(s string) error {
	var items List
	if err := items.Set(s); err != nil {
		return err
	}
	*n = nil
	for _, item := range items {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return errors.New("must be CIDRs such as 127.0.0.0/8")
		}
		*n = append(*n, p.Masked())
	}
	return nil
}

// A Size is a flag of a number of bytes: a plain number, or one with KiB, MiB or GiB.
type Size struct {
	Bytes int64
	least int64
}

// SizeOf defines a [Size] flag with its default and its minimum.
func SizeOf(fs *flag.FlagSet, name string, value, least int64, usage string) *Size {
	s := &Size{value, least}
	fs.Var(s, name, usage)
	return s
}

// units are the units of a size, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

func (s *Size) String() string { return sizeText(s.Bytes) }

func sizeText(n int64) string {
	for _, u := range units {
		if n%u.bytes == 0 && n >= u.bytes {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return "0"
}

// Set parses a size.
func (s *Size) Set(text string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n > math.MaxInt64/u.bytes || n < math.MinInt64/u.bytes {
			return errors.New("must be a number of bytes such as 65536, 64KiB or 64MiB")
		}
		if n*u.bytes < s.least {
			return fmt.Errorf("must be at least %s", sizeText(s.least))
		}
		s.Bytes = n * u.bytes
		return nil
	}
	return nil
}
