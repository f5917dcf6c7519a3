package brokerage

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// parkedText is the data file of what parked domains look like; its head explains it.
//
//go:embed parked.txt
var parkedText string

var parking = mustParseParking(parkedText)

// A parkingList is what parked domains are recognised by.
type parkingList struct {
	nameservers []string   // suffixes of host names
	hosts       []string   // of landers: where a redirect, a frame or a script of a parked page leads
	titles      []string   // whole titles, lower case
	phrases     [][]string // texts that a short page holds, all of one row, lower case
	markup      []string   // in the source of the page, lower case
}

func mustParseParking(text string) parkingList {
	l, err := parseParking(text)
	if err != nil {
		panic("brokerage: " + err.Error())
	}
	return l
}

// parseParking reads the data file: "kind value" lines, with comments behind #.
func parseParking(text string) (l parkingList, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, " # ")
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, value, _ := strings.Cut(line, " ")
		value = strings.ToLower(strings.TrimSpace(value))
		if value == "" {
			return parkingList{}, fmt.Errorf("line %d of the list of parked pages holds no value", i+1)
		}
		switch kind {
		case "ns":
			l.nameservers = append(l.nameservers, value)
		case "host":
			l.hosts = append(l.hosts, value)
		case "title":
			l.titles = append(l.titles, value)
		case "text":
			l.phrases = append(l.phrases, strings.Split(value, " + "))
		case "markup":
			l.markup = append(l.markup, value)
		default:
			return parkingList{}, fmt.Errorf("line %d of the list of parked pages is of an unknown kind", i+1)
		}
	}
	return l, nil
}

// under reports whether a host is one of the suffixes or below one.
func under(host string, suffixes []string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(suffixes, func(s string) bool { return host == s || strings.HasSuffix(host, "."+s) })
}

func (l parkingList) nameserver(host string) bool { return under(host, l.nameservers) }
func (l parkingList) host(host string) bool       { return under(host, l.hosts) }

// Bounds of what counts as a page without content.
const (
	emptyText = 40   // characters that nobody calls a site
	shortText = 1200 // a page with more of its own is a site, whatever words it holds
	titleText = 4000 // beside a title of a parking service, which repeats it in lists of links
)

// page reports whether a page is parked, a default page of a server, or empty.
func (l parkingList) page(source []byte) bool {
	p := readPage(source)
	lower := strings.ToLower(string(source))
	if slices.ContainsFunc(l.markup, func(m string) bool { return strings.Contains(lower, m) }) {
		return true
	}
	if slices.ContainsFunc(p.hosts, l.host) && len(p.text) < shortText {
		return true
	}
	if slices.Contains(l.titles, p.title) && len(p.text) < titleText {
		return true
	}
	if len(p.text) < shortText {
		all := p.title + "\n" + p.text
		if slices.ContainsFunc(l.phrases, func(row []string) bool {
			return !slices.ContainsFunc(row, func(phrase string) bool { return !strings.Contains(all, phrase) })
		}) {
			return true
		}
	}
	return len(p.text) < emptyText && !p.rich
}

// A seenPage is what a person sees of a page, as far as its source tells.
type seenPage struct {
	title string   // lower case, spaces collapsed
	text  string   // the same, without scripts and styles
	hosts []string // of frames, scripts, forms and refreshes
	rich  bool     // it holds what draws a page without text: pictures, scripts, frames, forms
}

// readPage reads a page, however broken its markup is.
func readPage(source []byte) seenPage {
	var p seenPage
	var text, title strings.Builder
	z := html.NewTokenizer(strings.NewReader(string(source)))
	hidden, inTitle := 0, false
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				p.rich = true // cut or broken: not an empty page
			}
			p.title, p.text = collapse(title.String()), collapse(text.String())
			return p
		case html.TextToken:
			switch {
			case inTitle:
				title.Write(z.Text())
			case hidden == 0:
				text.Write(z.Text())
				text.WriteByte(' ')
			}
		case html.StartTagToken, html.SelfClosingTagToken: // browsers do not tell <script/> from <script>
			p.element(z.Token(), &hidden, &inTitle)
		case html.EndTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "script", "style", "noscript", "template":
				hidden = max(0, hidden-1)
			case "title":
				inTitle = false
			}
		}
	}
}

// element notes what a start tag says.
func (p *seenPage) element(t html.Token, hidden *int, inTitle *bool) {
	switch t.Data {
	case "script", "style", "noscript", "template":
		*hidden++
	case "title":
		*inTitle = true
	}
	switch t.Data {
	case "script", "iframe", "frame", "img", "picture", "svg", "video", "canvas", "form", "object", "embed":
		p.rich = true
	}
	refresh := false
	for _, a := range t.Attr {
		switch {
		case a.Key == "http-equiv" && strings.EqualFold(a.Val, "refresh"):
			refresh = true
		case a.Key == "src" || a.Key == "action":
			p.addHost(a.Val)
		}
	}
	if refresh {
		p.rich = true
		for _, a := range t.Attr {
			if _, to, ok := strings.Cut(strings.ToLower(a.Val), "url="); ok && a.Key == "content" {
				p.addHost(strings.Trim(to, `'" `))
			}
		}
	}
}

// addHost notes the host of an absolute URL.
func (p *seenPage) addHost(link string) {
	_, rest, ok := strings.Cut(link, "//")
	if !ok || len(p.hosts) >= 64 {
		return
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, ":")
	p.hosts = append(p.hosts, host)
}

// collapse is a text in lower case with single spaces.
func collapse(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}
