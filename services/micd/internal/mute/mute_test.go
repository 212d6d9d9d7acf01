// SPDX-License-Identifier: Apache-2.0

package mute

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	f := In(dir)
	if muted, err := f.Read(); muted || err != nil {
		t.Errorf("a missing file reads as %v, %v", muted, err)
	}
	for _, want := range []bool{true, false, true} {
		if err := f.Write(want); err != nil {
			t.Fatal(err)
		}
		if muted, err := f.Read(); muted != want || err != nil {
			t.Errorf("wrote %v, read %v, %v", want, muted, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	for _, bad := range []string{"", "maybe"} {
		if err := os.WriteFile(filepath.Join(dir, "mute"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if muted, err := f.Read(); !muted || err == nil {
			t.Errorf("%q reads as %v, %v: when in doubt, muted", bad, muted, err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mute"), 0o700); err != nil {
		t.Fatal(err)
	}
	if muted, err := In(dir).Read(); !muted || err == nil {
		t.Errorf("a folder reads as %v, %v", muted, err)
	}
	if err := In(dir).Write(true); err == nil {
		t.Error("a folder was written over")
	}
}
