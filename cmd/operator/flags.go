package main

import (
	"flag"
	"slices"
	"strings"
)

// common are the flags that every command takes.
var common = strings.Fields("data db json config version as reason server-key-file partner-keys-file")

// takes are the flags of each command beside those. A flag that a command does not take is refused: whoever types
// "order refund -dry-run" does not mean to refund.
var takes = map[string]string{
	"listing import":         "env dry-run partial",
	"pricing import":         "dry-run partial",
	"account create":         "email base-url",
	"account link":           "email base-url",
	"account invite":         "base-url",
	"partner create":         "name review-limit-cents service-bp",
	"partner list":           "",
	"partner terms":          "review-limit-cents service-bp",
	"partner suspend":        "",
	"partner resume":         "",
	"credential create":      "partner env scopes",
	"credential list":        "partner",
	"credential rotate":      "overlap",
	"credential revoke":      "",
	"sandbox seed":           "",
	"order list":             "status domain limit",
	"order show":             "",
	"order hold":             "",
	"order clear":            "",
	"order start-transfer":   "",
	"order confirm-transfer": "",
	"order cancel":           "",
	"order refund":           "",
	"domain flag":            "",
	"domain unflag":          "",
	"webhook deliveries":     "partner env status limit",
	"webhook redeliver":      "partner env",
	"key list":               "",
	"key rotate":             "retire",
	"ledger check":           "",
	"audit":                  "actor action subject since limit",
	"dev sign":               "key-id secret body idempotency-key timestamp nonce canonical curl send base-url",
	"dev listen":             "key-id secret base-url addr webhook-secret register url status-code delay",
	"dev trigger":            "key-id secret base-url",
	"db migrate":             "",
	"db backup":              "",
	"db check":               "",
}

// checkFlags refuses flags of a command line that the command does not take. Those of the environment and of a settings
// file may be meant for other commands.
func checkFlags(c command, typed []string) error {
	own := strings.Fields(takes[c.words])
	for _, name := range typed {
		if slices.Contains(common, name) || slices.Contains(own, name) {
			continue
		}
		if len(own) == 0 {
			return usagef("%s takes no -%s; -h lists the flags", c.words, name)
		}
		return usagef("%s takes no -%s; it takes -%s", c.words, name, strings.Join(own, ", -"))
	}
	return nil
}

// typedFlags are the names of the flags that stand in a command line, which is good.
func typedFlags(fs *flag.FlagSet, args []string) (names []string) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, ok := strings.CutPrefix(args[i], "-")
		if !ok || name == "" {
			continue
		}
		name, _, valued := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		f := fs.Lookup(name)
		if f == nil {
			continue
		}
		names = append(names, name)
		if boolean, ok := f.Value.(interface{ IsBoolFlag() bool }); !valued && (!ok || !boolean.IsBoolFlag()) {
			i++ // its value
		}
	}
	return names
}
