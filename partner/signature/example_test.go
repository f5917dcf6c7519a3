package signature_test

import (
	"fmt"

	"github.com/namewharf/namewharf/partner/signature"
)

// A request is signed over six lines.
func ExampleSign() {
	canonical, err := signature.Request{
		Method:    "GET",
		Path:      "/api/partner/v1/orders",
		Query:     "status=SETTLED&domain=brewhaven.example&limit=10",
		Timestamp: "1760000000",
		Nonce:     "3f2c1a9e-6f0b-4c55-9d6e-0f1a2b3c4d5e",
		Body:      signature.BodyDigest("GET", nil),
	}.Canonical()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(canonical)
	fmt.Println(signature.Sign("sk_sandbox_5f0c9a1b7d3e", canonical))
	// Output:
	// GET
	// /api/partner/v1/orders
	// domain=brewhaven.example&limit=10&status=SETTLED
	// 1760000000
	// 3f2c1a9e-6f0b-4c55-9d6e-0f1a2b3c4d5e
	// e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
	// v1=4ec154e12ffd022f3df0f176c1b454cdd400c63572730d2669d51a37b7233e78
}
