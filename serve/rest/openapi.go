package rest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// The types of an OpenAPI 3.1 document, as far as it is used here. Everything in it is derived from the set; maps
// are encoded in the order of their keys, so equal sets give equal bytes.
type (
	document struct {
		OpenAPI    string                          `json:"openapi"`
		Info       info                            `json:"info"`
		Servers    []link                          `json:"servers"`
		Tags       []tag                           `json:"tags"`
		Paths      map[string]map[string]operation `json:"paths"`
		Components components                      `json:"components"`
	}
	info struct {
		Title       string  `json:"title"`
		Version     string  `json:"version"`
		Summary     string  `json:"summary"`
		Description string  `json:"description"`
		License     license `json:"license"`
	}
	license struct {
		Name       string `json:"name"`
		Identifier string `json:"identifier"`
	}
	link struct {
		URL string `json:"url"`
	}
	tag struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	operation struct {
		OperationID string                `json:"operationId"`
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		Tags        []string              `json:"tags"`
		Security    []map[string][]string `json:"security"`
		Parameters  []parameter           `json:"parameters,omitempty"`
		RequestBody *content              `json:"requestBody,omitempty"`
		Responses   map[string]any        `json:"responses"`
	}
	parameter struct {
		Name        string             `json:"name"`
		In          string             `json:"in"`
		Description string             `json:"description,omitempty"`
		Required    bool               `json:"required,omitempty"`
		Explode     *bool              `json:"explode,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
		Example     json.RawMessage    `json:"example,omitempty"`
	}
	content struct {
		Description string               `json:"description,omitempty"`
		Required    bool                 `json:"required,omitempty"`
		Headers     map[string]reference `json:"headers,omitempty"`
		Content     map[string]media     `json:"content,omitempty"`
	}
	media struct {
		Schema  *jsonschema.Schema `json:"schema"`
		Example json.RawMessage    `json:"example,omitempty"`
	}
	header struct {
		Description string             `json:"description"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	reference struct {
		Ref string `json:"$ref"`
	}
	components struct {
		Schemas         map[string]*jsonschema.Schema `json:"schemas"`
		Responses       map[string]content            `json:"responses"`
		Headers         map[string]header             `json:"headers"`
		SecuritySchemes map[string]any                `json:"securitySchemes"`
	}
)

// OpenAPI describes the operations of the set, and those of a partner API unless that is nil, served below base, as an
// OpenAPI 3.1 document. The version is that of the API; it must change when the document does.
func OpenAPI(set, partner *op.Set, base, version string) ([]byte, error) {
	shapes, guide := newShapes(), set.Guide()
	doc := document{
		OpenAPI: "3.1.1",
		Info: info{
			Title: "Namewharf", Version: version,
			Summary:     guide.Summary,
			Description: overview(base, guide.Access),
			License:     license{"Apache License 2.0", "Apache-2.0"},
		},
		Servers: []link{{base}},
		Paths:   map[string]map[string]operation{},
		Tags:    []tag{},
	}
	all := set.All()
	for _, o := range all {
		if err := doc.add(o, shapes, describePublic(guide)); err != nil {
			return nil, err
		}
	}
	if partner != nil {
		all = slices.Concat(all, partner.All())
		doc.Info.Description += signedOverview
		for _, o := range partner.All() {
			if err := doc.add(o, shapes, describeSigned); err != nil {
				return nil, err
			}
		}
	}
	doc.Components = components{
		Schemas: shapes.schemas, Responses: errorResponses(all), Headers: headers(), SecuritySchemes: securitySchemes(base, guide.Scopes),
	}
	doc.Components.Schemas["Error"] = errorSchema()
	doc.Components.Schemas["Problem"] = problemSchema()
	if partner != nil {
		doc.addSigned()
	}
	return op.Marshal(doc)
}

// add adds an operation as describe does.
func (doc *document) add(o *op.Op, shapes *shapes, describe func(*op.Op, *shapes) (operation, error)) error {
	if doc.Paths[o.Route.Path] == nil {
		doc.Paths[o.Route.Path] = map[string]operation{}
	}
	described, err := describe(o, shapes)
	if err != nil {
		return err
	}
	doc.Paths[o.Route.Path][strings.ToLower(o.Route.Method)] = described
	if name := described.Tags[0]; !slices.ContainsFunc(doc.Tags, func(t tag) bool { return t.Name == name }) {
		doc.Tags = append(doc.Tags, tag{name, "Operations below " + sectionPath(o) + "."})
	}
	return nil
}

const oauth = "oauth"

// describePublic describes an operation that takes access tokens.
func describePublic(guide *op.Guide) func(*op.Op, *shapes) (operation, error) {
	return func(o *op.Op, shapes *shapes) (operation, error) {
		described, err := describe(o, shapes)
		described.Security = security(o, guide)
		return described, err
	}
}

// describe describes an operation without who may call it.

func describe(o *op.Op, shapes *shapes) (operation, error) {
	described := operation{
		OperationID: o.Name, Summary: o.Title, Description: o.Doc, Tags: []string{section(o)},
		Responses: responses(o, shapes),
	}
	var example map[string]json.RawMessage
	if err := json.Unmarshal(o.Example, &example); err != nil {
		return operation{}, err
	}
	inPath := wildcards(o.Route.Path)
	for _, name := range order(o.In) {
		switch {
		case slices.Contains(inPath, name):
			described.Parameters = append(described.Parameters, describeParameter(o, name, "path", example[name]))
		case !hasBody(o):
			described.Parameters = append(described.Parameters, describeParameter(o, name, "query", example[name]))
		}
	}
	if hasBody(o) {
		body := without(o.In, inPath)
		for _, name := range inPath {
			delete(example, name)
		}
		sample := o.Example
		if len(inPath) > 0 {
			sample, _ = op.Marshal(example)
		}
		described.RequestBody = &content{Required: true, Content: map[string]media{
			"application/json": {Schema: shapes.name(pascal(o.Name)+"Request", body), Example: sample},
		}}
	}
	return described, nil
}

func describeParameter(o *op.Op, name, in string, example json.RawMessage) parameter {
	schema := o.In.Properties[name].CloneSchemas()
	p := parameter{
		Name: name, In: in, Description: schema.Description, Schema: schema, Example: example,
		Required: in == "path" || slices.Contains(o.In.Required, name),
	}
	schema.Description = ""
	if schema.Type == "array" {
		explode := false // a,b,c; repeating the parameter is understood too
		p.Explode = &explode
	}
	return p
}

// security lists the tokens that an operation takes. Without a scope none is needed; where answers depend on the caller, a
// token with the default scope shows more.
func security(o *op.Op, guide *op.Guide) []map[string][]string {
	switch {
	case o.Scope != "":
		return []map[string][]string{{oauth: {o.Scope}}}
	case o.PerCaller:
		more := []string{}
		if len(guide.Scopes) > 0 {
			more = append(more, guide.Scopes[0].Name)
		}
		return []map[string][]string{{}, {oauth: more}}
	}
	return []map[string][]string{{}}
}

func responses(o *op.Op, shapes *shapes) map[string]any {
	success := content{
		Description: "The answer.",
		Headers:     map[string]reference{"X-Request-Id": headerRef("X-Request-Id"), "RateLimit": headerRef("RateLimit"), "RateLimit-Policy": headerRef("RateLimit-Policy")},
		Content:     map[string]media{"application/json": {Schema: shapes.name(pascal(o.Name)+"Answer", tolerant(o.Out))}},
	}
	all := map[string]any{strconv.Itoa(o.Route.Status): &success}
	if o.Route.Method == http.MethodGet {
		success.Headers["ETag"], success.Headers["Cache-Control"] = headerRef("ETag"), headerRef("Cache-Control")
		all["304"] = reference{"#/components/responses/NotModified"}
	} else if streams(o) {
		success.Content["text/event-stream"] = media{Schema: &jsonschema.Schema{
			Type: "string", Description: "Server-sent events: `result` for each element of a list as it is known, `progress`, then `done` with the rest of the answer, or `error`.",
		}}
	}
	if o.Exports() {
		success.Content[csvMedia] = media{Schema: &jsonschema.Schema{
			Type: "string", Description: "With `Accept: text/csv`: all that the input selects, not only a page of it, with a line of column names.",
		}}
	}
	for _, status := range statuses(o) {
		all[strconv.Itoa(status)] = reference{"#/components/responses/" + responseName(status)}
	}
	return all
}

// statuses are those of the errors that the operation can answer with.
func statuses(o *op.Op) []int {
	list := []int{400, 401, 404, 429, 500, 503}
	if o.Scope != "" || o.PerCaller {
		list = append(list, 403)
	}
	if hasBody(o) {
		list = append(list, 408, 413, 415)
	}
	if o.Effect != op.Reads {
		list = append(list, 409)
	}
	if o.Gone {
		list = append(list, 410)
	}
	if o.Idempotency == op.Required {
		list = append(list, 422) // only what moves money needs a key
	}
	return list
}

// sectionPath is the first two segments of a path, which group operations.
func sectionPath(o *op.Op) string {
	parts := strings.SplitN(strings.Trim(o.Route.Path, "/"), "/", 3)
	return "/" + strings.Join(parts[:min(2, len(parts))], "/")
}

func section(o *op.Op) string {
	path := sectionPath(o)
	return path[strings.LastIndexByte(path, '/')+1:]
}

func headerRef(name string) reference { return reference{"#/components/headers/" + name} }

func responseName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// errorResponses has one response for each status that an operation of the set can answer with, which lists the
// codes of the table that have it.
func errorResponses(ops []*op.Op) map[string]content {
	used := map[int]bool{}
	all := map[string]content{}
	for _, o := range ops {
		for _, status := range statuses(o) {
			used[status] = true
		}
		if o.Route.Method == http.MethodGet {
			all["NotModified"] = content{Description: "The client's copy is still good; there is no body."}
		}
	}
	for _, row := range fault.Codes() {
		if !used[row.Status] {
			continue
		}
		name := responseName(row.Status)
		response, ok := all[name]
		if !ok {
			body, _ := op.Marshal(map[string]any{"error": map[string]any{
				"code": row.Code, "message": row.Title + ".", "request_id": "8c9f2f7f8a5d4c0e9d1b6a7c3e5f0a1b",
			}})
			problem, _ := op.Marshal(map[string]any{
				"type": "about:blank", "title": row.Title, "status": row.Status, "detail": row.Title + ".",
				"code": row.Code, "request_id": "8c9f2f7f8a5d4c0e9d1b6a7c3e5f0a1b",
			})
			response = content{Headers: map[string]reference{"X-Request-Id": headerRef("X-Request-Id")}, Content: map[string]media{
				"application/json":         {Schema: &jsonschema.Schema{Ref: schemaRef + "Error"}, Example: body},
				"application/problem+json": {Schema: &jsonschema.Schema{Ref: schemaRef + "Problem"}, Example: problem},
			}}
			switch row.Status {
			case http.StatusUnauthorized, http.StatusForbidden:
				response.Headers["WWW-Authenticate"] = headerRef("WWW-Authenticate")
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				response.Headers["Retry-After"] = headerRef("Retry-After")
			}
		} else {
			response.Description += " "
		}
		response.Description += "`" + string(row.Code) + "`: " + row.When
		all[name] = response
	}
	return all
}

func headers() map[string]header {
	text := &jsonschema.Schema{Type: "string"}
	return map[string]header{
		"X-Request-Id":     {"Names this request in our log; quote it when something went wrong.", text},
		"RateLimit":        {"What is left of each limit drawn on, and the seconds until all of it is back (draft-ietf-httpapi-ratelimit-headers-11).", text},
		"RateLimit-Policy": {"The limits drawn on: quota and window in seconds.", text},
		"Retry-After":      {"Seconds to wait before asking again.", &jsonschema.Schema{Type: "integer", Minimum: new(float64)}},
		"ETag":             {"Names this state of the answer; send it back in If-None-Match.", text},
		"Cache-Control":    {"Whether and how long the answer may be kept.", text},
		"WWW-Authenticate": {"Where to sign in (RFC 9728): resource_metadata leads to the authorization server.", text},
	}
}

func securitySchemes(base string, scopes []op.Scope) map[string]any {
	described := map[string]string{}
	for _, s := range scopes {
		described[s.Name] = s.Doc
	}
	return map[string]any{oauth: map[string]any{
		"type":        "oauth2",
		"description": "Authorization code with PKCE (S256), public clients. Everything without a scope works without a token.",
		"flows": map[string]any{"authorizationCode": map[string]any{
			"authorizationUrl": base + "/oauth/authorize",
			"tokenUrl":         base + "/api/oauth/token",
			"refreshUrl":       base + "/api/oauth/token",
			"scopes":           described,
		}},
	}}
}
