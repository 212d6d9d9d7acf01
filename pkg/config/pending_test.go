// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"
)

// TestPending: a key that nothing acts on yet is named with its place when it
// asks for something; at its default it asks for nothing.
func TestPending(t *testing.T) {
	c, err := Decode("c.toml", []byte("skills_enabled = true\n[telemetry]\nmetrics = \"127.0.0.1:9464\"\n[mic]\nwarm = true\necho_cancel = true\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"config: c.toml:6:1: mic.echo_cancel is not built yet and changes nothing",
		"config: c.toml:3:1: telemetry.metrics is not built yet and changes nothing",
	}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings %q", c.Warnings)
	}
}

// TestPendingKeysExist: a key that is renamed or gone does not stay in the list.
func TestPendingKeysExist(t *testing.T) {
	keys := flatten(Default())
	for _, p := range pending {
		found := false
		for key := range keys {
			found = found || key == p || strings.HasPrefix(key, p+".")
		}
		if !found {
			t.Errorf("no key %s", p)
		}
	}
}
