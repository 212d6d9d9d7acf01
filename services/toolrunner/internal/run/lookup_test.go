// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

func TestLookup(t *testing.T) {
	root := t.TempDir()
	tools, bin := filepath.Join(root, "tools"), filepath.Join(root, "bin")
	for _, file := range []string{"tools/both", "bin/both", "bin/system", "tools/sub/inner", "tools/folder/x", "bin/folder", "work/here", "outside"} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plain := filepath.Join(bin, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "work"))
	for _, c := range []struct{ program, want string }{
		{"both", tools + "/both"},
		{"system", bin + "/system"},
		{"folder", bin + "/folder"},
		{"sub/inner", tools + "/sub/inner"},
		{"./both", tools + "/both"},
		{"./here", tools + "/here"}, // not the one in the working directory
		{"/bin/sh", "/bin/sh"},
		{"here", ""}, {"plain", ""}, {"none", ""}, {"..", ""}, {".", ""}, {"../outside", ""}, {"sub/../../outside", ""},
	} {
		got, err := lookup(c.program, tools, ":.:bin:"+bin)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", c.program, got, err, c.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c := Config{
		Environ: []string{"PATH=/usr/bin", "HOME=/home/you", "LANG=it_IT.UTF-8", "LC_TIME=C", "TZ=UTC", "XDG_RUNTIME_DIR=/run/user/1",
			"DISPLAY=:0", "WAYLAND_DISPLAY=w", "DBUS_SESSION_BUS_ADDRESS=unix:x", "USER=you", "SHELL=/bin/sh",
			"OPENAI_API_KEY=secret", "TOKEN=secret", "LD_PRELOAD=x.so"},
		Env:     map[string]string{"LANG": "C.UTF-8", "A": "config", "B": "config"},
		Secrets: []string{"OPENAI_API_KEY"}, BinDir: "/opt/da",
	}
	short := []string{"A=config", "B=tool", "DBUS_SESSION_BUS_ADDRESS=unix:x", "DISPLAY=:0", "HOME=/home/you", "LANG=C.UTF-8", "LC_TIME=C",
		"PATH=/usr/bin:/opt/da", "SHELL=/bin/sh", "TZ=UTC", "USER=you", "WAYLAND_DISPLAY=w", "XDG_RUNTIME_DIR=/run/user/1"}
	if got := pairs(c.environment(&tool.Tool{Env: map[string]string{"B": "tool"}})); !reflect.DeepEqual(got, short) {
		t.Errorf("got  %q\nwant %q", got, short)
	}
	all := strings.Join(pairs(c.environment(&tool.Tool{InheritEnv: true})), " ")
	if !strings.Contains(all, "TOKEN=secret") || strings.Contains(all, "OPENAI_API_KEY") {
		t.Errorf("inherit_env gave %s", all)
	}
	if got := (Config{}).environment(&tool.Tool{}); !reflect.DeepEqual(got, map[string]string{"PATH": defaultPath}) {
		t.Errorf("from nothing: %q", got)
	}
}

func TestCannotRun(t *testing.T) {
	b := newBox(t)
	add := func(name, program string) {
		b.put(name+".toml", "description = \"D.\"\ncommand = [\""+program+"\", \"{a}\"]\n[params.a]\n")
	}
	add("none", "no-such-program-here")
	add("up", "../x")
	add("dir", "/tmp")
	add("plain", "notes.toml.txt")
	add("bare", "bare.sh")
	add("lost", "lost.sh")
	add("good", "true")
	b.put("bare.sh", "echo hi\n")
	b.put("lost.sh", "#!/no/such/interpreter\n")
	b.put("notes.toml.txt", "x")
	if err := os.Chmod(filepath.Join(b.dir, "notes.toml.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := b.runner(Config{})
	for _, c := range []struct{ name, arguments, want string }{
		{"none", `{}`, "error: cannot run no-such-program-here: no such program"},
		{"up", `{}`, "error: cannot run ../x: it lies outside the tools folder"},
		{"dir", `{}`, "error: cannot run /tmp: it is not executable"},
		{"plain", `{}`, "error: cannot run notes.toml.txt: it is not executable"},
		{"bare", `{}`, "error: cannot run bare.sh: it is neither a program nor a script with #! in its first line"},
		{"lost", `{}`, "error: cannot run lost.sh: the interpreter in its first line does not exist"},
		{"good", `{"a":"l\u0000r"}`, "error: cannot run true: an argument holds a NUL byte"},
		{"good", `{"a":"` + strings.Repeat("v", 131072) + `"}`, "error: cannot run true: its arguments are too long"},
		{"good", `{"a":"` + strings.Repeat("v", 131071) + `"}`, ""},
	} {
		got := r.Call(t.Context(), c.name, []byte(c.arguments), Options{})
		if got.Text != c.want || got.OK != (c.want == "") || !got.OK && got.Kind != "cannot_run" {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
	b.nothingLeft()
}
