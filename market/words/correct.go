package words

// mostCorrected is the longest text that is compared with words.
const mostCorrected = 24

// Corrected is the word that a text becomes by one edit (Damerau: two neighbouring letters exchanged, a letter left out, added
// or replaced) which keeps its first letter: of several, one with letters exchanged, then the commonest. It is 0 when there is
// none, and for a text that is not letters from a to z.
func (l *Lexicon) Corrected(s string) ID {
	if len(s) < 2 || len(s) > mostCorrected || !isWord(s) {
		return 0
	}
	best := ID(0)
	try := func(b []byte) {
		if id := l.Find(string(b)); id != 0 && (best == 0 || l.words[id].cost < l.words[best].cost) {
			best = id
		}
	}
	b := []byte(s)
	for i := 1; i+1 < len(b); i++ {
		b[i], b[i+1] = b[i+1], b[i]
		try(b)
		b[i], b[i+1] = b[i+1], b[i]
	}
	if best != 0 {
		return best
	}
	for i := 1; i < len(b); i++ {
		was := b[i]
		for b[i] = 'a'; b[i] <= 'z'; b[i]++ {
			try(b)
		}
		b[i] = was
	}
	shorter, longer := make([]byte, len(b)-1), make([]byte, len(b)+1)
	for i := 1; i <= len(b); i++ {
		if i < len(b) {
			copy(shorter, b[:i])
			copy(shorter[i:], b[i+1:])
			try(shorter)
		}
		copy(longer, b[:i])
		copy(longer[i+1:], b[i:])
		for longer[i] = 'a'; longer[i] <= 'z'; longer[i]++ {
			try(longer)
		}
	}
	return best
}
