package partner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
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

// Without the key of a stored secret no process starts. A credential that the operator made with another key file is refused, and
// the log alone says why.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	const reason = "the key it was sealed with is not among those given"
	s := openSQLite(t)
	other := seal.Random()
	if api, err := New(t.Context(), Config{DB: s.db, Market: s.api.cfg.Market, Keys: other}); err == nil {
		api.Close()
		t.Error("start without the key: got success")
	} else if !strings.Contains(err.Error(), reason) {
		t.Errorf("start without the key: got %v", err)
	}
	s.operator = admin.New(s.db, other, s.clock.Now, "test")
	s.key = s.credential(s.partner.ID, market.Sandbox, strings.Join(credential.Scopes, ","))
	got := s.want(s.get(root+"/orders"), 500, "internal_error")
	if strings.Contains(got.body, "sealed") || !strings.Contains(s.log.String(), reason) {
		t.Errorf("got %s, log %s", got.body, s.log)
	}
}
