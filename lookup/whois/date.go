package whois

import (
	"strings"
	"time"
)

// parseDate reads a date as registries write it, with or without a time, and without a zone as UTC:
//
//	2006-01-02T15:04:05.999Z  2006/01/02 15:04:05 (JST)  20060102150405  2006. 01. 02.  2006-Jan-02
//	02.01.2006 15:04:05  02/01/2006  02-Jan-2006 15:04:05 UTC  2 January 2006  Mon Jan  2 15:04:05 MST 2006
//	2nd January 2006 at 15:04:05.000  before Aug-1996 (the first of that month)
//
// monthFirst decides how 01/02/2003 is read. Words around the date are skipped; ok is false if there is no full date.
func parseDate(s string, monthFirst bool) (t time.Time, ok bool) {
	if len(s) > 128 {
		s = s[:128]
	}
	p := dateParser{monthFirst: monthFirst}
	for s != "" && !p.bad {
		c := s[0]
		switch {
		case isDigit(c):
			s = p.digits(s)
		case isLetter(c):
			s = p.word(s)
		case (c == '+' || c == '-') && p.clocked && !p.zoned:
			s = p.offset(s)
		default:
			p.last = c
			s = s[1:]
		}
	}
	return p.result()
}

type dateParser struct {
	monthFirst bool
	numbers    [3]int // of the date, in the order of the text
	lengths    [3]int // how many digits each had
	n          int
	month      time.Month // if spelt out
	dotted     bool       // separated by dots
	last       byte       // the separator before the next token

	hour, min, sec int
	clocked, zoned bool
	zone           time.Duration
	bad            bool
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number reads the digits that s begins with.
func number(s string) (n, length int) {
	for length < len(s) && isDigit(s[length]) {
		if length < 9 {
			n = n*10 + int(s[length]-'0')
		}
		length++
	}
	return n, length
}

func (p *dateParser) digits(s string) string {
	n, length := number(s)
	rest := s[length:]
	switch {
	case length == 8: // 20060102, whatever number stood before it
		p.n = 0
		p.add(n/10000, 4)
		p.add(n/100%100, 2)
		p.add(n%100, 2)
	case length == 14: // 20060102150405
		p.n = 0
		p.add(n/100000, 4) // the first nine digits are in n
		p.add(n/1000%100, 2)
		p.add(n/10%100, 2)
		p.hour, _ = number(s[8:10])
		p.min, _ = number(s[10:12])
		p.sec, _ = number(s[12:14])
		p.clocked = true
	case length <= 2 && len(rest) > 2 && rest[0] == ':' && isDigit(rest[1]) && !p.clocked:
		return p.clock(n, rest)
	case length <= 4 && p.full() && !p.clocked: // a lone number behind the date
	case length <= 4 && length != 3:
		if p.last == '.' && p.n > 0 {
			p.dotted = true
		}
		p.add(n, length)
	}
	return rest
}

// full reports whether day, month and year are there.
func (p *dateParser) full() bool { return p.n == 3 || (p.month != 0 && p.n == 2) }

func (p *dateParser) add(n, length int) {
	if p.n < 3 && !p.full() {
		p.numbers[p.n], p.lengths[p.n] = n, length
		p.n++
	}
}

// clock reads ":04", ":04:05" and ":04:05.999" behind the hour.
func (p *dateParser) clock(hour int, s string) string {
	p.hour, p.clocked = hour, true
	minute, length := number(s[1:])
	p.min = minute
	s = s[1+length:]
	if len(s) > 1 && s[0] == ':' && isDigit(s[1]) {
		p.sec, length = number(s[1:])
		s = s[1+length:]
		if len(s) > 1 && s[0] == '.' && isDigit(s[1]) {
			_, length = number(s[1:])
			s = s[1+length:]
		}
	}
	if p.hour > 24 || p.min > 59 || p.sec > 60 {
		p.bad = true
	}
	return s
}

// offset reads "+01:00", "-0300" and "+2".
func (p *dateParser) offset(s string) string {
	hours, length := number(s[1:])
	if length == 0 {
		p.last = s[0]
		return s[1:]
	}
	rest, minutes := s[1+length:], 0
	switch {
	case length == 4:
		hours, minutes = hours/100, hours%100
	case length > 2:
		return rest // part of something else
	case len(rest) > 2 && rest[0] == ':' && isDigit(rest[1]):
		minutes, length = number(rest[1:])
		rest = rest[1+length:]
	}
	if hours > 14 || minutes > 59 {
		return rest
	}
	p.zone = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		p.zone = -p.zone
	}
	p.zoned = true
	return rest
}

