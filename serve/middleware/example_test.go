package middleware_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Middleware around one call: who asks, what it costs, what failed.
func ExampleStack_Wrap() {
	const resource = "https://names.example/api"
	mw := middleware.New(middleware.Config{
		BaseURL: "https://names.example", Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler),
		Limits: middleware.NewLimits(map[op.Class]middleware.Quota{op.Read: {Anonymous: 1, SignedIn: 5}}, time.Now),
	})
	h := mw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), "hello", "")
		caller, err := mw.Caller(r, resource)
		if err != nil {
			mw.WriteError(w, r, resource, err)
			return
		}
		r = r.WithContext(op.WithCaller(r.Context(), caller))
		if err := mw.Charge(w, r, []op.Charge{{Class: op.Read, Count: 1}}); err != nil {
			mw.WriteError(w, r, resource, err)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d RateLimit: %s Retry-After: %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 RateLimit: "read";r=0;t=60 Retry-After: ""
	// 429 RateLimit: "read";r=0;t=60 Retry-After: "60"
}
