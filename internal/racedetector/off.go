//go:build !race

// Package racedetector tells tests whether they run several times slower than usual.
package racedetector

// Enabled reports whether the race detector is compiled in.
const Enabled = false
