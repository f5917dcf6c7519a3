package sweep

// Store returns the retention rules of package store's own tables.
func Store() []Rule {
	return []Rule{
		{Table: "goose_db_version", Kept: "for ever: one row for each version of the schema"},
		{Table: "leases", Kept: "for ever: one row for each kind of work that one process at a time does"},
		{Table: "secrets", Kept: "for ever: one row for each thing that a random key is for"},
		{Table: "rate_limits", Kept: "until the bucket is full again", Key: "name", Age: "full_at"},
	}
}
