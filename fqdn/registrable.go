package fqdn

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A class is the IDNA 2008 property of a code point (RFC 5892, section 1).
type class int

const (
	disallowed class = iota // unassigned ones included
	pvalid
	contextJ // depends on its neighbours, which UTS 46 with CheckJoiners has checked
	contextO
)

// classOf derives the class of a code point from its properties, in the order of RFC 5892, section 3, in the Unicode version
// of Go's tables. Later characters count as unassigned.
func classOf(r rune) class {
	switch {
	case strings.ContainsRune("\u00DF\u03C2\u06FD\u06FE\u0F0B\u3007", r): // section 2.6, exceptions
		return pvalid
	case strings.ContainsRune("\u00B7\u0375\u05F3\u05F4\u30FB", r), arabicIndic(r), extendedArabicIndic(r):
		return contextO
	case strings.ContainsRune("\u0640\u07FA\u302E\u302F\u3031\u3032\u3033\u3034\u3035\u303B", r):
		return disallowed
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
		return pvalid
	case r == 0x200C, r == 0x200D:
		return contextJ
	case !stable(r), ignorable(r), unicode.Is(oldHangulJamo, r):
		return disallowed
	case unicode.In(r, unicode.Ll, unicode.Lu, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd):
		return pvalid
	}
	return disallowed
}

func arabicIndic(r rune) bool         { return 0x0660 <= r && r <= 0x0669 }
func extendedArabicIndic(r rune) bool { return 0x06F0 <= r && r <= 0x06F9 }

// stable reports whether normalization and case folding do not change the code point (section 2.2). Cherokee folds to its
// capitals, which package cases does not do.
func stable(r rune) bool {
	if 0x13A0 <= r && r <= 0x13F5 {
		return true
	}
	s := string(r)
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s))) == s
}

// ignorable reports whether the code point is in the properties or blocks to be ignored (sections 2.3 and 2.4).
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.White_Space,
		unicode.Noncharacter_Code_Point, unicode.Cf, ignorableBlocks)
}

// ignorableBlocks are Combining Diacritical Marks for Symbols, Musical Symbols and Ancient Greek Musical Notation.
var ignorableBlocks = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x20D0, Hi: 0x20FF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1D100, Hi: 0x1D1FF, Stride: 1}, {Lo: 0x1D200, Hi: 0x1D24F, Stride: 1}},
}

// oldHangulJamo are the conjoining letters of Hangul (section 2.9); its syllables are letters like others.
var oldHangulJamo = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x1100, Hi: 0x11FF, Stride: 1},
	{Lo: 0xA960, Hi: 0xA97C, Stride: 1},
	{Lo: 0xD7B0, Hi: 0xD7C6, Stride: 1},
	{Lo: 0xD7CB, Hi: 0xD7FB, Stride: 1},
}}

// Registrable checks that IDNA 2008 allows every label of the name; [Parse] also accepts others, such as emoji, some of which
// were registered earlier. It fails with an [*Error]. [Suffixes.Registrable] also checks the rules of the suffix's registry.
func (n Name) Registrable() error {
	if !n.IDN() {
		return nil
	}
	for label := range strings.SplitSeq(n.ascii, ".") {
		if err := registrableLabel(label); err != nil {
			return err
		}
	}
	return nil
}

// registrableLabel is Registrable for one label in A-label form.
func registrableLabel(label string) error {
	if !strings.HasPrefix(label, "xn--") {
		return nil
	}
	text, err := idna.Punycode.ToUnicode(label)
	if err != nil || text == label {
		return &Error{"has a label that is not valid punycode"}
	}
	runes := []rune(text)
	if len(runes) >= 4 && runes[2] == '-' && runes[3] == '-' {
		return &Error{"has two hyphens in third and fourth place of an internationalized label (RFC 5891, section 4.2.3.1)"}
	}
	for i, r := range runes {
		switch classOf(r) {
		case pvalid, contextJ:
			continue
		case contextO:
			if inContext(runes, i) {
				continue
			}
			return &Error{"holds a character that is allowed only beside certain others in a domain name (RFC 5892, appendix A)"}
		}
		return &Error{"holds a character that is not allowed in domain names, such as an emoji or a symbol (IDNA 2008, RFC 5892)"}
	}
	return nil
}

// inContext applies the rule of the code point at i (RFC 5892, appendix A.3 to A.9).
func inContext(label []rune, i int) bool {
	at := func(i int) rune {
		if i < 0 || i >= len(label) {
			return -1
		}
		return label[i]
	}
	has := func(which func(rune) bool) bool {
		return slices.ContainsFunc(label, which)
	}
	switch r := label[i]; {
	case r == 0x00B7: // a middle dot is allowed between two l, as in Catalan
		return at(i-1) == 'l' && at(i+1) == 'l'
	case r == 0x0375: // the Greek numeral sign is allowed before a Greek letter
		return unicode.Is(unicode.Greek, at(i+1))
	case r == 0x05F3, r == 0x05F4: // geresh and gershayim are allowed after a Hebrew letter
		return unicode.Is(unicode.Hebrew, at(i-1))
	case r == 0x30FB: // the Katakana middle dot, which is of no script itself, is allowed with Japanese letters
		return has(func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) })
	case arabicIndic(r): // the two sets of Arabic digits look alike
		return !has(extendedArabicIndic)
	case extendedArabicIndic(r):
		return !has(arabicIndic)
	}
	return false
}
