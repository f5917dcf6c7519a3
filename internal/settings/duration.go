package settings

import (
	"errors"
	"flag"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Duration is a flag of a positive duration such as 90d, 36h or 1d12h: days, then a Go duration.
type Duration struct {
	time.Duration
	least time.Duration
}

// DurationOf defines a [Duration] flag with its default and its minimum; 0: any positive duration.
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

// Set parses days, a Go duration, or days followed by a Go duration.
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
