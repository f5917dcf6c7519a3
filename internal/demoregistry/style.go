package demoregistry

import (
	"strings"
	"text/template"
	"time"
)

// A registryStyle is how a WHOIS host writes: there is no common form, so clients meet each of these.
type registryStyle struct {
	free, taken, reserved text43
	throttled             string
}

// A text43 is a reply on port 43 with blanks for a [view].
type text43 struct{ t *template.Template }

// A view is what a reply is filled in with.
type view struct {
	record
	Now      time.Time
	Thin     bool   // leave the registrant to the registrar
	Referral string // the registrar's WHOIS host; empty: the reply names none
}

func text43Of(name, source string) text43 {
	return text43{template.Must(template.New(name).Funcs(template.FuncMap{
		"upper":  strings.ToUpper,
		"day":    func(layout string, t time.Time) string { return t.Format(layout) },
		"iso":    func(t time.Time) string { return t.Format(time.RFC3339) },
		"digest": digest,
		"jst":    func(t time.Time) time.Time { return t.Add(9 * time.Hour) },
		"tag":    func(name string) string { return strings.ToUpper(strings.Fields(name)[0]) },
	}).Parse(source))}
}

func (t text43) fill(v view) string {
	var b strings.Builder
	if err := t.t.Execute(&b, v); err != nil {
		panic("registry: writing WHOIS: " + err.Error()) // our own texts always execute
	}
	return crlf(b.String())
}

// crlf ends lines as RFC 3912 wants.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// The styles in the key-and-value form that ICANN prescribes. They differ in how they say that a name is free, and
// in their throttle texts.
var (
	meridianStyle = registryStyle{
		free: text43Of("free", `No match for "{{upper .Name}}".
`+updated),
		taken:     text43Of("taken", icannTaken),
		reserved:  text43Of("reserved", icannReserved),
		throttled: "Number of allowed queries exceeded. Try again in 20 seconds.\n",
	}
	registrarStyle = registryStyle{
		free:      text43Of("free", "Domain not found.\n"),
		taken:     text43Of("taken", icannTaken),
		throttled: "Query rate limit exceeded. Try again later.\n",
	}
	commonsStyle = registryStyle{
		free:      text43Of("free", "Domain not found.\n"+updated),
		taken:     text43Of("taken", icannTaken),
		reserved:  text43Of("reserved", icannReserved),
		throttled: "WHOIS LIMIT EXCEEDED - TRY AGAIN IN 20 SECONDS\n",
	}
	bazaarStyle = registryStyle{
		free:      text43Of("free", "The queried object does not exist: DOMAIN NOT FOUND\n\n"+updated),
		taken:     text43Of("taken", icannTaken),
		reserved:  text43Of("reserved", icannReserved),
		throttled: "Your query limit has been exceeded. Please wait 20 seconds.\n",
	}
	andesStyle = registryStyle{
		free:      text43Of("free", "No Data Found\nURL of the ICANN Whois Inaccuracy Complaint Form: https://www.icann.org/wicf/\n"+updated),
		taken:     text43Of("taken", icannTaken),
		reserved:  text43Of("reserved", icannReserved),
		throttled: "You have exceeded your query limit. Try again in 20 seconds.\n",
	}
)

const updated = `>>> Last update of WHOIS database: {{iso .Now}} <<<

For more information on Whois status codes, please visit https://icann.org/epp

Terms of use: this registry is made up, and its names belong to nobody.
`

const icannReserved = `Reserved Domain Name
This name is reserved by the Registry in accordance with ICANN Policy.
` + updated

const icannTaken = `Domain Name: {{upper .Name}}
Registry Domain ID: {{.Handle}}
Registrar WHOIS Server: {{.Referral}}
Registrar URL: {{.Registrar.URL}}
Updated Date: {{iso .Updated}}
Creation Date: {{iso .Created}}
Registry Expiry Date: {{iso .Expires}}
Registrar: {{.Registrar.Name}}
Registrar IANA ID: {{.Registrar.IANAID}}
Registrar Abuse Contact Email: {{.Registrar.AbuseEmail}}
Registrar Abuse Contact Phone: {{.Registrar.AbusePhone}}
{{range .Status}}Domain Status: {{.}} https://icann.org/epp#{{.}}
{{end}}
{{- if not .Thin}}{{if .Redacted}}Registrant Name: REDACTED FOR PRIVACY
Registrant Organization: REDACTED FOR PRIVACY
Registrant Street: REDACTED FOR PRIVACY
Registrant City: REDACTED FOR PRIVACY
Registrant Postal Code: REDACTED FOR PRIVACY
Registrant Country: {{.Registrant.Country}}
Registrant Phone: REDACTED FOR PRIVACY
Registrant Email: REDACTED FOR PRIVACY
{{else}}Registrant Name: {{.Registrant.Name}}
Registrant Organization: {{.Registrant.Organization}}
Registrant Street: {{.Registrant.Street}}
Registrant City: {{.Registrant.City}}
Registrant Postal Code: {{.Registrant.PostalCode}}
Registrant Country: {{.Registrant.Country}}
Registrant Phone: {{.Registrant.Phone}}
Registrant Email: {{.Registrant.Email}}
{{end}}{{end}}
{{- range .Nameservers}}Name Server: {{upper .Host}}
{{end -}}
DNSSEC: {{if .Signed}}signedDelegation{{else}}unsigned{{end}}
URL of the ICANN Whois Inaccuracy Complaint Form: https://www.icann.org/wicf/
` + updated

