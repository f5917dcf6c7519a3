package clilogin

import (
	"fmt"
	"os/exec"
	"runtime"
)

// OpenBrowser starts the user's browser at an http or https URL. It does not wait, and cannot tell whether a page opened.
func OpenBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	command := exec.Command(name, args...)
	if err := command.Start(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	return command.Process.Release()
}
