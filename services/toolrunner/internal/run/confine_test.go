// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

// A confined tool runs its script, reads what its file lists, follows the rules
// of every tool, and gets at neither the cookie of the bus nor the rest.
func TestSandbox(t *testing.T) {
	level := sandbox.Detect()
	t.Logf("this kernel confines: %v", level)
	b := newBox(t)
	home := t.TempDir()
	for name, text := range map[string]string{"runtime/bus.cookie": "secret", "notes/today": "buy milk", "private": "private"} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "runtime"), filepath.Join(home, "notes/link")); err != nil {
		t.Fatal(err)
	}
	const rights = `sandbox = { read = ["~/notes"], write = ["cache"], network = false }`
	if err := os.Mkdir(filepath.Join(b.dir, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.script("notes", rights, `cat ~/notes/today`)
	b.script("cookie", rights, `cat ~/runtime/bus.cookie`)
	b.script("linked", rights, `cat ~/notes/link/bus.cookie`)
	b.script("other", rights, `cat ~/private`)
	b.script("write", rights, `echo kept > "$(dirname "$0")/cache/x" && cat "$(dirname "$0")/cache/x"`)
	b.script("net", rights, `exec /usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", 9))'`)
	b.script("status", rights, `echo oops >&2; exit 3`)
	b.script("slow", rights+"\ntimeout = 0.3", `setsid sleep <mark> & sleep <mark>`)
	b.script("daemon", rights, `( setsid sleep <mark> & ) ; echo gone`)
	b.put("bare.toml", "description = \"D.\"\ncommand = [\"bare.sh\", \"{a}\"]\n"+rights+"\n[params.a]\n")
	b.put("bare.sh", "echo hi\n")
	b.put("argv.toml", "description = \"D.\"\ncommand = [\"argv.sh\", \"{a}\", \"confine\", \"\"]\n"+rights+"\n[params.a]\n")
	b.put("argv.sh", "#!/bin/sh\nprintf '<%s>' \"${0##*/}\" \"$#\" \"$@\" \"$DA_CALL\" | sed 's/[A-Z0-9]\\{26\\}/id/'\n")
	b.put("far.sh", "#!"+home+"/sh\necho hi\n")
	b.put("far.toml", "description = \"D.\"\ncommand = [\"far.sh\"]\n"+rights+"\n")
	if err := copyFile("/bin/sh", filepath.Join(home, "sh")); err != nil {
		t.Fatal(err)
	}
	r := b.runner(Config{Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "LANG=C"}, Private: []string{home + "/runtime"}})
	confined := level.Landlock > 0
	for _, c := range []struct {
		name, arguments string
		want, free      string // free is the answer where the kernel confines no files, when it differs
	}{
		{"notes", `{}`, "buy milk", ""},
		{"cookie", `{}`, "error: cat: " + home + "/runtime/bus.cookie: Permission denied", "secret"},
		{"linked", `{}`, "error: cat: " + home + "/notes/link/bus.cookie: Permission denied", "secret"},
		{"other", `{}`, "error: cat: " + home + "/private: Permission denied", "private"},
		{"write", `{}`, "kept", ""},
		{"status", `{}`, "error: oops", ""},
		{"slow", `{}`, "error: timed out", ""},
		{"daemon", `{}`, "gone", ""},
		{"bare", `{}`, "error: cannot run bare.sh: it is neither a program nor a script with #! in its first line", ""},
		{"bare", `{"a":"` + strings.Repeat("v", 131072) + `"}`, "error: cannot run bare.sh: its arguments are too long", ""},
		{"argv", `{"a":"-x y"}`, "<argv.sh><3><-x y><confine><><id>", ""},
		{"far", `{}`, "error: cannot run far.sh: its sandbox keeps it from its interpreter or libraries: add their folder to sandbox.read", "hi"},
	} {
		want := c.want
		if !confined && c.free != "" {
			want = c.free
		}
		if got := r.Call(t.Context(), c.name, []byte(c.arguments), Options{}); got.Text != want {
			t.Errorf("%s: got %+v, want %q", c.name, got, want)
		}
	}
	if level.Seccomp {
		if got := r.Call(t.Context(), "net", []byte("{}"), Options{}); got.Text != "error: PermissionError: [Errno 13] Permission denied" {
			t.Errorf("net: %+v", got)
		}
	}
	b.nothingLeft()
}

