// SPDX-License-Identifier: Apache-2.0

package vdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.ics", "a/z.ics", "a/y.ICS", "a/.ics", "a/x.ics.tmp", ".a/b.ics", "c/.b.ics", "plain", strings.Repeat("d/", 40) + "deep.ics"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../a", dir+"/c/again"); err != nil {
		t.Fatal(err)
	}
	var problems []string
	got, err := Find(dir, func(path string, err error) {
		problems = append(problems, strings.TrimPrefix(path, dir)+": "+err.Error())
	})
	want := []string{dir + "/a/y.ICS", dir + "/a/z.ics", dir + "/b.ics"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if want := []string{"/" + strings.Repeat("d/", 32) + "d: too many folders within each other"}; !reflect.DeepEqual(problems, want) {
		t.Errorf("problems: %q", problems)
	}
	if _, err := Find(dir+"/missing", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ics")
	if err := os.WriteFile(path, []byte(strings.Repeat("text", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	f, stat, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	same, err := StatFile(path)
	if err != nil || same != stat || stat.Size != 20000 || stat.Inode == 0 || stat.Modified == 0 {
		t.Errorf("%+v, %+v, %v", stat, same, err)
	}
	data, err := io.ReadAll(f)
	if err != nil || len(data) != 20000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{path + "x", filepath.Dir(path), "/dev/null"} {
		if _, _, err := Open(path); err == nil {
			t.Errorf("%s can be opened", path)
		}
		if _, err := StatFile(path); err == nil {
			t.Errorf("%s is a file", path)
		}
	}
}
