//go:build race

package payment_test

// raceEnabled reports whether the race detector is compiled in.
const raceEnabled = true
