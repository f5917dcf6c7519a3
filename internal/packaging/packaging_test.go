package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/tools"
)

var update = flag.Bool("update", false, "write the tools of the set into manifest.json")

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// The manifest repeats the tools, because clients show them before they start the server.
func TestGoldenManifest(t *testing.T) {
	t.Parallel()
	set := tools.New(tools.Config{Secret: make([]byte, 32), Now: time.Now})
	var want []tool
	for _, o := range set.All() {
		if o.Tool {
			want = append(want, tool{o.Name, o.Doc})
		}
	}
	var got struct {
		Tools []tool `json:"tools"`
	}
	if err := json.Unmarshal(manifest, &got); err != nil {
		t.Fatal(err)
	}
	if have, need := encode(t, got.Tools), encode(t, want); have != need {
		if !*update {
			t.Fatalf("the tools of manifest.json\n got %s\nwant %s", have, need)
		}
		list := regexp.MustCompile(`(?s)"tools": \[.*?\],\n  "prompts_generated"`)
		written := list.ReplaceAllLiteral(manifest, []byte(`"tools": `+strings.ReplaceAll(need, "\n", "\n  ")+",\n  \"prompts_generated\""))
		if err := os.WriteFile("manifest.json", written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// Bounds and patterns of the registry's schema of 2025-12-11.
func TestServerJSON(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../server.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("0", 64)
	raw, err = registryEntry(raw, "1.2.3", "namewharf-linux-amd64.mcpb", sum)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Schema      string `json:"$schema"`
		Name        string
		Title       string
		Description string
		Version     string
		Repository  struct{ URL, Source string }
		Packages    []struct {
			RegistryType, Identifier, Version, FileSHA256 string
			Transport                                     struct{ Type string }
			EnvironmentVariables                          []struct{ Name string }
		}
		WebsiteURL string
		Icons      []struct {
			Src, MIMEType string
			Sizes         []string
		}
		Remotes []struct {
			Type, URL string
			Variables map[string]any
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Description string
		Server      struct {
			Config struct{ Env map[string]string } `json:"mcp_config"`
		}
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	for what, ok := range map[string]bool{
		"the schema":              s.Schema == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"the name":                regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(s.Name),
		"the title":               s.Title != "" && len(s.Title) <= 100,
		"the description":         s.Description != "" && len(s.Description) <= 100 && s.Description == m.Description,
		"the version":             s.Version == "1.2.3",
		"the repository":          s.Repository.Source == "github" && strings.HasPrefix(s.Repository.URL, "https://"),
		"one package":             len(s.Packages) == 1 && s.Packages[0].RegistryType == "mcpb" && s.Packages[0].Transport.Type == "stdio",
		"the package's checksum":  s.Packages[0].FileSHA256 == sum && s.Packages[0].Version == "1.2.3",
		"the package's address":   strings.HasSuffix(s.Packages[0].Identifier, "/v1.2.3/namewharf-linux-amd64.mcpb"),
		"one remote":              len(s.Remotes) == 1 && s.Remotes[0].Type == "streamable-http" && s.Remotes[0].Variables["base_url"] != nil,
		"the environment in both": len(s.Packages[0].EnvironmentVariables) == len(m.Server.Config.Env),
	} {
		if !ok {
			t.Errorf("server.json: %s is wrong: %s", what, raw)
		}
	}
	if len(s.Icons) == 0 || !strings.HasPrefix(s.WebsiteURL, "https://") {
		t.Errorf("server.json has %d icons, and the website %q", len(s.Icons), s.WebsiteURL)
	}
	for _, i := range s.Icons { // of this repository: an icon that is not there is not shown
		path, ok := strings.CutPrefix(i.Src, "https://raw.githubusercontent.com/namewharf/namewharf/main/")
		_, err := os.Stat("../../" + path)
		if !ok || err != nil || len(i.Src) > 255 || len(i.Sizes) != 1 || !slices.Contains([]string{"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"}, i.MIMEType) ||
			!regexp.MustCompile(`^(\d+x\d+|any)$`).MatchString(i.Sizes[0]) {
			t.Errorf("server.json: the icon %+v, %v", i, err)
		}
	}
	if size, err := png.DecodeConfig(bytes.NewReader(icon)); err != nil || size.Width != 512 || size.Height != 512 {
		t.Errorf("the icon of the bundle: %+v, %v", size, err)
	}
	for _, v := range s.Packages[0].EnvironmentVariables {
		if m.Server.Config.Env[v.Name] == "" {
			t.Errorf("server.json names the variable %s, the manifest does not", v.Name)
		}
	}
}

// The manual has a page for every command, with its flags as they are written elsewhere.
func TestManual(t *testing.T) { // not parallel: it changes the working directory
	t.Chdir("../..")
	dir := t.TempDir()
	if err := manual(dir); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{"operator.1": "EXIT STATUS", "operator-listing-import.1": `\fB-dry-run\fP`, "operator-db-restore.1": "pg_restore"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q, %v", page, want, err)
		}
	}
}
