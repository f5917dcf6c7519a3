package whois

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	whoisparser "github.com/likexian/whois-parser"

	"github.com/namewharf/namewharf/fqdn"
)

var update = flag.Bool("update", false, "write docs/accuracy.md")

const accuracyDoc = "../../docs/accuracy.md"

// TestAccuracy reads the test data of whois-parser, compares with what that project
// expects of them, and holds docs/accuracy.md to the outcome.
func TestAccuracy(t *testing.T) {
	t.Parallel()
	samples := readSamples(t)
	ours := count(t, samples, parseOurs)
	theirs := count(t, samples, parseTheirs)
	cases := append(readReplies(t, "replies.txt"), readReplies(t, "published.txt")...)
	hand := countHand(cases)
	got := accuracyPage(samples, ours, theirs) + handPage(hand) + suffixPage(cases)

	if n := ours.falseFree + hand.falseFree; n > 0 {
		t.Errorf("%d replies wrongly judged free", n)
	}
	for _, bar := range []struct {
		what  string
		tally tally
		least float64
	}{
		{"free names", ours.free, 0.95},
		{"dates", ours.dates, 0.92},
		{"nameserver sets", ours.nameservers, 0.97},
		{"registrars", ours.registrar, 0.90},
	} {
		if bar.tally.share() < bar.least {
			t.Errorf("%s: %s right, want at least %.0f %%", bar.what, bar.tally, 100*bar.least)
		}
	}
	if *update {
		if err := os.WriteFile(accuracyDoc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(accuracyDoc)
	if err != nil || string(want) != got {
		t.Errorf("docs/accuracy.md is stale (%v); run go test ./lookup/whois -run TestAccuracy -update", err)
	}
}

// A sample is one reply and what is expected of it.
type sample struct {
	file string
	name fqdn.Name
	body []byte
	kind Verdict // Registered, Free or Reserved
	want expectation
}

type expectation struct {
	Domain struct {
		Created     string   `json:"created_date"`
		Updated     string   `json:"updated_date"`
		Expires     string   `json:"expiration_date"`
		Nameservers []string `json:"name_servers"`
	} `json:"domain"`
	Registrar struct {
		Name string `json:"name"`
	} `json:"registrar"`
}

// corrections are expectations of whois-parser that its replies contradict, with what the reply says.
var corrections = []struct {
	prefix, why string
	fix         func(*expectation)
}{
	{
		"ee_git.", "the last \"changed\" of the reply belongs to the nameservers; the domain's own is 2019-12-13",
		func(e *expectation) { e.Domain.Updated = "2019-12-13T18:50:04+02:00" },
	},
	{
		"ee_google.", "the last \"changed\" of the reply belongs to the nameservers; the domain's own is 2020-10-20",
		func(e *expectation) { e.Domain.Updated = "2020-10-20T20:40:09+03:00" },
	},
	{
		"ee_telia.", "the last \"changed\" of the reply belongs to the nameservers; the domain's own is 2020-08-03",
		func(e *expectation) { e.Domain.Updated = "2020-08-03T00:41:44+03:00" },
	},
	{
		"it_git.", "AM-REG is the registrar's handle; its name stands in the line above",
		func(e *expectation) { e.Registrar.Name = "Algorithmedia S.r.l." },
	},
	{
		"it_google.", "MARKMONITOR-REG is the registrar's handle; its name stands in the line above",
		func(e *expectation) { e.Registrar.Name = "MarkMonitor International Limited" },
	},
}

func readSamples(t *testing.T) []sample {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/likexian/whois-parser").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	if _, statErr := os.Stat(filepath.Join(dir, "noterror")); err != nil || statErr != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("whois-parser's test data is not there: %v, %v", err, statErr)
		}
		t.Skipf("whois-parser's test data is not there: %v, %v", err, statErr)
	}
	var samples []sample
	for _, kind := range []struct {
		folder  string
		verdict Verdict
	}{{"noterror", Registered}, {"notfound", Free}} {
		files, err := filepath.Glob(filepath.Join(dir, kind.folder, "*_*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no replies in %s: %v", kind.folder, err)
		}
		for _, file := range files {
			if ext := filepath.Ext(file); ext == ".json" || ext == ".pre" {
				continue
			}
			samples = append(samples, readSample(t, file, kind.verdict))
		}
	}
	return samples
}

