package partner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// Nothing that is stored, and nothing that is logged, holds a secret.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	s.ok(s.get(root+"/orders"), 200)
	s.want(s.get(root+"/orders").with(signature.HeaderSignature, "v1=00"), 401, "invalid_signature")
	s.ok(s.put(webhooks, `{"url":"https://partner.example/events","secret":"webhook-secret-0123456789"}`), 200)
	backup := filepath.Join(t.TempDir(), "copy.db")
	if err := s.db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{s.key.secret, strings.TrimPrefix(s.key.secret, "sk_sandbox_"), "webhook-secret-0123456789"} {
		if bytes.Contains(stored, []byte(secret)) {
			t.Error("the database holds a secret")
		}
		if strings.Contains(s.log.String(), secret) {
			t.Error("the log holds a secret")
		}
	}
}

// A process that lacks the key of a secret fails, and says why in the log alone.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Dir: t.TempDir()}
	s := open(t, storetest.Open(t, cfg))
	other := openSecond(t, s, cfg, func(set *options) {
		set.Keys = seal.Random()
	})
	got := other.want(other.get(root+"/orders"), 500, "internal_error")
	if strings.Contains(got.body, "sealed") || !strings.Contains(other.log.String(), "the key it was sealed with is not among those given") {
		t.Errorf("got %s, log %s", got.body, other.log)
	}
}