// albionStyle writes headings with indented values, as .uk does.
var albionStyle = registryStyle{
	free: text43Of("free", `
    No match for "{{.Name}}".

    This domain name has not been registered.
`+albionEnd),
	reserved: text43Of("reserved", `
    This domain cannot be registered because it is reserved by the registry.
`+albionEnd),
	taken: text43Of("taken", `
    Domain name:
        {{.Name}}

    Registrant:
        {{if .Redacted}}REDACTED FOR PRIVACY{{else}}{{.Registrant.Organization}}{{end}}

    Registrar:
        {{.Registrar.Name}} [Tag = {{tag .Registrar.Name}}]
        URL: {{.Registrar.URL}}

    Relevant dates:
        Registered on: {{day "02-Jan-2006" .Created}}
        Expiry date:  {{day "02-Jan-2006" .Expires}}
        Last updated:  {{day "02-Jan-2006" .Updated}}

    Registration status:
        {{if eq (index .Status 0) "redemptionPeriod"}}Renewal required.
        *** This registration has been SUSPENDED. ***
{{- else if eq (index .Status 0) "pendingDelete"}}No longer required
{{- else}}Registered until expiry date.{{end}}

    Name servers:
{{range .Nameservers}}        {{.Host}}{{range .Addresses}}      {{.}}{{end}}
{{else}}        No name servers listed.
{{end}}
    DNSSEC:
        {{if .Signed}}Signed{{else}}Not signed{{end}}
`+albionEnd),
	throttled: "\nError for query.\n\nthe WHOIS query quota for your address has been exceeded\nand will be replenished in 20 seconds\n",
}

const albionEnd = `
    WHOIS lookup made at {{day "15:04:05 02-Jan-2006" .Now}}

--
This WHOIS information is made up for tests and demonstrations.
`

// rheinStyle writes a few keys and no dates but the last change, as .de does.
var rheinStyle = registryStyle{
	free:     text43Of("free", "Domain: {{.Name}}\nStatus: free\n"),
	reserved: text43Of("reserved", "Domain: {{.Name}}\nStatus: invalid\n% This name is reserved by the registry.\n"),
	taken: text43Of("taken", `% This WHOIS information is made up for tests and demonstrations.

Domain: {{.Name}}
{{range .Nameservers}}Nserver: {{.Host}}{{range .Addresses}} {{.}}{{end}}
{{end}}{{if .Signed}}Dnskey: 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
{{end}}Status: {{if .Nameservers}}connect{{else if eq (index .Status 0) "inactive"}}failed{{else}}redemptionPeriod{{end}}
Changed: {{iso .Updated}}
`),
	throttled: "% Error: 55000000002 Connection refused; access control limit exceeded. Try again in 20 seconds.\n",
}

// unionStyle writes sections without dates and never the registrant, as .eu does.
var unionStyle = registryStyle{
	free:     text43Of("free", unionHead+"Status: AVAILABLE\n"),
	reserved: text43Of("reserved", unionHead+"Status: NOT ALLOWED\n"),
	taken: text43Of("taken", unionHead+`
Registrant:
        NOT DISCLOSED!
        Visit the web site of the registry for web-based WHOIS.

Registrar:
        Name: {{.Registrar.Name}}
        Website: {{.Registrar.URL}}

Name servers:
{{range .Nameservers}}{{$host := .Host}}{{range .Addresses}}        {{$host}} ({{.}})
{{else}}        {{$host}}
{{end}}{{end}}{{if not .Nameservers}}
Status: QUARANTINE
{{end}}
Please visit the web site of the registry for more info.
`),
	throttled: "% Excessive querying, grace period of 20 seconds\n",
}

const unionHead = `% This WHOIS information is made up for tests and demonstrations.
%
% WHOIS {{.Name}}
Domain: {{.Name}}
Script: LATIN
`

// hinodeStyle writes keys in brackets and dates with slashes in its own zone, as .jp does.
var hinodeStyle = registryStyle{
	free:     text43Of("free", hinodeHead+"No match!!\n"),
	reserved: text43Of("reserved", hinodeHead+hinodeName+"[Status]                        Reserved\n"),
	taken: text43Of("taken", hinodeHead+hinodeName+`
[Registrant]                    {{if .Redacted}}REDACTED FOR PRIVACY{{else}}{{.Registrant.Organization}}{{end}}

{{range .Nameservers}}[Name Server]                   {{.Host}}
{{end}}[Signing Key]{{if .Signed}}                   26154 13 2 ({{digest .Name}}){{end}}

[Created on]                    {{day "2006/01/02" (jst .Created)}}
[Expires on]                    {{day "2006/01/02" (jst .Expires)}}
[Status]                        {{if eq (index .Status 0) "redemptionPeriod"}}Suspended{{else if eq (index .Status 0) "pendingDelete"}}To be deleted{{else}}Active{{end}}
[Last Updated]                  {{day "2006/01/02 15:04:05" (jst .Updated)}} (JST)
`),
	throttled: "[ Query limit exceeded. Please try again in 20 seconds. ]\n",
}

const hinodeHead = `[ This WHOIS information is made up for tests and demonstrations.             ]

`

const hinodeName = `Domain Information:
[Domain Name]                   {{upper .Name}}
`
