package op

import "context"

type reporterKey struct{}

// WithReporter returns a context whose operations hand errors of ours that do not fail the whole call to report,
// so that the transport can log them.
func WithReporter(ctx context.Context, report func(error)) context.Context {
	return context.WithValue(ctx, reporterKey{}, report)
}

// Report hands an error that is not the caller's to the transport; without a reporter it is dropped.
func Report(ctx context.Context, err error) {
	if report, _ := ctx.Value(reporterKey{}).(func(error)); report != nil {
		report(err)
	}
}
