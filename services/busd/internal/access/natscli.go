// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.org/desktop-assistant/pkg/xdg"
)

const (
	// CLIUser is natscli's user on the loopback port.
	CLIUser = "dev"
	// PasswordName is the file of its password in the runtime folder.
	PasswordName = "cli.pw"
	// ContextName is what follows `nats --context`.
	ContextName = "desktop-assistant"
)

// CLIPassword makes a new password for natscli and its file in the runtime
// folder dir. Each start has its own: what an old context tells a stranger on
// a reused port is worth nothing.
func CLIPassword(dir string) (string, error) {
	password := rand.Text()
	if err := writePrivate(filepath.Join(dir, PasswordName), []byte(password)); err != nil {
		return "", fmt.Errorf("write natscli password: %w", err)
	}
	return password, nil
}

// WriteContext makes the file that `nats --context desktop-assistant` reads,
// with the address url and a reference to the password in the runtime folder
// dir. natscli looks for it in nats/context below the XDG folder of
// configurations.
func WriteContext(dir, url string) error {
	path, err := contextPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write natscli context: %w", err)
	}
	content, err := json.MarshalIndent(map[string]string{
		"description": "the bus of desktop-assistant, rewritten at each start",
		"url":         url,
		"user":        CLIUser,
		"password":    "file://" + filepath.Join(dir, PasswordName),
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write natscli context: %w", err)
	}
	if err := writePrivate(path, append(content, '\n')); err != nil {
		return fmt.Errorf("write natscli context: %w", err)
	}
	return nil
}

// Withdraw removes natscli's password and context; what is not there is fine.
func Withdraw(dir string) error {
	path, err := contextPath()
	if err != nil {
		return err
	}
	for _, p := range []string{path, filepath.Join(dir, PasswordName)} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove natscli access: %w", err)
		}
	}
	return nil
}

func contextPath() (string, error) {
	own, err := xdg.Config()
	if err != nil {
		return "", fmt.Errorf("find natscli context: %w", err)
	}
	return filepath.Join(filepath.Dir(own), "nats", "context", ContextName+".json"), nil
}