func readSample(t *testing.T, file string, kind Verdict) sample {
	t.Helper()
	_, name, _ := strings.Cut(filepath.Base(file), "_")
	s := sample{file: filepath.Base(file), name: fqdn.MustParse(name), kind: kind}
	var err error
	if s.body, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if reservedSamples[s.file] {
		s.kind = Reserved
	}
	if s.kind != Registered {
		return s
	}
	text, err := os.ReadFile(file + ".json")
	if err == nil {
		err = json.Unmarshal(text, &s.want)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, c := range corrections {
		if strings.HasPrefix(s.file, c.prefix) {
			c.fix(&s.want)
		}
	}
	return s
}

// reservedSamples are free by whois-parser, though they cannot be registered.
var reservedSamples = map[string]bool{"name_login.name": true, "name_science.name": true}

// A tally counts right answers.
type tally struct{ right, of int }

func (t *tally) add(right bool) {
	t.of++
	if right {
		t.right++
	}
}

func (t tally) share() float64 {
	if t.of == 0 {
		return 0
	}
	return float64(t.right) / float64(t.of)
}

func (t tally) String() string {
	return fmt.Sprintf("%d of %d (%.1f %%)", t.right, t.of, 100*t.share())
}

type score struct {
	free, reserved, registered, dates, nameservers, registrar tally
	falseFree                                                 int
}

// A parsed reply, as far as it is compared.
type parsed struct {
	verdict                   Verdict
	created, updated, expires time.Time
	nameservers               []string
	registrar                 string
}

func parseOurs(s sample) parsed {
	suffix := s.name.Parent()
	if suffix.IsZero() {
		suffix = s.name
	}
	r := Parse(suffix, s.name, s.body)
	p := parsed{
		verdict: r.Verdict, created: r.Record.Created, updated: r.Record.Updated, expires: r.Record.Expires,
		registrar: r.Record.Registrar.Name,
	}
	for _, ns := range r.Record.Nameservers {
		p.nameservers = append(p.nameservers, ns.Host)
	}
	return p
}

func parseTheirs(s sample) parsed {
	info, err := whoisparser.Parse(string(s.body))
	switch {
	case errors.Is(err, whoisparser.ErrNotFoundDomain):
		return parsed{verdict: Free}
	case errors.Is(err, whoisparser.ErrReservedDomain):
		return parsed{verdict: Reserved}
	case err != nil:
		return parsed{verdict: Unknown}
	}
	p := parsed{verdict: Registered}
	if d := info.Domain; d != nil {
		p.nameservers = d.NameServers
		for _, x := range []struct {
			from *time.Time
			to   *time.Time
		}{{d.CreatedDateInTime, &p.created}, {d.UpdatedDateInTime, &p.updated}, {d.ExpirationDateInTime, &p.expires}} {
			if x.from != nil {
				*x.to = x.from.UTC()
			}
		}
	}
	if info.Registrar != nil {
		p.registrar = info.Registrar.Name
	}
	return p
}

func count(t *testing.T, samples []sample, parse func(sample) parsed) score {
	t.Helper()
	var sc score
	for _, s := range samples {
		got := parse(s)
		if s.kind != Free && got.verdict == Free {
			sc.falseFree++
		}
		switch s.kind {
		case Free:
			sc.free.add(got.verdict == Free)
			if got.verdict != Free {
				t.Logf("%s: got %s, want free", s.file, got.verdict)
			}
		case Reserved:
			sc.reserved.add(got.verdict == Reserved)
		default:
			sc.registered.add(got.verdict == Registered)
			sc.fields(t, s, got)
		}
	}
	return sc
}

// fields compares the fields of a registered name, as far as whois-parser expects any.
func (sc *score) fields(t *testing.T, s sample, got parsed) {
	t.Helper()
	d := s.want.Domain
	for _, x := range []struct {
		what, text string
		got        time.Time
	}{{"created", d.Created, got.created}, {"updated", d.Updated, got.updated}, {"expires", d.Expires, got.expires}} {
		if x.text == "" {
			continue
		}
		want := expectedDate(t, s.file, x.text)
		same := x.got.Truncate(time.Second).Equal(want)
		sc.dates.add(same)
		if !same {
			t.Logf("%s: %s: got %v, want %v", s.file, x.what, x.got, want)
		}
	}
	if len(d.Nameservers) > 0 {
		same := slices.Equal(hosts(got.nameservers), hosts(d.Nameservers))
		sc.nameservers.add(same)
		if !same {
			t.Logf("%s: nameservers: got %q, want %q", s.file, got.nameservers, d.Nameservers)
		}
	}
	if want := s.want.Registrar.Name; want != "" {
		same := strings.EqualFold(strings.Join(strings.Fields(got.registrar), " "), strings.Join(strings.Fields(want), " "))
		sc.registrar.add(same)
		if !same {
			t.Logf("%s: registrar: got %q, want %q", s.file, got.registrar, want)
		}
	}
}

// hosts is a set of host names in one spelling.
func hosts(list []string) []string {
	set := make([]string, 0, len(list))
	for _, h := range list {
		if n, err := fqdn.Parse(h); err == nil {
			h = n.String()
		}
		set = append(set, h)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// accuracyPage is docs/accuracy.md.
func accuracyPage(samples []sample, ours, theirs score) string {
	var b strings.Builder
	b.WriteString("# How well WHOIS replies are read\n\n" +
		"This page is written by `go test ./lookup/whois -run TestAccuracy -update`, and the test fails when it is stale.\n\n")
	fmt.Fprintf(&b, "The replies are the test data of `github.com/likexian/whois-parser` v%s: %d replies, %d of registered names with\n"+
		"what that project expects of them, %d of free names and %d of reserved ones. A date counts as right if it is the same second\n"+
		"in UTC, a nameserver set if no host is missing and none is added, a registrar if its name is the same but for case and blanks.\n\n",
		whoisparser.Version(), len(samples), ours.registered.of, ours.free.of, ours.reserved.of)
	b.WriteString("| | here | whois-parser |\n| --- | --- | --- |\n")
	for _, row := range []struct {
		what         string
		ours, theirs fmt.Stringer
	}{
		{"free names recognised", ours.free, theirs.free},
		{"falsely free", falsely{ours.falseFree}, falsely{theirs.falseFree}},
		{"registered names recognised", ours.registered, theirs.registered},
		{"reserved names recognised", ours.reserved, theirs.reserved},
		{"dates right", ours.dates, theirs.dates},
		{"nameserver sets right", ours.nameservers, theirs.nameservers},
		{"registrars right", ours.registrar, theirs.registrar},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.what, row.ours, row.theirs)
	}
	b.WriteString("\nThe phrases and labels here were made with these replies at hand, so the figures say that nothing is lost, not how\n" +
		"unseen replies fare. whois-parser leaves the times of many date formats unset; a date that it only repeats as text counts as wrong.\n" +
		"Two registrars differ on purpose: the tag of .uk (`[Tag = X]`) and the link of .kr (`(http://…)`) are not part of the name.\n\n" +
		"## Expectations that were corrected\n\n| reply | why |\n| --- | --- |\n")
	for _, c := range corrections {
		fmt.Fprintf(&b, "| `%s*` | %s |\n", c.prefix, c.why)
	}
	for _, s := range samples {
		if s.kind == Reserved {
			fmt.Fprintf(&b, "| `%s` | filed under not found, but the reply says that nobody can register the name |\n", s.file)
		}
	}
	return b.String()
}

// A handScore is what was read right of the replies in testdata.
type handScore struct {
	free, registered, reserved, throttled, other, dates, nameservers, registrars tally
	falseFree                                                                    int
}

func countHand(cases []replyCase) handScore {
	var sc handScore
	for _, c := range cases {
		r := Parse(c.suffix, c.name, c.body)
		right := r.Verdict == c.verdict
		if r.Verdict == Free && !right {
			sc.falseFree++
		}
		switch c.verdict {
		case Free:
			sc.free.add(right)
		case Reserved:
			sc.reserved.add(right)
		case Throttled:
			sc.throttled.add(right)
		case Registered:
			sc.registered.add(right)
			got := summary(r)
			for key, to := range map[string]*tally{
				"created": &sc.dates, "updated": &sc.dates, "expires": &sc.dates, "ns": &sc.nameservers, "registrar": &sc.registrars,
			} {
				if want := c.want[key]; want != "" {
					to.add(got[key] == want)
				}
			}
		default:
			sc.other.add(right)
		}
	}
	return sc
}

// before are the figures of the same replies with the phrases and labels as they were before the registries without RDAP
// were gone through.
var before = handScore{
	free: tally{109, 127}, registered: tally{71, 80}, reserved: tally{13, 25}, throttled: tally{33, 38}, other: tally{19, 23},
	dates: tally{138, 140}, nameservers: tally{57, 60}, registrars: tally{39, 47}, falseFree: 2,
}

func handPage(now handScore) string {
	var b strings.Builder
	b.WriteString("\n## Replies written by hand\n\n" +
		"The replies of `lookup/whois/testdata` are in the manner of those that registries publish, with made-up names. The first column\n" +
		"is how they were read before the registries without RDAP were gone through.\n\n| | before | now |\n| --- | --- | --- |\n")
	for _, row := range []struct {
		what        string
		before, now fmt.Stringer
	}{
		{"free names recognised", before.free, now.free},
		{"falsely free", falsely{before.falseFree}, falsely{now.falseFree}},
		{"registered names recognised", before.registered, now.registered},
		{"reserved names recognised", before.reserved, now.reserved},
		{"throttled replies recognised", before.throttled, now.throttled},
		{"denied, invalid and unusable replies recognised", before.other, now.other},
		{"dates right", before.dates, now.dates},
		{"nameserver sets right, with addresses", before.nameservers, now.nameservers},
		{"registrars right", before.registrars, now.registrars},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.what, row.before, row.now)
	}
	return b.String()
}

// suffixPage is the table of the registries, with what is known of each and from where.
func suffixPage(cases []replyCase) string {
	kinds := map[*registry]map[Verdict]int{}
	for _, c := range cases {
		r := tables().of(c.suffix)
		if kinds[r] == nil {
			kinds[r] = map[Verdict]int{}
		}
		kinds[r][c.verdict]++
	}
	rows := map[*registry][]string{}
	for suffix, r := range tables().suffix {
		rows[r] = append(rows[r], suffix)
	}
	var lines []string
	for r, suffixes := range rows {
		slices.Sort(suffixes)
		own, borrows := map[Verdict]int{}, false
		for _, p := range r.own {
			if borrows = borrows || p.borrowed; !p.borrowed {
				own[p.verdict]++
			}
		}
		var said, shown []string
		for _, v := range []Verdict{Free, Registered, Reserved, Throttled, Invalid, Denied} {
			if own[v] > 0 {
				said = append(said, fmt.Sprintf("%d %s", own[v], v))
			}
			if kinds[r][v] > 0 {
				shown = append(shown, fmt.Sprintf("%d %s", kinds[r][v], v))
			}
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", strings.Join(suffixes, " "), orDash(said), yesNo(borrows || !r.has(Free)),
			orDash(shown), orDash(r.sources)))
	}
	slices.Sort(lines)
	return "\n## Registry by registry\n\n" +
		"What `lookup/whois/registries.txt` has of each registry: how many lines that say something (those of lists that it borrows\n" +
		"are not counted), whether the general weak phrases count there too, the replies in testdata, and where the lines can be\n" +
		"looked up (the file names the sources; a dash: the general lists alone, or the registry's own documents). Every other suffix is judged\n" +
		"by the general lists and the strong forms, which repeat the name.\n\n" +
		"| suffixes | own lines | general phrases | replies | sources |\n| --- | --- | --- | --- | --- |\n" + strings.Join(lines, "")
}

