// Package spelling suggests the known word that was probably meant by an unknown one.
package spelling

import "strings"

// Nearest returns the known word that is nearest to the word, without regard to case: at most one slip away from a word of
// up to four letters and two from longer ones, a slip being a letter too many, too few, wrong, or swapped with the next. Of
// several the first of the same length wins, else the first. It is empty where none is near.
func Nearest(word string, known []string) string {
	best, least := "", slips(word)+1
	from := []rune(strings.ToLower(word))
	if len(from) > maxLength {
		return ""
	}
	for _, k := range known {
		to := []rune(strings.ToLower(k))
		d := distance(from, to)
		if d < least || d == least && best != "" && len(to) == len(from) && len([]rune(best)) != len(from) {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean is a question to append to a sentence about the word, with a semicolon before it; empty where nothing is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

const maxLength = 64 // of words looked at, in letters

// slips is how many a word of that length may have.
func slips(word string) int {
	if len(word) <= 4 {
		return 1
	}
	return 2
}

// distance is the edit distance of two words (optimal string alignment).
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