// Where the kernel confines nothing the tool runs all the same, and its rights
// are still looked at.
func TestSandboxWithoutKernel(t *testing.T) {
	b := newBox(t)
	b.script("x", `sandbox = { read = ["/"] }`, `echo ran`)
	b.script("y", `sandbox = { read = ["/usr"] }`, `echo ran`)
	r := b.runner(Config{Sandbox: &sandbox.Level{}, Private: []string{"/run/user/1/bus"}})
	if got := r.Call(t.Context(), "x", []byte("{}"), Options{}); got.Kind != proto.KindCannotRun || got.Text != `error: cannot run x.sh: sandbox.read "/": it would open the folder of the bus or a key of the assistant` {
		t.Errorf("got %+v", got)
	}
	if got := r.Call(t.Context(), "y", []byte("{}"), Options{}); got.Text != "ran" {
		t.Errorf("got %+v", got)
	}
}

func TestConfinement(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"run/bus", "data"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"data/in": "run/bus", "data/up": "run"} {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Private: []string{root + "/run/bus"}, BinDir: "/opt/da"}
	vars := map[string]string{"HOME": "/home/you", "DATA": root + "/data", "EMPTY": "", "TRICK": "$HOME", "REL": "sub"}
	for _, tc := range []struct{ path, want string }{
		{"/usr/share", "/usr/share"},
		{"/a/../b//c/", "/b/c"},
		{"~", "/home/you"},
		{"~/x", "/home/you/x"},
		{"~x", "/tools/~x"},
		{"$DATA/y", root + "/data/y"},
		{"${DATA}y", root + "/datay"},
		{"$REL/z", "/tools/sub/z"},
		{"lib", "/tools/lib"},
		{"$TRICK", "/tools/$HOME"}, // a value is not expanded again
		{"/x/$", "/x/$"},
		{root + "/run/bus-other", root + "/run/bus-other"},
		{"$EMPTY/x", "!the tool has no variable EMPTY"},
		{"${NONE}", "!the tool has no variable NONE"},
		{"../x", "!it lies outside the tools folder"},
		{"lib/../../x", "!it lies outside the tools folder"},
		{"/", "!it would open the folder of the bus or a key of the assistant"},
		{root, "!it would open the folder of the bus or a key of the assistant"},
		{root + "/run", "!it would open the folder of the bus or a key of the assistant"},
		{root + "/run/bus", "!it would open the folder of the bus or a key of the assistant"},
		{root + "/run/bus/bus.cookie", "!it would open the folder of the bus or a key of the assistant"},
		{"$DATA/in", "!it would open the folder of the bus or a key of the assistant"},
		{"$DATA/in/bus.cookie", "!it would open the folder of the bus or a key of the assistant"},
		{"$DATA/up", "!it would open the folder of the bus or a key of the assistant"},
		{"$DATA/../run", "!it would open the folder of the bus or a key of the assistant"},
	} {
		x := &tool.Tool{Sandbox: &tool.Sandbox{Write: []string{tc.path}}}
		spec, err := c.confinement(x, "/tools", vars)
		if want, bad := strings.CutPrefix(tc.want, "!"); bad {
			if err == nil || !strings.HasSuffix(err.Error(), ": "+want) || !strings.HasPrefix(err.Error(), "sandbox.write \"") {
				t.Errorf("%s: %v, want %s", tc.path, err, want)
			}
			continue
		}
		if err != nil || len(spec.Write) != 1 || spec.Write[0] != tc.want || len(spec.Read) != 1 || spec.Read[0] != "/opt/da" {
			t.Errorf("%s: %+v, %v, want %s", tc.path, spec, err, tc.want)
		}
	}
	delete(vars, "HOME")
	if _, err := expand("~/x", "/tools", vars); err == nil {
		t.Error("~ without HOME is no error")
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o700)
}
