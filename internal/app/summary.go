package app

import (
	"net/url"
	"path/filepath"

	"github.com/namewharf/namewharf/internal/httpserver"
	"github.com/namewharf/namewharf/store"
)

// Summary returns the start-up summary of an app opened with the configuration: where its data is and what to back up. The
// caller adds the links.
func (c *Config) Summary(a *App, program string) httpserver.Summary {
	data := a.Data
	if abs, err := filepath.Abs(data); err == nil {
		data = abs
	}
	s := httpserver.Summary{Program: program, Store: "SQLite in " + data, Off: a.zoneSummary()}
	copied := "operator db backup FILE"
	if a.DB.Engine() == store.Postgres {
		s.Store, copied = "PostgreSQL"+place(c.DB)+", the price list in "+data, "pg_dump of the database"
	}
	if c.Demo && c.Data == "" {
		s.Backup = []string{"nothing: the demo's store is temporary (set -data to keep it)"}
		return s
	}
	s.Backup = []string{"the database: " + copied, "the price list, if you import one: " + filepath.Join(data, PricesFile)}
	keys := "the keys, apart from the database: they are in the environment"
	if path, err := c.KeysPath(c.Environ, a.Data); err == nil && path != "" {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		keys = "the keys, apart from the database: " + path
	}
	s.Backup = append(s.Backup, keys)
	return s
}

// place is the host and name of a database, without user and password.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return " at " + u.Host + u.Path
}
