package settings

import (
	"errors"
	"flag"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Duration is a flag of a time above zero, such as 90d, 36h or 1d12h: days, and what Go calls a duration.
type Duration struct {
	time.Duration
	least time.Duration
}

// DurationOf defines a [Duration] flag with its default and the least that it may be; 0: anything above zero.
func DurationOf(fs *flag.FlagSet, name string, value, least time.Duration, usage string) *Duration {
	d := &Duration{value, least}
	fs.Var(d, name, usage)
	return d
}

const day = 24 * time.Hour

// String writes whole days as days.
func (d *Duration) String() string {
	if d.Duration > 0 && d.Duration%day == 0 {
		return strconv.FormatInt(int64(d.Duration/day), 10) + "d"
	}
	return d.Duration.String()
}

var errDuration = errors.New("must be a time above zero such as 90d, 36h or 30m")

// Set takes days, a Go duration, or days and a Go duration behind them.
func (d *Duration) Set(s string) error {
	var sum time.Duration
	days, rest, found := strings.Cut(s, "d")
	if found {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil || int64(n) > int64(math.MaxInt64/day) {
			return errDuration
		}
		sum = time.Duration(n) * day
	} else {
		rest = s
	}
	if rest != "" || !found {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || more > math.MaxInt64-sum || found && strings.HasPrefix(rest, "+") {
			return errDuration
		}
		sum += more
	}
	if sum <= 0 {
		return errDuration
	}
	if sum < d.least {
		return errors.New("must be at least " + d.least.String())
	}
	d.Duration = sum
	return nil
}
