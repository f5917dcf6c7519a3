package tools

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market/ideas"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// SuggestIn asks for free names that fit an idea.
type SuggestIn struct {
	Q         Idea        `json:"q" jsonschema:"what the name is for: a phrase, a label or a domain"`
	TLDs      IdeaTLDs    `json:"tlds,omitzero" jsonschema:"TLDs to suggest names under; com and two that fit when left out"`
	Limit     IdeaLimit   `json:"limit,omitzero" jsonschema:"free names wanted; 20 when left out"`
	MaxLength LabelLength `json:"max_length,omitzero" jsonschema:"longest label; 18 when left out"`
	Styles    Styles      `json:"styles,omitzero" jsonschema:"ways to make names; all when left out"`
}

// SuggestOut is names that can be registered or are for sale, best first.
type SuggestOut struct {
	Query       string       `json:"query"`
	Words       []string     `json:"words" jsonschema:"of the query, that names were made of"`
	Suggestions []Suggestion `json:"suggestions"`
	Checked     int          `json:"checked" jsonschema:"how many names were looked up"`
	CheckedAt   time.Time    `json:"checked_at" jsonschema:"when the oldest verdict was made"`
}

// A Suggestion is a name, and the verdict on it.
type Suggestion struct {
	Domain       string       `json:"domain"`
	TLD          string       `json:"tld"`
	Label        string       `json:"label"`
	Style        Style        `json:"style"`
	Words        []string     `json:"words"`
	Why          string       `json:"why"`
	Status       Status       `json:"status"`
	Available    op.Truth     `json:"available,omitzero" jsonschema:"absent when not certain"`
	Confidence   Confidence   `json:"confidence"`
	Registration Registration `json:"registration,omitzero" jsonschema:"what registering the name costs"`
	Renewal      Registration `json:"renewal,omitzero" jsonschema:"what renewing it costs"`
	Listing      Listing      `json:"listing,omitzero" jsonschema:"present when the name is for sale here"`
}

// An Idea is what a name is wanted for.
type Idea string

// Schema is a short text.
func (Idea) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(2), MaxLength: new(200)}
}

// IdeaTLDs are the TLDs of suggestions.
type IdeaTLDs SuffixList

// Schema is a short list of short texts.
func (IdeaTLDs) Schema() *jsonschema.Schema {
	s := SuffixList(nil).Schema()
	s.MaxItems = new(10)
	return s
}

// IdeaLimit is how many free names are wanted.
type IdeaLimit int

// defaultIdeas is how many free names are looked for when the caller does not say.
const defaultIdeas = 20

// Schema is a bounded integer.
func (IdeaLimit) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(50.0)}
}

// LabelLength is how long a label may be.
type LabelLength int

// Schema is a bounded integer.
func (LabelLength) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(4.0), Maximum: new(30.0)}
}

// Style is an [ideas.Style] on the wire.
type Style ideas.Style

// Schema is the enumeration of the styles.
func (Style) Schema() *jsonschema.Schema { return enum(ideas.Styles...) }

// Styles are ways to make names.
type Styles []Style

// Schema is a list of styles.
func (Styles) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: Style("").Schema(), MinItems: new(1), MaxItems: new(len(ideas.Styles))}
}

// Bounds of the work for one call.
const (
	// IdeaDeadline is how long suggestions may take: what is not known by then is not suggested.
	IdeaDeadline = 3 * time.Second
	// MaxIdeas is how many names are looked up for one call.
	MaxIdeas = 100
)

func (s *service) suggestDomains() op.Operation[SuggestIn, SuggestOut] {
	return op.Operation[SuggestIn, SuggestOut]{
		Name:      "suggest_domains",
		Title:     "Suggest domains",
		Doc:       "Makes names for an idea, and answers with those that are free or for sale here. Use it when there is no name yet.",
		Route:     op.Route{Method: "POST", Path: "/api/domain/suggest"},
		Batch:     true,
		Tool:      true,
		Effect:    op.Reads,
		Limit:     op.Lookup,
		PerCaller: true,
		Example:   SuggestIn{Q: "coffee shop in Berlin", Limit: 5},
		Text:      SuggestOut.text,
		Plan:      s.planIdeas,
	}
}

// planIdeas draws the most look-ups that the call may need. A refused input costs one.
func (s *service) planIdeas(_ context.Context, in SuggestIn) ([]op.Charge, func(context.Context) (SuggestOut, error)) {
	search, err := s.newIdeaSearch(in)
	if err != nil {
		return lookupsFor(1), func(context.Context) (SuggestOut, error) { return SuggestOut{}, err }
	}
	return lookupsFor(MaxIdeas), func(ctx context.Context) (SuggestOut, error) { return search.run(ctx), nil }
}

