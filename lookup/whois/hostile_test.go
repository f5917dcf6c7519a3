package whois

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fqdn"
)

// freeLines are lines that call the name free: the weak phrases of its registry and every strong form.
func freeLines(suffix, name fqdn.Name) []string {
	var lines []string
	r := tables().of(suffix)
	for _, list := range r.phrases {
		for _, p := range list {
			if p.verdict == Free && !p.open && len(p.within) == 0 {
				line := p.before
				if p.named {
					line += name.String() + p.after
				}
				lines = append(lines, line)
			}
		}
	}
	label, _, _ := strings.Cut(name.String(), ".")
	for _, form := range slices.Sorted(maps.Keys(r.strong.forms)) {
		lines = append(lines, strings.NewReplacer("{name}", name.String(), "{label}", label).Replace(form))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestStrongFormsCountEverywhere reads each strong form at a registry that has other phrases of its own.
func TestStrongFormsCountEverywhere(t *testing.T) {
	t.Parallel()
	suffix, name := fqdn.MustParse("com"), fqdn.MustParse("quarry-lantern.com")
	for form := range tables().of(suffix).strong.forms {
		line := strings.NewReplacer("{name}", `"QUARRY-LANTERN.COM"`, "{label}", "QUARRY-LANTERN").Replace(form)
		if r := Parse(suffix, name, []byte("% terms\n\n"+line+".\n")); r.Verdict != Free {
			t.Errorf("%q judged %s", line, r.Verdict)
		}
		other := strings.NewReplacer("{name}", "quarry.com", "{label}", "quarry").Replace(form)
		if r := Parse(suffix, name, []byte(other+"\n")); r.Verdict == Free {
			t.Errorf("%q, about another name, judged free", other)
		}
		for _, not := range []string{"not " + line, line + " unless it is reserved", "If " + line} {
			if r := Parse(suffix, name, []byte(not+"\n")); r.Verdict == Free {
				t.Errorf("%q judged free", not)
			}
		}
	}
}

// TestHolderCannotFreeAName puts lines that call the name free where holders write: into their names, their addresses and
// remarks, and between any two lines of a registration.
func TestHolderCannotFreeAName(t *testing.T) {
	t.Parallel()
	for _, c := range append(readReplies(t, "replies.txt"), readReplies(t, "published.txt")...) {
		if c.verdict != Registered {
			continue
		}
		lines := freeLines(c.suffix, c.name)
		for i, line := range lines {
			if i%16 != len(c.body)%16 { // other replies try the others
				continue
			}
			for _, extra := range []string{
				"\r\n\r\nRegistrant:\r\n   " + line + "\r\n   1 High Street\r\n",
				"\r\nRegistrant Name: " + line + "\r\n", "\r\nremarks: " + line + "\r\n", "\r\n" + line, "\r\n\r\n" + line + "\r\n",
			} {
				for _, body := range [][]byte{append(slices.Clip(c.body), extra...), append([]byte(extra), c.body...)} {
					if r := Parse(c.suffix, c.name, body); r.Verdict == Free {
						t.Fatalf("%s (%s): free with %q", c.name, c.title, extra)
					}
				}
			}
			if i%3 != 0 { // between all lines: some of the phrases do
				continue
			}
			for at := range c.body {
				if c.body[at] != '\n' {
					continue
				}
				body := slices.Concat(c.body[:at+1], []byte(line+"\r\n"), c.body[at+1:])
				if r := Parse(c.suffix, c.name, body); r.Verdict == Free {
					t.Fatalf("%s (%s): free with %q behind %q", c.name, c.title, line, c.body[:at])
				}
			}
		}
	}
}

// TestCutRepliesAreNotFree cuts the replies about registered names at every byte.
func TestCutRepliesAreNotFree(t *testing.T) {
	t.Parallel()
	for _, c := range append(readReplies(t, "replies.txt"), readReplies(t, "published.txt")...) {
		if c.verdict != Registered || bytes.HasPrefix(c.body, []byte("No match")) { // that one begins as a free name's
			continue
		}
		for at := range c.body {
			if r := Parse(c.suffix, c.name, c.body[:at]); r.Verdict == Free {
				t.Errorf("%s (%s): free when cut behind %q", c.name, c.title, c.body[:at])
			}
		}
	}
}

// TestReservedBeatsFree puts every phrase for reserved names beside lines that call the name free, in either order.
func TestReservedBeatsFree(t *testing.T) {
	t.Parallel()
	for _, tld := range []string{"com", "jp", "io", "xyz", "gd", "om", "de"} {
		suffix := fqdn.MustParse(tld)
		name := fqdn.MustParse("quarry-lantern." + tld)
		r := tables().of(suffix)
		free := freeLines(suffix, name)
		for _, ps := range []phrases{r.phrases, r.refusals} {
			for _, list := range ps {
				for _, p := range list {
					if p.verdict != Reserved || len(p.within) > 0 {
						continue
					}
					line := p.before
					if p.named {
						line += name.String() + p.after
					}
					for _, f := range free {
						for _, body := range []string{line + "\n" + f + "\n", f + "\n" + line + "\n"} {
							if got := Parse(suffix, name, []byte(body)); got.Verdict == Free {
								t.Errorf(".%s: free: %q", tld, body)
							}
						}
					}
				}
			}
		}
	}
}

// FuzzHolder shows that no name, address or remark of a holder makes a registered name free: the text is where
// registries print it, a line break of it with the blanks of the line above.
func FuzzHolder(f *testing.F) {
	for _, s := range []string{"NOT FOUND", "No match for quarry-lantern.com", "\nStatus: free", "Ada\n\nDomain not found", "x\n\nquarry-lantern.com is free", "Domain Status:\nAvailable", "-\n\nNo Data Found"} {
		f.Add("com", s)
		f.Add("hu", s)
		f.Add("xyz", s)
	}
	f.Fuzz(func(t *testing.T, tld, text string) {
		suffix, err := fqdn.Parse(tld)
		if err != nil || suffix.Dots() > 1 {
			t.Skip()
		}
		name, err := fqdn.MustParse("quarry-lantern").Under(suffix)
		if err != nil {
			t.Skip()
		}
		text = strings.NewReplacer("\r", "\n   ", "\n", "\n   ").Replace(text)
		for _, body := range []string{
			fmt.Sprintf("Domain Name: %s\nRegistrant:\n   %s\n\nAdministrative Contact:\n   %s\n", name, "Ada "+text, text),
			fmt.Sprintf("domain: %s\nstatus: active\n\nperson: Ada\nremarks: %s\n", name, text),
			fmt.Sprintf("Domain Name: %s\nRegistrar: R\nRegistrant Name: %s\n", name, text),
			fmt.Sprintf("%s\n\nRegistrar: R\nName Server: ns1.quarry.example\n", text),
		} {
			if r := Parse(suffix, name, []byte(body)); r.Verdict == Free {
				t.Errorf("free: %q", body)
			}
		}
	})
}

// TestRegistrarNames parts names from handles.
func TestRegistrarNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][3]string{
		"Quarry Inc.":                           {"Quarry Inc.", "", ""},
		"Quarry Inc. (R84-AFIN)":                {"Quarry Inc.", "", ""},
		"Quarry Inc. (R1733-PRO)":               {"Quarry Inc.", "", ""},
		"Quarry Inc. R12-ASIA (292)":            {"Quarry Inc.", "", "292"},
		"Quarry Inc. R12-ASIA":                  {"Quarry Inc.", "", ""},
		"Quarry Ltd t/a Lantern [Tag = LAMP]":   {"Quarry Ltd t/a Lantern", "", ""},
		"Quarry Ltd\t[Tag = LAMP]":              {"Quarry Ltd", "", ""},
		"Quarry [ ID = quarry ]":                {"Quarry", "", ""},
		"Quarry (https://quarry.example)":       {"Quarry", "https://quarry.example", ""},
		"Quarry ( http://quarry.example )":      {"Quarry", "http://quarry.example", ""},
		"Quarry (Ireland)":                      {"Quarry (Ireland)", "", ""},
		"1API GmbH":                             {"1API GmbH", "", ""},
		"REG-42":                                {"REG-42", "", ""},
		"R5-ASIA":                               {"R5-ASIA", "", ""},
		"Quarry 24-7":                           {"Quarry 24-7", "", ""},
		"Quarry (1999)":                         {"Quarry (1999)", "", ""},
		"none":                                  {"", "", ""},
		"-":                                     {"", "", ""},
		"Names (UK) Ltd (R7-LRMS)":              {"Names (UK) Ltd", "", ""},
		"Quarry & Söhne [Tag = A] behind a tag": {"Quarry & Söhne [Tag = A] behind a tag", "", ""},
	} {
		name, url, id := registrarName(in)
		if got := [3]string{name, url, id}; got != want {
			t.Errorf("%q parted into %q, want %q", in, got, want)
		}
	}
}

// TestMonthsOfOtherLanguages reads dates as registries of other languages write them.
func TestMonthsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"15-abr-2010": "2010-04-15", "15 de enero de 2010": "2010-01-15", "3 dezembro 2011": "2011-12-03", "15 mai 2012": "2012-05-15",
		"1. Oktober 2013": "2013-10-01", "7 juin 2014": "2014-06-07", "30-ago-2015": "2015-08-30", "2016-set-12": "2016-09-12",
	} {
		if d, ok := parseDate(in, false); !ok || d.Format("2006-01-02") != want {
			t.Errorf("%q read as %v, want %s", in, d, want)
		}
	}
}

// TestLongRepliesStayFast parses replies that are all headings, labels or phrases within the size limit.
func TestLongRepliesStayFast(t *testing.T) {
	t.Parallel()
	suffix, name := fqdn.MustParse("xyz"), fqdn.MustParse("quarry-lantern.xyz")
	for _, line := range []string{"a:\n", "no match for quarry-lantern.xyz x\n", "Registrant:\n", "....................\n", "limit exceed\n"} {
		r := Parse(suffix, name, bytes.Repeat([]byte(line), maxBody/len(line)))
		if r.Verdict == Free {
			t.Errorf("%q repeated: free", line)
		}
	}
}
