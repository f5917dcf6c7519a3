package rdap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	openrdap "github.com/openrdap/rdap"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/rdap"
	"github.com/namewharf/namewharf/lookup/record"
)

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ExampleDecode() {
	body := []byte(`{"objectClassName":"domain","ldhName":"EXAMPLE.COM","status":["client hold"],
		"events":[{"eventAction":"registration","eventDate":"1995-08-14T04:00:00Z"}]}`)
	rec, err := rdap.Decode(fqdn.MustParse("example.com"), body)
	fmt.Println(rec.Status, rec.Created.Format(time.DateOnly), err)
	// Output: [clientHold] 1995-08-14 <nil>
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, name string
		want       record.Record
	}{
		{"thin.json", "example-shop.com", record.Record{
			Domain:        fqdn.MustParse("example-shop.com"),
			Registrar:     record.Registrar{Name: "Northgate Names Inc.", IANAID: "9901", URL: "https://registrar.example", AbuseEmail: "abuse@registrar.example", AbusePhone: "+1.2025550143"},
			Created:       time.Date(1997, 9, 15, 4, 0, 0, 0, time.UTC),
			Updated:       time.Date(2019, 9, 9, 15, 39, 4, 0, time.UTC),
			Expires:       time.Date(2028, 9, 14, 4, 0, 0, 0, time.UTC),
			Status:        []string{"clientDeleteProhibited", "clientTransferProhibited", "clientUpdateProhibited"},
			Nameservers:   []record.Nameserver{{Host: "ns1.registrar.example"}, {Host: "ns2.registrar.example"}, {Host: "ns3.registrar.example"}, {Host: "ns4.registrar.example"}},
			DNSSEC:        record.SignedNo,
			RegistrarRDAP: "https://rdap.registrar.example/rdap/domain/EXAMPLE-SHOP.COM",
		}},
		{"thick.json", "bücher.app", record.Record{
			Domain:      fqdn.MustParse("bücher.app"),
			Registrar:   record.Registrar{Name: "Vogelweide Registrar GmbH", IANAID: "9903", URL: "https://www.vogelweide.example", AbuseEmail: "abuse@vogelweide.example", AbusePhone: "+49.2"},
			Registrant:  record.Contact{Organization: "Bücher GmbH", Country: "DE"},
			Created:     time.Date(2019, 5, 7, 14, 13, 36, 123e6, time.UTC),
			Expires:     time.Date(2027, 5, 7, 0, 0, 0, 0, time.UTC),
			Status:      []string{"ok", "redemptionPeriod"},
			Nameservers: []record.Nameserver{{Host: "ns1.xn--bcher-kva.app", Addresses: []string{"192.0.2.1", "2001:db8::1"}}, {Host: "ns2.xn--bcher-kva.app"}},
			DNSSEC:      record.SignedYes,
			Redacted:    []string{"registrant.name", "registrant.phone_ext"},
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			got, err := rdap.Decode(fqdn.MustParse(c.name), read(t, c.file))
			if err != nil {
				t.Fatalf("Decode(%s): %v", c.file, err)
			}
			if got.Raw == "" {
				t.Errorf("Decode(%s).Raw is empty", c.file)
			}
			got.Raw = ""
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("Decode(%s)\n got %+v\nwant %+v", c.file, got, c.want)
			}
		})
	}
}

