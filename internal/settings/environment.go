package settings

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/spelling"
)

// programs are the flags of all programs. Programs may share an environment and a settings file, so each accepts the
// settings of the others. Tests of the programs compare this list with their flags.
var programs = strings.Fields(`
	action actor addr app-schemes as backend base-url body bootstrap-url broker-bp canonical card config curl currency
	czds-login czds-url data db delay demo domain dry-run email env exclude-tools extra-resources force http
	idempotency-key issuer json keep-audit keep-buyers keep-deliveries keep-events keep-listings keep-log key-id limit
	log mail-from max-body-bytes-in-flight max-conns-per-addr max-registrations-per-day metrics-addr min-upload-rate name
	names nonce note oidc order output-schemas overlap overwrite partial partner partner-bp partner-keys-file period
	price-cents public-note rate-limits read-only reason reference referral-bp refuse register registry retire
	review-limit-cents scopes secret send server-key-file service-bp shrunk signup since smtp status status-code
	stripe-api-base stripe-key stripe-key-file stripe-webhook-secret stripe-webhook-secret-file subject timestamp tld
	tools trusted-proxies url version webhook-allow-private webhook-secret zone-dir zones`)

// secretVariables are the environment variables without a flag.
var secretVariables = []string{"NAMEWHARF_TOKEN", "NAMEWHARF_SERVER_KEYS", "NAMEWHARF_PARTNER_KEYS", "NAMEWHARF_PARTNER_SECRET", "NAMEWHARF_WEBHOOK_SECRET"}

// testPrefix is the prefix of variables for tests, which the programs under test inherit.
const testPrefix = Prefix + "TEST_"

// Known reports whether any program has a flag with the name.
func Known(name string) bool { return slices.Contains(programs, name) }

// CheckEnvironment fails for a variable of an environment, given as NAME=value, that begins with [Prefix] and that no
// program knows: it is misspelt. fs has the flags of this program.
func CheckEnvironment(fs *flag.FlagSet, environment []string) error {
	known := slices.Clone(secretVariables)
	fs.VisitAll(func(f *flag.Flag) { known = append(known, variable(f.Name)) })
	for _, name := range programs {
		known = append(known, variable(name))
	}
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, Prefix) && !strings.HasPrefix(name, testPrefix) && !slices.Contains(known, name) {
			return fmt.Errorf("the environment variable %s means nothing here%s", name, spelling.DidYouMean(name, known))
		}
	}
	return nil
}
