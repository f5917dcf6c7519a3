//go:build race

package racedetector

// Enabled reports whether the race detector is compiled in.
const Enabled = true
