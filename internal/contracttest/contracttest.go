// Package contracttest holds the tests of the whole: that packages import downward only, and that the operations offer what
// the specification says.
package contracttest
