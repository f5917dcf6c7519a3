//go:build !unix

package store

import "log/slog"

// closeDir and closeFile do nothing where permissions are not those of Unix: what is made in a user's profile is the user's.
func closeDir(string, *slog.Logger) error { return nil }

func closeFile(string) error { return nil }