func orDash(words []string) string {
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

type falsely struct{ n int }

func (f falsely) String() string { return fmt.Sprint(f.n) }

// expectedDate reads the dates of the expectations without the parser under test.
func expectedDate(t *testing.T, file, text string) time.Time {
	t.Helper()
	plain := strings.NewReplacer(" (YYYY-MM-DD)", "", " (JST)", " +09:00", " (UTC+8)", " +08:00", " (GMT+0:00)", " +00:00",
		"before ", "", "-T", "T").Replace(text)
	plain, _, _ = strings.Cut(plain, " #")
	layouts := []string{
		time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05", "2006-01-02 15:04:05 -07:00", "2006-01-02 15:04:05-07",
		"2006-01-02", "2006.01.02 15:04:05", "2006/01/02 15:04:05 -07:00", "2006/01/02", "2006. 01. 02.", "20060102", "20060102 15:04:05",
		"2.1.2006 15:04:05", "2.1.2006", "02-Jan-2006", "2 January 2006", "02-01-2006", "01/02/2006",
	}
	for _, layout := range layouts {
		if d, err := time.Parse(layout, plain); err == nil {
			return d.UTC().Truncate(time.Second)
		}
	}
	t.Fatalf("%s: no layout for the expected date %q", file, text)
	return time.Time{}
}
