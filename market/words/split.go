package words

// maxPiece is the most bytes of letters that are looked at together: the longest label. Longer runs are cut.
const maxPiece = 63

// Costs in tenths of -ln p, as in the list. A run of letters that is no word costs more than the rarest words
// that could be made of it, unless those are mere scraps.
const (
	unknownRun    = 100 // for the run
	unknownLetter = 33  // and for each of its letters
)

// Words below these costs say nothing by themselves, or little; the generator's extra.txt puts them there.
const (
	commonCost   = 62
	genericCost  = 82
	frequentCost = 105
	rareCost     = 128
)

// A Piece is a part of a text: a word of the list, a number, or letters that are no word.
type Piece struct {
	Text string // as in the input, without separators
	Word ID     // 0: not in the list
}

// Split appends the pieces of s, which is in lower case, to dst: it breaks s at whatever is neither a letter nor a digit,
// sets numbers apart, and cuts runs of letters into the words that are most likely, by their frequencies
// (Viterbi's algorithm). Runs of letters outside a to z are pieces of their own, and end
// the run before them ("bücher": b, ü, cher, cut like any other). The pieces joined are s without separators.
func (l *Lexicon) Split(dst []Piece, s string) []Piece {
	for i := 0; i < len(s); {
		kind := kindOf(s[i])
		end := i + 1
		for end < len(s) && kindOf(s[end]) == kind {
			end++
		}
		switch kind {
		case letter:
			for run := s[i:end]; run != ""; {
				cut := min(len(run), maxPiece)
				dst = l.splitRun(dst, run[:cut])
				run = run[cut:]
			}
		case digit, foreign:
			dst = append(dst, Piece{Text: s[i:end]})
		}
		i = end
	}
	return dst
}

type kind int

const (
	separator kind = iota
	letter
	digit
	foreign // a byte of a letter outside ASCII
)

func kindOf(c byte) kind {
	switch {
	case 'a' <= c && c <= 'z':
		return letter
	case '0' <= c && c <= '9':
		return digit
	case c >= 0x80:
		return foreign
	}
	return separator
}

// splitRun cuts at most maxPiece letters.
func (l *Lexicon) splitRun(dst []Piece, s string) []Piece {
	const never = 1 << 30
	// best[i] is the least cost of s[:i]; its last piece begins at from[i] and is word[i]. In a run of unknown
	// letters unknown[i] is the least cost, and the run begins at since[i].
	var best, unknown [maxPiece + 1]int32
	var from, since [maxPiece + 1]uint8
	var last [maxPiece + 1]ID
	for i := 1; i <= len(s); i++ {
		best[i], unknown[i] = never, never
	}
	unknown[0] = never
	for i := range len(s) {
		start, at := best[i]+unknownRun, uint8(i)
		if unknown[i] <= start {
			start, at = unknown[i], since[i]
		}
		unknown[i+1], since[i+1] = start+unknownLetter, at
		if unknown[i+1] < best[i+1] {
			best[i+1], from[i+1], last[i+1] = unknown[i+1], at, 0
		}
		node := uint32(0)
		for j := i; j < len(s); j++ {
			next, ok := l.step(node, s[j])
			if !ok {
				break
			}
			node = next
			if w := l.nodes[node].word; w != 0 {
				if cost := best[i] + int32(l.words[w].cost); cost < best[j+1] {
					best[j+1], from[j+1], last[j+1] = cost, uint8(i), w
				}
			}
		}
	}
	n := len(dst)
	for end := len(s); end > 0; end = int(from[end]) {
		dst = append(dst, Piece{s[from[end]:end], last[end]})
	}
	for i, j := n, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}
