package zone_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/zone"
)

func ExampleBuild() {
	dir, err := os.MkdirTemp("", "zones")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	const file = "quarry.\t900\tin\tsoa\ta.nic.quarry. hostmaster.nic.quarry. 2026110103 1800 900 604800 86400\n" +
		"lantern.quarry.\t172800\tin\tns\tns1.example.\n"
	info, err := zone.Build{Dir: dir, Suffix: fqdn.MustParse("quarry"), In: strings.NewReader(file)}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info)

	index, err := zone.Open(dir, time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"lantern.quarry", "ember.quarry", "lantern.com"} {
		present, loaded, _ := index.Look(fqdn.MustParse(name))
		fmt.Println(name, present, loaded)
	}
	// Output:
	// .quarry, 1 names of 2026-11-01
	// lantern.quarry true true
	// ember.quarry false true
	// lantern.com false false
}
