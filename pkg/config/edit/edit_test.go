// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"example.org/desktop-assistant/pkg/config"
)

var edits = []struct{ name, before, after string }{
	{"no file", "", "[native_tools]\nread_file = true\n"},
	{"no table", "card = \"x\"\n", "card = \"x\"\n\n[native_tools]\nread_file = true\n"},
	{"no final newline", "card = \"x\"", "card = \"x\"\n\n[native_tools]\nread_file = true\n"},
	{"windows line ends", "card = \"x\"\r\n[bus]\r\n", "card = \"x\"\r\n[bus]\r\n\r\n[native_tools]\r\nread_file = true\r\n"},
	{"byte order mark", "\xef\xbb\xbfcard = \"x\"\n", "\xef\xbb\xbfcard = \"x\"\n\n[native_tools]\nread_file = true\n"},
	{"other value", "[native_tools]\nread_file   =   false # mine\n\n[bus]", "[native_tools]\nread_file   =   true # mine\n\n[bus]"},
	{"commented out", "[native_tools]\n#read_file = false\n# end\n", "[native_tools]\nread_file = true\n#read_file = false\n# end\n"},
	{"header with comment", "[ native_tools ] # here\r\nweb_search = true\r\n", "[ native_tools ] # here\r\nread_file = true\r\nweb_search = true\r\n"},
	{"header at the end", "[native_tools]", "[native_tools]\nread_file = true"},
	{"quoted header", "['native_tools']\n", "['native_tools']\nread_file = true\n"},
	{"table of limits only", "[native_tools.limits]\nread_lines = 5\n", "[native_tools.limits]\nread_lines = 5\n\n[native_tools]\nread_file = true\n"},
	{"limits before the table", "[native_tools.limits]\nread_lines = 5\n[native_tools]\nweb_search = true\n", "[native_tools.limits]\nread_lines = 5\n[native_tools]\nread_file = true\nweb_search = true\n"},
	{"dotted", "native_tools.read_file = false\n", "native_tools.read_file = true\n"},
	{"dotted, missing", "# a\n  native_tools.allowed_origins = [\n  \"https://example.org\", # x\n]\ncard = \"x\"\n[bus]\n", "# a\nnative_tools.read_file = true\n  native_tools.allowed_origins = [\n  \"https://example.org\", # x\n]\ncard = \"x\"\n[bus]\n"},
	{"dotted limits", "native_tools.limits.read_lines = 4", "native_tools.read_file = true\nnative_tools.limits.read_lines = 4"},
	{"quoted and dotted", "\"native_tools\".'read_file' = false", "\"native_tools\".'read_file' = true"},
	{"inline", "native_tools = { web_search = true, read_file = false }\n", "native_tools = { web_search = true, read_file = true }\n"},
	{"inline, missing", "native_tools = { web_search = true } # x\n", "native_tools = { read_file = true, web_search = true } # x\n"},
	{"inline, empty", "native_tools = {}\n", "native_tools = { read_file = true }\n"},
	{"inline, blank", "native_tools = { }\n", "native_tools = { read_file = true }\n"},
	{"text that looks like it", "system = \"\"\"\n[native_tools]\nread_file = false\n\"\"\"\n", "system = \"\"\"\n[native_tools]\nread_file = false\n\"\"\"\n\n[native_tools]\nread_file = true\n"},
	{"env of that name", "[env]\nread_file = \"x\"\n", "[env]\nread_file = \"x\"\n\n[native_tools]\nread_file = true\n"},
}

