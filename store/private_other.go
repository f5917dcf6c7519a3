//go:build !unix

package store

import "log/slog"

// closeDir and closeFile do nothing without Unix permissions: files in a user's profile are private already.
func closeDir(string, *slog.Logger) error { return nil }

func closeFile(string) error { return nil }