// TestDecodeRefuses shows the replies that say nothing about the name.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"objectClassName":"domain","ldhName":"a.com","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for _, c := range []struct {
		what, body string
		want       error
	}{
		{"nothing", ``, rdap.ErrMalformed},
		{"HTML", `<html>`, rdap.ErrMalformed},
		{"a list", `[]`, rdap.ErrMalformed},
		{"a reply cut short", `{"objectClassName":"domain","ldhName":"a.com","status":["act`, rdap.ErrMalformed},
		{"a reply cut after a member", `{"objectClassName":"domain","ldhName":"a.com",`, rdap.ErrMalformed},
		{"two replies", `{"objectClassName":"domain","ldhName":"a.com"}{}`, rdap.ErrMalformed},
		{"a bad number", `{"objectClassName":"domain","ldhName":"a.com","x":01}`, rdap.ErrMalformed},
		{"a bad escape", `{"objectClassName":"domain","ldhName":"a.com","x":"\q"}`, rdap.ErrMalformed},
		{"nesting over the limit", deep(32), rdap.ErrMalformed},
		{"nesting without end", `{"ldhName":"a.com","x":` + strings.Repeat("[", 100_000), rdap.ErrMalformed},
		{"an error", `{"errorCode":404,"title":"Not Found"}`, rdap.ErrNotDomain},
		{"a nameserver", `{"objectClassName":"nameserver","ldhName":"a.com"}`, rdap.ErrNotDomain},
		{"another name", `{"objectClassName":"domain","ldhName":"b.com"}`, rdap.ErrOtherName},
		{"the parent", `{"objectClassName":"domain","ldhName":"com"}`, rdap.ErrOtherName},
		{"two names", `{"objectClassName":"domain","ldhName":"a.com","ldhName":"b.com"}`, rdap.ErrOtherName},
		{"two names, the right one last", `{"objectClassName":"domain","ldhName":"b.com","ldhName":"a.com"}`, rdap.ErrOtherName},
		{"no name", `{"objectClassName":"domain","handle":"1"}`, rdap.ErrOtherName},
		{"a name that is none", `{"objectClassName":"domain","ldhName":17}`, rdap.ErrOtherName},
		{"another name behind a unicodeName", `{"objectClassName":"domain","unicodeName":"a.com","ldhName":"b.com"}`, rdap.ErrOtherName},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got, err := rdap.Decode(fqdn.MustParse("a.com"), []byte(c.body))
			if !errors.Is(err, c.want) || !reflect.DeepEqual(got, record.Record{}) {
				t.Errorf("Decode(%.80s)\n got %+v, %v\nwant %v", c.body, got, err, c.want)
			}
		})
	}
	if _, err := rdap.Decode(fqdn.MustParse("a.com"), []byte(deep(31))); err != nil {
		t.Errorf("nesting at the limit: got %v, want no error", err)
	}
}