// TestEdit: exactly one key changes, however the file is written.
func TestEdit(t *testing.T) {
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(path, []byte(e.before), 0o640); err != nil {
				t.Fatal(err)
			}
			for i, want := range []bool{true, false} {
				if changed, err := SwitchTool(path, "read_file", true); err != nil || changed != want {
					t.Errorf("time %d: %v, %v", i+1, changed, err)
				}
			}
			if got := content(t, path); got != e.after {
				t.Errorf("got\n%q\nwant\n%q", got, e.after)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if changed, err := LimitTools(path, 5); err != nil || !changed {
				t.Errorf("limit: %v, %v", changed, err)
			}
			if c, err := config.Load(path); err != nil || c.NativeTools.CallLimit != 5 || !c.NativeTools.ReadFile {
				t.Errorf("loaded %+v, %v", c.NativeTools, err)
			}
		})
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEditLinks: a configuration that is a link stays one, and nothing but the
// file is left in its folder.
func TestEditLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles", "assistant.toml"), filepath.Join(dir, "config.toml")
	if err := os.Symlink("dotfiles/assistant.toml", link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", dir)
	for _, before := range []string{"card = \"x\"\n", "[bus]\n"} {
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := SwitchTool(link, "web_search", true); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("the link is %v, %v", info.Mode(), err)
		}
		if got := content(t, target); got != before+"\n[native_tools]\nweb_search = true\n" {
			t.Errorf("got %q", got)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(target)); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestEditNewFile: the usual file is made with its folder.
func TestEditNewFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if changed, err := SwitchTool("", "fetch_json", true); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got := content(t, filepath.Join(dir, "desktop-assistant", "config.toml")); got != "[native_tools]\nfetch_json = true\n" {
		t.Errorf("got %q", got)
	}
	if changed, err := SwitchTool("", "read_file", false); err != nil || changed {
		t.Errorf("what is off was switched off: %v, %v", changed, err)
	}
}

// TestEditRefused: what cannot be done is said, and the file is as it was.
func TestEditRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const faulty = "[native_tools]\nread_fiel = true\n"
	if err := os.WriteFile(path, []byte(faulty), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing", "config.toml")
	for name, edit := range map[string]func() (bool, error){
		"faulty file":  func() (bool, error) { return SwitchTool(path, "read_file", true) },
		"unknown tool": func() (bool, error) { return SwitchTool(path, "read_fiel", true) },
		"limit":        func() (bool, error) { return LimitTools(path, 6) },
		"no such file": func() (bool, error) { return SwitchTool(missing, "read_file", true) },
		"pipe":         func() (bool, error) { return SwitchTool(pipe, "read_file", true) },
		"folder":       func() (bool, error) { return SwitchTool(filepath.Dir(path), "read_file", true) },
	} {
		changed, err := edit()
		var e *config.Error
		if changed || !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
	}
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("a folder was made for a file that is not there")
	}
	if got := content(t, path); got != faulty {
		t.Errorf("got %q", got)
	}
}

// FuzzEdit: whatever valid file there is, an edit changes the one key or says
// that it cannot, and takes not a byte away but the old value.
func FuzzEdit(f *testing.F) {
	for _, e := range edits {
		f.Add([]byte(e.before), true, byte(2))
	}
	example, err := os.ReadFile("../../../examples/config.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example, true, byte(4))
	f.Fuzz(func(t *testing.T, data []byte, on bool, which byte) {
		before, err := config.Decode("FILE", data)
		if err != nil {
			return
		}
		name := config.BuiltinTools()[int(which)%len(config.BuiltinTools())]
		want := before
		v := reflect.ValueOf(&want.NativeTools).Elem()
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("toml") == name {
				v.Field(i).SetBool(on)
			}
		}
		value := map[bool]string{true: "true", false: "false"}[on]
		changed, err := set("FILE", data, name, value, func(n *config.NativeTools) { *n = want.NativeTools })
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		if changed == nil {
			return
		}
		after, err := config.Decode("FILE", changed)
		after.Warnings, want.Warnings = nil, nil
		if err != nil || !reflect.DeepEqual(after, want) {
			t.Fatalf("%q became %q, which is %+v, %v", data, changed, after.NativeTools, err)
		}
		// What is left when the new text is taken out again.
		prefix := 0
		for prefix < min(len(data), len(changed)) && data[prefix] == changed[prefix] {
			prefix++
		}
		suffix := 0
		for suffix < min(len(data), len(changed))-prefix && data[len(data)-1-suffix] == changed[len(changed)-1-suffix] {
			suffix++
		}
		if lost := string(data[prefix : len(data)-suffix]); strings.Trim(lost, "truefals") != "" {
			t.Fatalf("%q is lost of %q", lost, data)
		}
	})
}
