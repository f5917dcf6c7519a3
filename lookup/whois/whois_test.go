package whois

import (
	"testing"

	"github.com/namewharf/namewharf/fqdn"
)

func TestTablesAreSound(t *testing.T) {
	t.Parallel()
	if tables() == nil || vocabulary() == nil {
		t.Fatal("no tables")
	}
}

var com = fqdn.MustParse("com")
