package rest

import (
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/op"
)

// signedOverview is the part of the documentation that holds for every signed operation, in Markdown.
const signedOverview = `
## Partner API

Requests below ` + "`/api/partner/`" + ` are signed with the secret of a credential. The key id says whether it is of the sandbox or live; both use the same addresses, and see nothing of one another.

The signature is ` + "`v1=`" + ` and the HMAC-SHA256, in lower-case hexadecimal, of six lines joined by line feeds, keyed with the secret:

1. the method in upper case
2. the path as it is sent, with everything from ` + "`/api/partner`" + `
3. the query with its pairs sorted by key and then by value, percent-encoded in upper case, ` + "`! ' ( ) *`" + ` too; empty where there is none
4. the timestamp: Unix time in seconds, at most 300 away from ours
5. the nonce: 16 to 128 visible characters, another one for every request, repetitions too
6. the SHA-256 of the body in lower-case hexadecimal, of GET and HEAD that of the empty body

The key id, the timestamp, the nonce and the signature go in four headers. A sandbox credential whose signature does not match is shown the text that should have been signed.

Every POST takes an ` + "`Idempotency-Key`" + `: a request that is repeated with its key and its body has one effect, and gets the same answer for 30 days.
`

// signatureHeaders are the security schemes of a signed request, which it needs all of.
var signatureHeaders = []struct{ scheme, header, description string }{
	{"serviceKeyId", "X-Service-Key-Id", "The credential's key id. The scope that an operation needs stands beside it."},
	{"serviceTimestamp", "X-Service-Timestamp", "Unix time in seconds."},
	{"serviceNonce", "X-Service-Nonce", "Another one for every request, such as a UUID."},
	{"serviceSignature", "X-Service-Signature", "`v1=` and the HMAC-SHA256 of the canonical string, see above."},
}

// describeSigned describes an operation whose requests are signed.
func describeSigned(o *op.Op, shapes *shapes) (operation, error) {
	described, err := describe(o, shapes)
	if err != nil {
		return operation{}, err
	}
	needed := map[string][]string{}
	for _, h := range signatureHeaders {
		needed[h.scheme] = []string{}
	}
	if o.Scope != "" {
		needed[signatureHeaders[0].scheme] = []string{o.Scope}
		described.Description += fmt.Sprintf(" Needs the scope `%s`.", o.Scope)
	}
	if len(o.In.Properties) == len(wildcards(o.Route.Path)) {
		described.RequestBody = nil // it may be left out, and has nothing to say
		delete(shapes.schemas, pascal(o.Name)+"Request")
	}
	described.Security = []map[string][]string{needed}
	success := described.Responses[strconv.Itoa(o.Route.Status)].(*content)
	delete(success.Content, "text/event-stream")
	if o.Route.Also != 0 {
		described.Responses[strconv.Itoa(o.Route.Also)] = success
	}
	if o.Idempotency != op.None {
		success.Headers["Idempotency-Replayed"] = headerRef("Idempotency-Replayed")
		described.Parameters = append(described.Parameters, parameter{
			Name: "Idempotency-Key", In: "header", Required: o.Idempotency == op.Required,
			Description: "Tells a repetition of the request from another one.",
			Schema:      &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(255)},
			Example:     []byte(`"5f1f9a0c-6d0b-4f7e-8f3e-0a4f6d2c9b11"`),
		})
	}
	return described, nil
}

// addSigned adds the components that signed operations share.
func (doc *document) addSigned() {
	for _, h := range signatureHeaders {
		doc.Components.SecuritySchemes[h.scheme] = map[string]any{"type": "apiKey", "in": "header", "name": h.header, "description": h.description}
	}
	doc.Components.Headers["Idempotency-Replayed"] = header{
		"true: the request took effect before, and this is what it was answered then.", &jsonschema.Schema{Type: "string", Enum: []any{"true"}},
	}
	canonical := &jsonschema.Schema{Type: "string", Description: "what should have been signed; with invalid_signature, in the sandbox alone"}
	body := doc.Components.Schemas["Error"].Properties["error"]
	body.Properties["canonical_string"] = canonical
	body.PropertyOrder = append(body.PropertyOrder, "canonical_string")
	problem := doc.Components.Schemas["Problem"]
	problem.Properties["canonical_string"] = canonical
	problem.PropertyOrder = append(problem.PropertyOrder, "canonical_string")
}
