package main

import (
	"flag"
	"strings"
	"time"

	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
)

// options are the flags of all commands. Each command takes those that its definition names.
type options struct {
	commonOptions
	dev   devOptions
	books bookOptions

	env, domain, status, tld string
	email, baseURL, order    string
	name, partner, scopes    string
	subject                  string
	actor, action, since     string
	note, publicNote         string
	overlap                  time.Duration
	reviewLimit, serviceRate int64
	priceCents               int64
	limit                    int

	partnerRate, brokerRate, referralRate int64

	zoneDir, names     string
	czdsLogin, czdsURL string

	dryRun, partial, retire, overwrite, shrunk bool
}

// An option defines a flag of a command.
type option func(*flag.FlagSet, *options)

// commonFlags defines the flags that every command takes.
func commonFlags(fs *flag.FlagSet, o *commonOptions) {
	settings.Define(fs)
	fs.StringVar(&o.data, "data", defaultData, "`directory` of the embedded store and the price list")
	fs.StringVar(&o.db, "db", "", "`URL` of a PostgreSQL database (postgres://…) instead of the embedded store")
	fs.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	fs.StringVar(&o.reason, "reason", "", "`why`, for the audit log")
	fs.StringVar(&o.as, "as", "", "`name` of the operator, for the audit log (default the system's)")
	o.keys.KeysFlag(fs)
}

func envFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.env, "env", "", "`environment`, live or sandbox")
}

func dryRunFlag(fs *flag.FlagSet, o *options) {
	fs.BoolVar(&o.dryRun, "dry-run", false, "say what would happen, change nothing")
}

func partialFlag(fs *flag.FlagSet, o *options) {
	fs.BoolVar(&o.partial, "partial", false, "take the good rows of a file that has bad ones")
}

func limitFlag(fs *flag.FlagSet, o *options) {
	fs.IntVar(&o.limit, "limit", 25, "how many `lines` at most")
}

func statusFlag(values string) option {
	return func(fs *flag.FlagSet, o *options) { fs.StringVar(&o.status, "status", "", "`status`: "+values) }
}

func domainFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.domain, "domain", "", "`name` that was sold")
}

func orderFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.order, "order", "", "`id` of the order that was paid")
}

func buyFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.dev.card, "card", "4242424242424242", "`number` of a test card")
	fs.StringVar(&o.dev.email, "email", "buyer@example.com", "`address` of the buyer")
	fs.BoolVar(&o.dev.refuse, "refuse", false, "refuse what the bank asks, instead of approving it")
}

func tldFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.tld, "tld", "", "`suffix` of the names, such as com or co.uk")
}

func emailFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.email, "email", "", "`address` of the account")
}

// defaultBaseURL is the public address of a service on this machine.
const defaultBaseURL = "http://127.0.0.1:8080"

func baseURLFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.baseURL, "base-url", defaultBaseURL, "public `URL` of the service, the prefix of links")
}

func nameFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.name, "name", "", "`name` of the partner")
}

func partnerFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.partner, "partner", "", "`id` of the partner")
}

func scopesFlag(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.scopes, "scopes", "", "`scopes` of the credential, separated by commas: "+strings.Join(credential.Scopes, ", "))
}

func overlapFlag(fs *flag.FlagSet, o *options) {
	fs.DurationVar(&o.overlap, "overlap", admin.SecretOverlap, "how long the secret before stays good; 0 ends it at once")
}

// termsFlags are the terms of a partner.
func termsFlags(fs *flag.FlagSet, o *options) {
	fs.Int64Var(&o.reviewLimit, "review-limit-cents", 0, "orders over `this` wait for a manual review; 0: none does (default for a new partner)")
	fs.Int64Var(&o.serviceRate, "service-bp", 0, "commission on orders that the partner collects, in `basis points` (default for a new partner)")
	fs.Int64Var(&o.partnerRate, "partner-bp", 0, "the partner's commission on orders that the service collects, in `basis points` (default for a new partner)")
	fs.Int64Var(&o.brokerRate, "broker-bp", 0, "the partner's share of the service's brokerage fee, in `basis points` (default for a new partner)")
	fs.Int64Var(&o.referralRate, "referral-bp", 0, "the partner's share of a sale that it referred, in `basis points` (default for a new partner)")
}

func auditFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.subject, "subject", "", "`id` of an order, a credential, a partner or an account, or a domain")
	fs.StringVar(&o.actor, "actor", "", "`name` of who did it: a user of this machine, or \"partner \" and an id")
	fs.StringVar(&o.action, "action", "", "what was done: `action`, e.g. order.refund, or order for all that was done to orders")
	fs.StringVar(&o.since, "since", "", "`time` from which on, e.g. 24h or 7d ago, 2026-11-01 or 2026-11-01T08:00:00Z")
}

func retireFlag(fs *flag.FlagSet, o *options) {
	fs.BoolVar(&o.retire, "retire", false, "remove the keys before from the file, once no row is sealed with them")
}

func overwriteFlag(fs *flag.FlagSet, o *options) {
	fs.BoolVar(&o.overwrite, "overwrite", false, "replace the store that is there; its file is moved aside, not removed")
}

func credentialFlags(fs *flag.FlagSet, o *options) {
	fs.StringVar(&o.dev.keyID, "key-id", "", "`key id` of a partner's credential")
	fs.StringVar(&o.dev.secret, "secret", "", "its `secret`; better in "+secretVariable)
}

func signFlags(fs *flag.FlagSet, o *options) {
	d := &o.dev
	fs.StringVar(&d.body, "body", "", "`file` with the body of a request to sign; - is standard input")
	fs.StringVar(&d.idempotent, "idempotency-key", "", "`key` of the request")
	fs.StringVar(&d.timestamp, "timestamp", "", "`seconds` of Unix time to sign (default now)")
	fs.StringVar(&d.nonce, "nonce", "", "`text` that is sent once (default random)")
	fs.BoolVar(&d.canonical, "canonical", false, "print the text that is signed")
	fs.BoolVar(&d.curl, "curl", false, "print the request as a command")
	fs.BoolVar(&d.send, "send", false, "send the request to -base-url and print the answer")
}

func listenFlags(fs *flag.FlagSet, o *options) {
	d := &o.dev
	fs.StringVar(&d.addr, "addr", "127.0.0.1:0", "loopback `host:port` to take webhooks on; port 0 picks one")
	fs.StringVar(&d.webhookSecret, "webhook-secret", "", "`secret` of the webhook; better in "+webhookSecretVariable+" (default with -register: a fresh one)")
	fs.BoolVar(&d.register, "register", false, "register the address as the partner's webhook, and remove it at the end")
	fs.StringVar(&d.url, "url", "", "`URL` to register instead, of a tunnel that ends at -addr")
	fs.IntVar(&d.statusCode, "status-code", 0, "`status` to answer whatever comes (default 200 to what is genuine, 401 to the rest)")
	fs.DurationVar(&d.delay, "delay", 0, "how long to wait before the answer")
}
