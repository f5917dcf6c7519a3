// Command packaging builds what a release ships beside the programs: an MCPB bundle of cmd/mcp for one platform,
// server.json for the MCP registry with the checksum of that bundle, and the manual pages of cmd/operator.
//
//	go run ./internal/packaging -version 0.1.0 -o dist
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

var (
	//go:embed manifest.json
	manifest []byte
	//go:embed icon.png
	icon []byte
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// run builds in the root of the module, for the platform in GOOS and GOARCH.
func run(args []string) error {
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	version := flags.String("version", "", "the `version` of the release, without a v")
	dir := flags.String("o", "dist", "the `directory` to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" {
		return errors.New("-version is required")
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	goos, goarch := platform()
	program := "namewharf-mcp"
	if goos == "windows" {
		program += ".exe"
	}
	binary := filepath.Join(*dir, program)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/mcp")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building cmd/mcp: %w", err)
	}
	defer os.Remove(binary)
	bundle, err := pack(*version, binary, "server/"+program)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("namewharf-%s-%s.mcpb", goos, goarch)
	if err := os.WriteFile(filepath.Join(*dir, name), bundle, 0o644); err != nil {
		return err
	}
	template, err := os.ReadFile("server.json")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(bundle)
	entry, err := registryEntry(template, *version, name, hex.EncodeToString(sum[:]))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*dir, "server.json"), entry, 0o644); err != nil {
		return err
	}
	return manual(filepath.Join(*dir, "man"))
}

// manual writes the manual pages of cmd/operator, which has the command for it with the tag man only.
func manual(dir string) error {
	pages := exec.Command("go", "run", "-tags", "man", "./cmd/operator", "man", dir)
	pages.Env = append(os.Environ(), "GOOS=", "GOARCH=") // it runs here, whatever the release is for
	pages.Stderr = os.Stderr
	if err := pages.Run(); err != nil {
		return fmt.Errorf("writing the manual pages: %w", err)
	}
	return nil
}

func platform() (goos, goarch string) {
	goos, goarch = os.Getenv("GOOS"), os.Getenv("GOARCH")
	if goos == "" {
		goos = runtime.GOOS
	}
	if goarch == "" {
		goarch = runtime.GOARCH
	}
	return goos, goarch
}

// pack returns the bundle: a zip archive of the manifest, the licence, the icon and the program.
func pack(version, binary, entry string) ([]byte, error) {
	described, err := withVersion(manifest, version)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, file := range []struct {
		name string
		mode os.FileMode
		body []byte
	}{{"manifest.json", 0o644, described}, {"LICENSE", 0o644, licence}, {"icon.png", 0o644, icon}, {entry, 0o755, program}} {
		header := &zip.FileHeader{Name: file.name, Method: zip.Deflate} // no time: equal input gives an equal bundle
		header.SetMode(file.mode)
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(file.body); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func withVersion(document []byte, version string) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}
	fields["version"] = version
	return json.MarshalIndent(fields, "", "  ")
}

// registryEntry is server.json for one release with one bundle.
func registryEntry(template []byte, version, bundle, sum string) ([]byte, error) {
	var entry map[string]any
	if err := json.Unmarshal(template, &entry); err != nil {
		return nil, err
	}
	packages, _ := entry["packages"].([]any)
	if len(packages) != 1 {
		return nil, errors.New("server.json must have one package")
	}
	entry["version"] = version
	one, _ := packages[0].(map[string]any)
	one["version"] = version
	one["identifier"] = "https://github.com/namewharf/namewharf/releases/download/v" + version + "/" + bundle
	one["fileSha256"] = sum
	return json.MarshalIndent(entry, "", "  ")
}