// TestDecodeLenient shows deviations that do not change what a reply says.
func TestDecodeLenient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, members string
		want          func(record.Record) bool
	}{
		{"a status that is no list", `"status":"active"`, func(r record.Record) bool { return reflect.DeepEqual(r.Status, []string{"ok"}) }},
		{"EPP statuses", `"status":["clientHold","PendingDelete"]`, func(r record.Record) bool {
			return reflect.DeepEqual(r.Status, []string{"clientHold", "pendingDelete"})
		}},
		{
			"statuses in other spellings", `"status":["Active","Client Hold","SERVER HOLD","clientRenewProhibited https://icann.org/epp#clientRenewProhibited","Linked"]`,
			func(r record.Record) bool {
				return reflect.DeepEqual(r.Status, []string{"ok", "clientHold", "serverHold", "clientRenewProhibited", "linked"})
			},
		},
		{"a registrar known by its handle", `"entities":[{"roles":["Registrar"],"handle":"REG-NORTHGATE"}]`, func(r record.Record) bool { return r.Registrar.Name == "REG-NORTHGATE" }},
		{"a registrar known by a number", `"entities":[{"roles":["registrar"],"handle":"9901"}]`, func(r record.Record) bool { return r.Registrar.Name == "" }},
		{"lists that are null", `"status":null,"entities":null,"nameservers":null,"events":null`, func(r record.Record) bool { return r.Status == nil }},
		{
			"values of another kind", `"status":[1,{},[],null,"active"],"events":[7,{"eventAction":1,"eventDate":[]}],"secureDNS":"x","entities":{"roles":"registrar","vcardArray":["vcard",[["fn",{},"text","R"]]]}`,
			func(r record.Record) bool { return len(r.Status) == 1 && r.Registrar.Name == "R" },
		},
		{"a truth value as a string", `"secureDNS":{"delegationSigned":"true"}`, func(r record.Record) bool { return r.DNSSEC == record.SignedYes }},
		{"a zone signed without a delegation", `"secureDNS":{"zoneSigned":true}`, func(r record.Record) bool { return r.DNSSEC == record.SignedUnknown }},
		{"a numeric registrar id", `"entities":[{"roles":["registrar"],"publicIds":[{"type":"IANA Registrar ID","identifier":1}]}]`, func(r record.Record) bool { return r.Registrar.IANAID == "1" }},
		{"a registrar id that is none", `"entities":[{"roles":["registrar"],"publicIds":[{"type":"IANA Registrar ID","identifier":"n/a"}]}]`, func(r record.Record) bool { return r.Registrar.IANAID == "" }},
		{"a raw line feed in a string", "\"entities\":[{\"roles\":[\"registrar\"],\"vcardArray\":[\"vcard\",[[\"fn\",{},\"text\",\"A\nB\"]]]}]", func(r record.Record) bool { return r.Registrar.Name == "A B" }},
		{"a date without a zone", `"events":[{"eventAction":"expiration","eventDate":"2030-01-02T03:04:05"}]`, func(r record.Record) bool { return r.Expires.Equal(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)) }},
		{"a date that is none", `"events":[{"eventAction":"expiration","eventDate":"0000-00-00T00:00:00Z"}]`, func(r record.Record) bool { return r.Expires.IsZero() }},
		{
			"the registry's expiration before the registrar's", `"events":[{"eventAction":"registrar expiration","eventDate":"2031-01-01T00:00:00Z"},{"eventAction":"expiration","eventDate":"2030-01-01T00:00:00Z"}]`,
			func(r record.Record) bool { return r.Expires.Year() == 2030 },
		},
		{
			"a placeholder instead of a name", `"entities":[{"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text","REDACTED FOR PRIVACY"],["org",{},"text","Data Redacted"]]]}]`,
			func(r record.Record) bool { return r.Registrant == (record.Contact{}) && len(r.Redacted) == 2 },
		},
		{
			"a redaction remark", `"entities":[{"roles":["registrant"],"remarks":[{"title":"REDACTED FOR PRIVACY","type":"object redacted due to authorization"}],"vcardArray":["vcard",[["adr",{"cc":"us"},"text",["","","","","","",""]]]]}]`,
			func(r record.Record) bool {
				return r.Registrant.Country == "US" && reflect.DeepEqual(r.Redacted, []string{"registrant.name", "registrant.organization"})
			},
		},
		{
			"a long text", `"entities":[{"roles":["registrar"],"vcardArray":["vcard",[["fn",{},"text","` + strings.Repeat("ü", 4000) + `"]]]}]`,
			func(r record.Record) bool {
				return len(r.Registrar.Name) <= record.MaxField && utf8.ValidString(r.Registrar.Name)
			},
		},
		{"a link to a script", `"links":[{"rel":"related","href":"javascript:alert(1)/domain/","type":"application/rdap+json"}]`, func(r record.Record) bool { return r.RegistrarRDAP == "" }},
		{"a link with a user", `"links":[{"rel":"related","href":"https://u:p@x/domain/a.com","type":"application/rdap+json"}]`, func(r record.Record) bool { return r.RegistrarRDAP == "" }},
		{"a link to a page", `"links":[{"rel":"related","href":"https://x.example/","type":"text/html"}]`, func(r record.Record) bool { return r.RegistrarRDAP == "" }},
		{
			"too many of everything", `"status":[` + list(100, `"s%d"`) + `],"nameservers":[` + list(100, `{"ldhName":"ns%d.a.com"}`) + `],"entities":[` + list(100, `{"roles":["x%d"]}`) + `,{"roles":["registrar"],"vcardArray":["vcard",[["fn",{},"text","late"]]]}]`,
			func(r record.Record) bool {
				return len(r.Status) == record.MaxStatus && len(r.Nameservers) == record.MaxNameservers && r.Registrar.Name == ""
			},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			body := `{"objectClassName":"domain","ldhName":"a.com",` + c.members + `}`
			got, err := rdap.Decode(fqdn.MustParse("a.com"), []byte(body))
			if err != nil || !c.want(got) {
				got.Raw = ""
				t.Errorf("Decode(%.200s)\n got %+v, %v", body, got, err)
			}
		})
	}
}