// Unused is the look-ups that were drawn and not needed: a call costs one for each ten names, and one at least.
func (o SuggestOut) Unused() []op.Charge {
	c := lookupsFor(MaxIdeas)
	c[0].Count -= lookupsFor(max(1, o.Checked))[0].Count
	return c
}

// An ideaSearch looks candidates up until enough of them are free.
type ideaSearch struct {
	*service
	in       SuggestIn
	maker    *ideas.Maker
	text     string
	words    []string
	suffixes []fqdn.Name // empty: those that fit
	limit    int
	all      []idea // in the order in which they are looked up

	out    SuggestOut
	free   int
	shown  map[string]bool   // labels
	known  map[fqdn.Name]int // verdicts by TLD, less those that are unknown
	unsure []Suggestion      // likely to be free: suggested when there are not enough others
}

// An idea is a candidate under a TLD.
type idea struct {
	name      fqdn.Name
	suffix    fqdn.Name
	candidate *ideas.Candidate
}

// newIdeaSearch reads what is asked for. Errors are [fault.Validation] on q or tlds.
func (s *service) newIdeaSearch(in SuggestIn) (*ideaSearch, error) {
	suffixes, err := SuffixList(in.TLDs).read(nil)
	if err != nil {
		return nil, err
	}
	asked := len(suffixes)
	if suffixes = slices.DeleteFunc(suffixes, s.unknown); asked > 0 && len(suffixes) == 0 {
		return nil, fault.Invalid("tlds", "has no TLD under which names are registered").
			WithHint("leave it out for com and two that fit, or see GET /api/tlds")
	}
	search := &ideaSearch{
		service: s, in: in, maker: ideas.New(s.cfg.Market.Lexicon()), text: s.ideaText(string(in.Q)), suffixes: suffixes,
		limit: int(in.Limit), shown: map[string]bool{}, known: map[fqdn.Name]int{},
	}
	if search.limit == 0 {
		search.limit = defaultIdeas
	}
	if search.words = search.maker.Read(search.text); len(search.words) == 0 {
		return nil, fault.Invalid("q", "has no words that names can be made of").
			WithHint("say in a few English words what the name is for, e.g. coffee shop in Berlin")
	}
	return search, nil
}

// unknown reports whether a suffix is not one under which names are registered.
func (s *service) unknown(suffix fqdn.Name) bool {
	name, err := fqdn.MustParse("name").Under(suffix)
	if err == nil {
		_, _, err = s.cfg.Lookup.Suffixes().Split(name)
	}
	return err != nil
}

// candidates makes what to look up. It takes milliseconds, so that a call is charged before.
func (s *ideaSearch) candidates() []idea {
	suffixes := s.suffixes
	hacks := func(text string) bool {
		return slices.ContainsFunc(suffixes, func(n fqdn.Name) bool { return n.String() == text })
	}
	if len(suffixes) == 0 {
		hacks = s.sold
		for _, text := range append([]string{"com"}, s.maker.TLDs(s.text, 2, s.sold)...) {
			suffixes = append(suffixes, fqdn.MustParse(text))
		}
	}
	wanted := ideas.Wanted{MaxLength: int(s.in.MaxLength), Limit: 2 * MaxIdeas, TLDs: hacks}
	for _, style := range s.in.Styles {
		wanted.Styles = append(wanted.Styles, ideas.Style(style))
	}
	return s.underTLDs(s.maker.Make(s.text, wanted), suffixes)
}

// ideaText is the label of a domain or a URL, and any other text as it is.
func (s *service) ideaText(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, " \t\r\n") || !strings.Contains(text, ".") {
		return text
	}
	about, err := Query(text).read(s.cfg.Lookup.Suffixes())
	if err != nil {
		return text
	}
	return about.labels[0].Unicode()
}

// sold reports whether names can be registered here under a TLD.
func (s *service) sold(text string) bool {
	name, err := fqdn.Parse(text)
	return err == nil && s.registration(name, tld.Register) != Registration{}
}

// nextTLD is how many names are looked up under the TLDs of first choice before a label is tried under its next one.
const nextTLD = 24

