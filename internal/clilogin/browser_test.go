package clilogin

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// It is not parallel: it changes PATH, by which the browser is found.
func TestOpenBrowser(t *testing.T) {
	name := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	if name == "" {
		t.Skip("a script cannot replace the browser here")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	const url = "https://names.example/oauth/authorize?a=b&c=$(d)"
	if err := OpenBrowser(url); err == nil {
		t.Error("without a browser: want an error")
	}
	script := "#!/bin/sh\necho \"$#,$1\" > " + filepath.Join(dir, "part") + "\n/bin/mv " + filepath.Join(dir, "part") + " " + filepath.Join(dir, "got") + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := OpenBrowser(url); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got, err := os.ReadFile(filepath.Join(dir, "got"))
		if err == nil {
			if string(got) != "1,"+url+"\n" {
				t.Errorf("got %s, want the URL as the only argument", got)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("the browser was not opened within 30 s")
		}
	}
}