func list(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

func TestDecodeProblem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, body string
		want       rdap.Problem
		err        error
	}{
		{"not found", `{"errorCode":404,"title":"Not Found","description":["The domain does not exist."]}`, rdap.Problem{Code: 404, Title: "Not Found"}, nil},
		{"an empty object", `{}`, rdap.Problem{}, nil},
		{"a notice about rights", `{"errorCode":404,"title":"Object not found","description":"All Rights Reserved.","notices":[{"description":["reserved"]}]}`, rdap.Problem{Code: 404, Title: "Object not found"}, nil},
		{"a reserved name", `{"errorCode":404,"title":"Domain is reserved"}`, rdap.Problem{Code: 404, Title: "Domain is reserved", Reserved: true}, nil},
		{"a name not for registration", `{"errorCode":"404","description":["x","This name is not available for registration"]}`, rdap.Problem{Code: 404, Reserved: true}, nil},
		{"an unknown TLD", `{"errorCode":404,"title":"TLD not supported"}`, rdap.Problem{Code: 404, Title: "TLD not supported", Doubtful: true}, nil},
		{"another error", `{"errorCode":500}`, rdap.Problem{Code: 500}, nil},
		{"HTML", `<html></html>`, rdap.Problem{}, rdap.ErrMalformed},
		{"a string", `"not found"`, rdap.Problem{}, rdap.ErrMalformed},
		{"a body cut short", `{"errorCode":404,"title":"Not`, rdap.Problem{}, rdap.ErrMalformed},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got, err := rdap.DecodeProblem([]byte(c.body))
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("DecodeProblem(%s)\n got %+v, %v\nwant %+v, %v", c.body, got, err, c.want, c.err)
			}
		})
	}
}

// FuzzDecode shows that no reply makes the decoder panic, that it takes every valid JSON that is not nested too
// deeply, and that every text it lets through is clean and within its limit.
func FuzzDecode(f *testing.F) {
	f.Add(read(f, "thin.json"))
	f.Add(read(f, "thick.json"))
	f.Add([]byte(`{"objectClassName":"domain","ldhName":"a.com","x":[1.5e-3,true,false,null,"\ud83d\ude00\ud83d"]}`))
	f.Add([]byte(`{"ldhName":"a.com","entities":{"roles":"registrar","entities":[{"roles":["abuse"]}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rec, err := rdap.Decode(fqdn.MustParse("a.com"), body)
		if errors.Is(err, rdap.ErrMalformed) && json.Valid(body) && strings.Count(string(body), "[")+strings.Count(string(body), "{") <= record.MaxDepth &&
			len(body) > 0 && body[0] == '{' {
			t.Fatalf("Decode(%q): got %v for valid JSON", body, err)
		}
		if p, err := rdap.DecodeProblem(body); err == nil && !cleanText(p.Title) {
			t.Fatalf("DecodeProblem(%q): title %q is not clean", body, p.Title)
		}
		for _, s := range texts(rec) {
			if !cleanText(s) || len(s) > record.MaxField {
				t.Fatalf("Decode(%q): text %q is not clean", body, s)
			}
		}
		if len(rec.Raw) > record.MaxRaw || !utf8.ValidString(rec.Raw) {
			t.Fatalf("Decode(%q): Raw is %d bytes or not UTF-8", body, len(rec.Raw))
		}
	})
}

func texts(r record.Record) []string {
	all := []string{r.Registrar.Name, r.Registrar.IANAID, r.Registrar.URL, r.Registrar.AbuseEmail, r.Registrar.AbusePhone, r.Registrant.Name, r.Registrant.Organization, r.Registrant.Country, r.RegistrarRDAP}
	all = append(append(all, r.Status...), r.Redacted...)
	for _, ns := range r.Nameservers {
		all = append(append(all, ns.Host), ns.Addresses...)
	}
	return all
}

func cleanText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || 0x7f <= r && r <= 0x9f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
	})
}

// BenchmarkDecode decodes a reply of 2.2 KB, beside the decoder of openrdap/rdap.
func BenchmarkDecode(b *testing.B) {
	body := read(b, "thin.json")
	name := fqdn.MustParse("example-shop.com")
	b.Run("namewharf", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := rdap.Decode(name, body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("openrdap", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := openrdap.NewDecoder(body).Decode(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
