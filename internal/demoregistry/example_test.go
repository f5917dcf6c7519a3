package demoregistry_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/internal/demoregistry"
)

func ExampleStart() {
	r, err := demoregistry.Start(demoregistry.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, s := range r.Samples()[:2] {
		fmt.Println(s.Kind, s.Name)
	}
	fmt.Println(strings.Contains(string(r.File()), `"rdap_servers"`)) // what -registry takes
	// Output:
	// free quietmeadow.com
	// registered cobaltpine.com
	// true
}

func ExampleRegistry_Fail() {
	r, err := demoregistry.Start(demoregistry.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	r.Fail("cobaltpine.dev", demoregistry.TooMany)
	resp, err := http.Get(r.RDAP("dev") + "domain/cobaltpine.dev")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	fmt.Println(resp.StatusCode, "retry after", resp.Header.Get("Retry-After"))
	// Output: 429 retry after 20
}
