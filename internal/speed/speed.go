// Package speed holds the benchmarks of the whole product: the transports and operations as the program wires them, each
// in a process of its own and beside a reference that does the least that could be done. The figures are in
// docs/speed.md.
package speed
