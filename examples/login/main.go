// Command login is an example: it signs a user in to a public API through the browser, and prints the prices of names for
// sale. The sign-in is stored until the user signs out.
//
//	go run ./examples/login -api http://localhost:8080 brewhaven.com
//	go run ./examples/login -api http://localhost:8080 -sign-out
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/clilogin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "login:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, environ func(string) (string, bool), stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("login", flag.ContinueOnError)
	flags.SetOutput(stderr)
	api := flags.String("api", "http://localhost:8080", "base `URL` of the public API")
	out := flags.Bool("sign-out", false, "sign out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	base := strings.TrimSuffix(*api, "/")
	dir, err := clilogin.Directory(environ)
	if err != nil {
		return err
	}
	login, err := clilogin.Open(dir, base+"/api", clilogin.Options{Name: "Price example"})
	switch {
	case err != nil:
		return fmt.Errorf("-api %w", err)
	case *out:
		return login.SignOut(ctx)
	case flags.NArg() != 1:
		return errors.New("give one name to search for, such as brewhaven.com")
	}
	_, err = login.Token(ctx)
	if errors.Is(err, clilogin.ErrNotSignedIn) || fault.Is(err, fault.InvalidToken) {
		err = login.SignIn(ctx, clilogin.OpenBrowser, stderr)
	}
	if err != nil {
		return err
	}
	client := &http.Client{Transport: login.Transport(), Timeout: 15 * time.Second}
	return search(ctx, client, base, flags.Arg(0), stdout)
}

// search prints the results of a search, with prices of names that are for sale.
func search(ctx context.Context, client *http.Client, base, name string, stdout io.Writer) error {
	body, err := json.Marshal(map[string]string{"q": name})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/domain/search", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Results []struct {
			Domain, Status string
			Listing        *struct {
				Price struct {
					Display    string
					PriceCents int64
					Currency   string
				}
			}
		}
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the search was answered with status %d", response.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	for _, r := range answer.Results {
		price := ""
		if r.Listing != nil {
			if price = r.Listing.Price.Display; price == "" {
				price = fmt.Sprintf("%d.%02d %s", r.Listing.Price.PriceCents/100, r.Listing.Price.PriceCents%100, r.Listing.Price.Currency)
			}
		}
		fmt.Fprintf(stdout, "%-30s %-18s %s\n", r.Domain, r.Status, price)
	}
	return nil
}
