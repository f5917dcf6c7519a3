package tools

import "strings"

// A Term is a word of the field with its meaning.
type Term struct {
	Code    string `json:"code"`
	Meaning string `json:"meaning"`
	Source  string `json:"source"`
}

// glossary is the EPP status codes (RFC 5731, section 2.3; grace periods: RFC 3915, section 3.1) and those that
// only RDAP has (RFC 8056, section 2).
var glossary = []Term{
	{"ok", "Normal: no pending operation and no prohibition.", "RFC 5731"},
	{"inactive", "Delegation to nameservers is missing, so the name does not resolve.", "RFC 5731"},
	{"clientDeleteProhibited", "The registrar refuses requests to delete the name.", "RFC 5731"},
	{"clientHold", "The registrar keeps the name out of the DNS.", "RFC 5731"},
	{"clientRenewProhibited", "The registrar refuses requests to renew the name.", "RFC 5731"},
	{"clientTransferProhibited", "The registrar refuses transfers to another registrar; a lock against theft.", "RFC 5731"},
	{"clientUpdateProhibited", "The registrar refuses changes to the name.", "RFC 5731"},
	{"serverDeleteProhibited", "The registry refuses requests to delete the name.", "RFC 5731"},
	{"serverHold", "The registry keeps the name out of the DNS.", "RFC 5731"},
	{"serverRenewProhibited", "The registry refuses requests to renew the name.", "RFC 5731"},
	{"serverTransferProhibited", "The registry refuses transfers to another registrar.", "RFC 5731"},
	{"serverUpdateProhibited", "The registry refuses changes to the name.", "RFC 5731"},
	{"pendingCreate", "The registration is requested and not yet complete.", "RFC 5731"},
	{"pendingDelete", "The name is about to be deleted and can no longer be restored.", "RFC 5731"},
	{"pendingRenew", "A renewal is requested and not yet complete.", "RFC 5731"},
	{"pendingTransfer", "A transfer to another registrar is requested and not yet complete.", "RFC 5731"},
	{"pendingUpdate", "A change is requested and not yet complete.", "RFC 5731"},
	{"addPeriod", "The name was registered a few days ago; the registrar may delete it for a credit.", "RFC 3915"},
	{"autoRenewPeriod", "The registry renewed the expired name by itself; the registrar may still delete it for a credit.", "RFC 3915"},
	{"renewPeriod", "The name was renewed a few days ago; the registrar may delete it for a credit.", "RFC 3915"},
	{"transferPeriod", "The name was transferred a few days ago.", "RFC 3915"},
	{"redemptionPeriod", "The name was deleted; only its last registrar can restore it, for a fee.", "RFC 3915"},
	{"pendingRestore", "A restore out of the redemption period is requested and not yet complete.", "RFC 3915"},
	{"associated", "Another object refers to this one.", "RFC 8056"},
	{"linked", "Another object refers to this one.", "RFC 5731"},
}

var meanings = func() map[string]string {
	m := make(map[string]string, len(glossary))
	for _, t := range glossary {
		m[strings.ToLower(t.Code)] = t.Meaning
	}
	return m
}()

// statusMeaning explains a status code; it is empty for a registry's own words.
func statusMeaning(code string) string { return meanings[strings.ToLower(code)] }