// underTLDs puts candidates under TLDs: every other label under the first TLD, those between under the others in turn. A
// label comes back later under its next TLD.
func (s *service) underTLDs(candidates []ideas.Candidate, suffixes []fqdn.Name) []idea {
	type placed struct {
		idea
		at int
	}
	var all []placed
	for rank := range candidates {
		c := &candidates[rank]
		under, first := suffixes, 0
		if c.TLD != "" {
			under = []fqdn.Name{fqdn.MustParse(c.TLD)}
		} else if rank%2 == 1 && len(suffixes) > 1 {
			first = 1 + rank/2%(len(suffixes)-1)
		}
		label, err := fqdn.Parse(c.Label)
		if err != nil {
			continue
		}
		for i := range under {
			suffix := under[(first+i)%len(under)]
			name, err := label.Under(suffix)
			if err != nil || s.cfg.Lookup.Suffixes().Check(name, suffix) != nil {
				continue
			}
			all = append(all, placed{idea{name, suffix, c}, rank + i*nextTLD})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.at - b.at })
	list := make([]idea, len(all))
	for i, p := range all {
		list[i] = p.idea
	}
	return list
}

// run looks names up in rounds, each with half as many names again as are still wanted, and at least [fewestAtOnce].
func (s *ideaSearch) run(ctx context.Context) SuggestOut {
	deadline := s.cfg.Now().Add(IdeaDeadline - margin)
	looking, cancel := context.WithTimeout(ctx, IdeaDeadline-margin)
	defer cancel()
	s.out = SuggestOut{Query: string(s.in.Q), Words: s.words, CheckedAt: wireTime(s.cfg.Now())}
	s.all = s.candidates()
	for s.free < s.limit && s.out.Checked < MaxIdeas && looking.Err() == nil && s.cfg.Now().Before(deadline) {
		wanted := s.limit - s.free
		some := s.take(min(max(wanted+wanted/2, fewestAtOnce), MaxIdeas-s.out.Checked))
		if len(some) == 0 {
			break
		}
		s.round(looking, some)
	}
	for _, likely := range s.unsure {
		if s.free >= s.limit {
			break
		}
		if !s.shown[likely.Label] {
			s.suggest(ctx, likely)
		}
	}
	return s.out
}

// fewestAtOnce is how many names a round looks up at least.
const fewestAtOnce = 10

// unanswered is after how many unknown verdicts more than others no more names are looked up under a TLD.
const unanswered = 4

// take returns the next ideas whose label is not suggested yet, and whose TLD has somebody who answers.
func (s *ideaSearch) take(n int) (some []idea) {
	for len(s.all) > 0 && len(some) < n {
		next := s.all[0]
		s.all = s.all[1:]
		if !s.shown[next.candidate.Label] && s.known[next.suffix] > -unanswered {
			some = append(some, next)
		}
	}
	return some
}

// round looks names up side by side, and suggests those that are free or for sale in the order of the ideas, each as
// soon as the ones before it are known.
func (s *ideaSearch) round(ctx context.Context, some []idea) {
	verdicts := make([]chan lookup.Verdict, len(some))
	for i, one := range some {
		verdicts[i] = make(chan lookup.Verdict, 1)
		go func() { verdicts[i] <- s.cfg.Lookup.Verdict(ctx, one.name) }()
	}
	s.out.Checked += len(some)
	for i, one := range some {
		v := <-verdicts[i]
		if at := wireTime(v.CheckedAt); at.Before(s.out.CheckedAt) {
			s.out.CheckedAt = at
		}
		if v.Status == lookup.Unknown {
			s.known[one.suffix]--
		} else {
			s.known[one.suffix]++
		}
		r := s.result(ctx, Sibling, v)
		suggestion := Suggestion{
			Domain: r.Domain, TLD: one.suffix.String(), Label: one.candidate.Label,
			Style: Style(one.candidate.Style), Words: one.candidate.Words, Why: one.candidate.Why,
			Status: r.Status, Available: r.Available, Confidence: r.Confidence,
			Registration: r.Registration, Renewal: r.Renewal, Listing: r.Listing,
		}
		switch {
		case s.free >= s.limit || s.shown[suggestion.Label]:
		case v.Status == lookup.Available || r.Listing != Listing{}:
			s.suggest(ctx, suggestion)
		case v.Status == lookup.LikelyAvailable:
			s.unsure = append(s.unsure, suggestion)
		}
	}
}

// suggest adds a suggestion to the answer, and to the stream. Those for sale come on top of the free ones that are wanted.
func (s *ideaSearch) suggest(ctx context.Context, one Suggestion) {
	s.shown[one.Label] = true
	s.out.Suggestions = append(s.out.Suggestions, one)
	if lookup.Status(one.Status) == lookup.Available || lookup.Status(one.Status) == lookup.LikelyAvailable {
		s.free++
	}
	op.Emit(ctx, op.Event{Item: one, Done: len(s.out.Suggestions), Total: max(s.limit, len(s.out.Suggestions))})
}