var months = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// zones are the abbreviations that registries use, in hours. Those that mean several zones are left out.
var zones = map[string]time.Duration{
	"jst": 9, "kst": 9, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3, "msd": 4, "bst": 1, "wet": 0, "west": 1,
	"clt": -4, "clst": -3, "brt": -3, "art": -3, "hkt": 8, "sgt": 8, "myt": 8, "ict": 7, "wib": 7, "nzst": 12,
	"nzdt": 13, "aest": 10, "aedt": 11, "est": -5, "edt": -4, "pst": -8, "pdt": -7, "mst": -7, "mdt": -6, "sast": 2,
	"eat": 3, "trt": 3, "almt": 6, "uzt": 5,
}

func (p *dateParser) word(s string) string {
	i := 1
	for i < len(s) && isLetter(s[i]) {
		i++
	}
	word, rest := s[:i], s[i:]
	switch {
	case i == 1:
		if p.clocked && (word == "Z" || word == "z") {
			p.zoned = true
		}
	case p.clocked && hasPrefixFold(word, "pm"):
		if p.hour < 12 {
			p.hour += 12
		}
	case p.clocked && hasPrefixFold(word, "am"):
		p.hour %= 12
	case i >= 3 && p.month == 0 && p.n < 3:
		for m, name := range months {
			if hasPrefixFold(word, name) && isMonth(word, m) {
				p.month = time.Month(m + 1)
				return rest
			}
		}
		if m := otherMonths[strings.ToLower(word)]; m != 0 {
			p.month = m
			return rest
		}
	}
	if p.clocked && !p.zoned && i <= 4 {
		if hours, known := zones[strings.ToLower(word)]; known {
			p.zone, p.zoned = hours*time.Hour, true
		}
	}
	return rest
}

// isMonth reports whether the word, which begins as month m does, is that month: "sept" is, "mayor" is not.
func isMonth(word string, m int) bool {
	return len(word) == 3 || strings.EqualFold(word, time.Month(m+1).String()) || strings.EqualFold(word, "sept")
}

// otherMonths are the names of months in Spanish, Portuguese, French, German and Italian that differ from the English
// ones, as far as their letters are ASCII.
var otherMonths = map[string]time.Month{
	"ene": 1, "enero": 1, "janeiro": 1, "janv": 1, "janvier": 1, "januar": 1, "gen": 1, "gennaio": 1,
	"febrero": 2, "fev": 2, "fevereiro": 2, "februar": 2, "febbraio": 2,
	"marzo": 3, "mars": 3, "abr": 4, "abril": 4, "avr": 4, "avril": 4, "aprile": 4,
	"mayo": 5, "mai": 5, "maio": 5, "mag": 5, "maggio": 5, "junio": 6, "junho": 6, "juin": 6, "juni": 6, "giu": 6, "giugno": 6,
	"julio": 7, "julho": 7, "juil": 7, "juillet": 7, "juli": 7, "lug": 7, "luglio": 7, "ago": 8, "agosto": 8,
	"septiembre": 9, "setiembre": 9, "set": 9, "setembro": 9, "septembre": 9, "settembre": 9,
	"octubre": 10, "out": 10, "outubro": 10, "octobre": 10, "okt": 10, "oktober": 10, "ott": 10, "ottobre": 10,
	"noviembre": 11, "novembro": 11, "novembre": 11, "dic": 12, "diciembre": 12, "dez": 12, "dezembro": 12, "dezember": 12, "dicembre": 12,
}

// result puts the numbers in their places.
func (p *dateParser) result() (time.Time, bool) {
	if p.bad {
		return time.Time{}, false
	}
	var year, month, day int
	n := p.numbers
	switch {
	case p.month != 0 && p.n == 1 && p.lengths[0] == 4: // Aug-1996
		year, month, day = n[0], int(p.month), 1
	case p.month != 0 && p.n == 2 && p.lengths[0] == 4: // 2001-Aug-23
		year, month, day = n[0], int(p.month), n[1]
	case p.month != 0 && p.n == 2: // 23-Aug-2001, Aug 23 2001, 23-Aug-01
		year, month, day = n[1], int(p.month), n[0]
		if p.lengths[1] <= 2 {
			year += 2000
			if year > 2069 {
				year -= 100
			}
		}
	case p.month == 0 && p.n == 3 && p.lengths[0] == 4:
		year, month, day = n[0], n[1], n[2]
	case p.month == 0 && p.n == 3 && p.lengths[2] == 4:
		year, month, day = n[2], n[1], n[0]
		if (p.monthFirst && !p.dotted && day <= 12) || month > 12 {
			month, day = day, month
		}
	default:
		return time.Time{}, false
	}
	if year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, p.hour, p.min, p.sec, 0, time.UTC)
	if t.Day() != day && p.hour < 24 {
		return time.Time{}, false
	}
	return t.Add(-p.zone), true
}
