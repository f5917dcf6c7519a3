package clilogin

import (
	"fmt"
	"os/exec"
	"runtime"
)

// OpenBrowser opens the URL, which begins with http, in the person's browser. The browser outlives the program; it is
// not known whether it shows anything.
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
