package whois

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed labels.txt
var labelsText string

// A field is what a labelled value of a reply is about.
type field uint8

const (
	fieldNone field = iota
	fieldDomain
	fieldCreated
	fieldUpdated
	fieldChanged // updated; of several, the latest
	fieldExpires
	fieldNameserver
	fieldAddress // of the nameserver before it
	fieldRegistrar
	fieldRegistrarID
	fieldRegistrarURL
	fieldAbuseEmail
	fieldAbusePhone
	fieldWhoisServer
	fieldStatus
	fieldDNSSEC
	fieldDS
	fieldRegistrantName
	fieldRegistrantOrg
	fieldRegistrantCountry
	fieldSkip // of no interest, and no value of the heading above
)

var fieldNames = map[string]field{
	"domain": fieldDomain, "created": fieldCreated, "updated": fieldUpdated, "changed": fieldChanged,
	"expires": fieldExpires, "nameserver": fieldNameserver, "address": fieldAddress, "registrar": fieldRegistrar,
	"registrarid": fieldRegistrarID, "registrarurl": fieldRegistrarURL, "abuseemail": fieldAbuseEmail,
	"abusephone": fieldAbusePhone, "whoisserver": fieldWhoisServer, "status": fieldStatus, "dnssec": fieldDNSSEC,
	"ds": fieldDS, "registrantname": fieldRegistrantName, "registrantorg": fieldRegistrantOrg,
	"registrantcountry": fieldRegistrantCountry, "skip": fieldSkip,
}

// A section is the part of a reply that a line belongs to.
type section uint8

const (
	sectionTop section = iota
	sectionDomain
	sectionDates
	sectionRegistrar
	sectionRegistrant
	sectionNameservers
	sectionOther // a contact that we do not publish
	sectionAny   // only in labels.txt: all of them
	sections
)

var sectionNames = map[string]section{
	"top": sectionTop, "domain": sectionDomain, "dates": sectionDates, "registrar": sectionRegistrar,
	"registrant": sectionRegistrant, "nameservers": sectionNameservers, "other": sectionOther, "any": sectionAny,
}

// labels is labels.txt, indexed by folded label.
type labels struct {
	in    [sections]map[string]field
	opens map[string]section
	keys  map[string]bool // labels that begin an object about a contact
	leads []lead
}

type lead struct {
	text  string
	field field
}

// find is the field that the label carries in the section.
func (l *labels) find(in section, label []byte) field {
	if f, ok := l.in[in][string(label)]; ok {
		return f
	}
	if f, ok := l.in[sectionAny][string(label)]; ok {
		return f
	}
	if in == sectionDomain || in == sectionNameservers || in == sectionDates {
		return l.in[sectionTop][string(label)]
	}
	return fieldNone
}

var vocabulary = sync.OnceValue(func() *labels {
	l, err := readLabels(labelsText)
	if err != nil {
		panic("whois: labels.txt: " + err.Error())
	}
	return l
})

// readLabels reads the format that the head of labels.txt describes.
func readLabels(text string) (*labels, error) {
	l := &labels{opens: map[string]section{}, keys: map[string]bool{}}
	for i := range l.in {
		l.in[i] = map[string]field{}
	}
	in := sectionAny
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		head, rest, colon := strings.Cut(line, ":")
		words := strings.Fields(head)
		var err error
		switch {
		case !colon && len(words) == 2 && words[0] == "in":
			var known bool
			if in, known = sectionNames[words[1]]; !known {
				err = fmt.Errorf("unknown section %q", words[1])
			}
		case !colon:
			err = fmt.Errorf("no colon")
		default:
			err = l.define(in, words, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return l, nil
}

// define takes one line: the words before its colon, and the labels behind it.
func (l *labels) define(in section, head []string, list string) error {
	what := head[len(head)-1]
	f, isField := fieldNames[what]
	for label := range strings.SplitSeq(list, ",") {
		label = strings.TrimSpace(label)
		if label == "" {
			return fmt.Errorf("an empty label")
		}
		switch {
		case len(head) == 1 && isField:
			if old, twice := l.in[in][label]; twice && old != f {
				return fmt.Errorf("label %q means two things", label)
			}
			l.in[in][label] = f
		case len(head) == 2 && head[0] == "lead" && isField:
			l.leads = append(l.leads, lead{label, f})
		case len(head) == 2 && head[0] == "open":
			s, known := sectionNames[what]
			if !known {
				return fmt.Errorf("unknown section %q", what)
			}
			l.opens[label] = s
		case strings.Join(head, " ") == "open other when key":
			l.keys[label] = true
		default:
			return fmt.Errorf("unknown word %q", what)
		}
	}
	return nil
}
