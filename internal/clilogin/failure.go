package clilogin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// withoutDetails is the reason of a failed request without its contents. Errors of x/oauth2 hold the whole response, and
// those of net/http the URL.
func withoutDetails(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("the server refused with status %d%s", refused.Response.StatusCode, codeWord(refused.ErrorCode))
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return errors.New("the response is not valid")
}

// codeWord is an OAuth error code in parentheses; empty for any other, untrusted text.
func codeWord(code string) string {
	if code == "" || len(code) > 40 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return " (" + code + ")"
}

// finalCodes say that refreshing will never succeed again (RFC 6749, section 5.2).
var finalCodes = []string{"invalid_grant", "invalid_client", "unauthorized_client"}

// isFinal reports whether a refresh failed for good.
func isFinal(err error) bool {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && refused.Response.StatusCode/100 == 4 && slices.Contains(finalCodes, refused.ErrorCode)
}

// causeOf is err, or the reason why ctx has ended.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// plainText reports whether a server's text is printable ASCII without spaces, as tokens and ids are (RFC 6749, appendix A;
// RFC 6750, section 2.1).
func plainText(text string, limit int) bool {
	if text == "" || len(text) > limit {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
