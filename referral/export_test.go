package referral

import "context"

// Flush writes the clicks that wait, however long it takes.
func (s *Service) Flush(ctx context.Context) error { return s.clicks.flush(ctx) }
