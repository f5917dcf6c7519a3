package rest_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
)

type greetIn struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

type greetOut struct {
	Greeting string `json:"greeting"`
}

func ExampleNew() {
	set := op.NewSet(time.Now, op.Operation[greetIn, greetOut]{
		Name: "greet", Title: "Greet", Doc: "Greets somebody.",
		Route: op.Route{Method: "POST", Path: "/api/greet"}, Limit: op.Read, Example: greetIn{Name: "Ada"},
		Do: func(_ context.Context, in greetIn) (greetOut, error) {
			return greetOut{Greeting: "Hello, " + in.Name}, nil
		},
	})
	h := rest.New(rest.Config{
		Middleware: middleware.New(middleware.Config{BaseURL: "https://names.example", Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler)}),
		Set:        set,
		Version:    "1.0.0",
	})
	for _, body := range []string{`{"name":"Ada"}`, `{"nmae":"Ada"}`} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/api/greet", strings.NewReader(body)))
		fmt.Println(w.Code, strings.ReplaceAll(w.Body.String(), w.Header().Get("X-Request-Id"), "ID"))
	}
	// Output:
	// 200 {"greeting":"Hello, Ada"}
	// 400 {"error":{"code":"validation_error","message":"nmae is not a known field; known are name","request_id":"ID","details":[{"field":"nmae","reason":"is not a known field; known are name"},{"field":"name","reason":"is required: whom to greet"}]}}
}
