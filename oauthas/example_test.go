package oauthas_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"

	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/store"
)

// An application registers, a user allows it to see prices, and it receives a token for the API.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "oauthas-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(ctx, store.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	server, err := oauthas.New(ctx, oauthas.Config{
		DB: db, Issuer: "https://names.example", Resources: []string{"https://names.example/api", "https://names.example/mcp"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	post := func(path, contentType, body string) (answer struct {
		ClientID string `json:"client_id"`
		Access   string `json:"access_token"`
		Scope    string `json:"scope"`
	},
	) {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code >= 400 {
			log.Fatal(w.Body)
		}
		return answer
	}
	app := post("/api/oauth/register", "application/json", `{"redirect_uris":["http://127.0.0.1/cb"],"client_name":"Ember"}`)

	// The browser comes to /oauth/authorize; the person has signed in.
	session := oauthas.SessionRef{ID: "ses_1", AccountID: "acc_1"}
	decision, err := server.Authorize(ctx, oauthas.AuthorizeRequest{Session: session, Params: url.Values{
		"response_type": {"code"}, "client_id": {app.ClientID}, "redirect_uri": {"http://127.0.0.1:49152/cb"}, "state": {"af0"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, // RFC 7636, appendix B
	}})
	if err != nil {
		log.Fatal(err)
	}
	question := decision.(oauthas.Consent)
	fmt.Println(question.ClientName, "at", question.RedirectHost, "asks for", question.Scopes)

	decision, err = server.Answer(ctx, question.Interaction, session, true)
	if err != nil {
		log.Fatal(err)
	}
	back, err := url.Parse(decision.(oauthas.Redirect).URL)
	if err != nil {
		log.Fatal(err)
	}
	tokens := post("/api/oauth/token", "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {app.ClientID}, "code": {back.Query().Get("code")},
		"code_verifier": {"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"},
	}.Encode())
	caller, err := server.Caller(ctx, tokens.Access, "https://names.example/api")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(caller.Account, "may", tokens.Scope)
	// Output:
	// Ember at 127.0.0.1:49152 asks for [pricing:read]
	// acc_1 may pricing:read
}
