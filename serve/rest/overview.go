package rest

import (
	"fmt"
	"strings"

	"github.com/namewharf/namewharf/fault"
)

// overview is the part of the documentation that holds for every operation, in Markdown.
func overview(base, access string) string {
	var b strings.Builder
	b.WriteString("Whatever asks for no scope works without an account and without a key. " + access)
	b.WriteString(`

**Requests.** Bodies are JSON, as long as the operation needs: 4 KiB for most, more where the input holds many names, never over 1 MiB; 413 names the limit. Unknown, repeated and misspelt fields and query parameters are errors that name them.

**Answers.** GET answers carry an ETag; If-None-Match saves the transfer. gzip and zstd are spoken. Every answer carries X-Request-Id.

**Streams.** With ` + "`Accept: text/event-stream`" + ` a read by POST answers as server-sent events: ` + "`result`" + ` for each element of a list as soon as it is known, then ` + "`done`" + ` with the rest of the answer, or ` + "`error`" + `.

**Limits.** RateLimit and RateLimit-Policy say what is left; a 429 carries Retry-After. Clients are told apart by address, or by account when signed in.

**Privacy.** What you ask about is not logged or counted, and is kept no longer than the answer is cached.

**Errors.** The body is ` + "`{\"error\": {\"code\", \"message\", \"request_id\", \"details\"}}`" + `; with ` + "`Accept: application/problem+json`" + ` it is a problem document (RFC 9457).

<details><summary>All error codes</summary>

| status | code | when |
| --- | --- | --- |
`)
	for _, row := range fault.Codes() {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", row.Status, row.Code, row.When)
	}
	fmt.Fprintf(&b, "\n</details>\n\nFor assistants: [llms.txt](%s/llms.txt).\n", base)
	return b.String()
}
