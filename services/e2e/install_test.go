// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goCaches lets an account of its own build with what is built and downloaded
// already.
func goCaches(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE"}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for i, value := range strings.Fields(string(out)) {
		env = append(env, names[i]+"="+value)
	}
	return env
}

// exampleFiles are the files of the example tools.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.sh", "*.toml"} {
		files, err := filepath.Glob(filepath.Join("../../examples/tools", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			list = append(list, filepath.Base(f))
		}
	}
	return list
}

// TestInstall: make install gives a command that works, with the example tools
// while the user has none; make install-tools brings the example tools to where the
// assistant looks for them, and what the user changed stays; make uninstall
// takes the programs away and leaves what is the user's.
func TestInstall(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", goCaches(t)...)
	const tools = "config/desktop-assistant/tools/"
	command := "make --no-print-directory -C " + filepath.Dir(bin) + " PREFIX=" + h.dir + "/prefix "

	h.shell(t, command+"-o build install") // what is built already
	if out := h.shell(t, "prefix/bin/desktop-assistant tool check --lint"); out != "ok calendar\nok now\nok search\nok weather\n" {
		t.Errorf("after make install, tool check --lint says:\n%s", out)
	}

	h.write(t, tools+"mine.toml", "description = \"Mine.\"\ncommand = [\"true\"]\n")
	out := h.shell(t, command+"install-tools")
	names := exampleFiles(t)
	for _, name := range names {
		file := filepath.Join(h.dir, tools, name)
		want, err := os.ReadFile(filepath.Join("../../examples/tools", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not as it comes: %v", name, err)
		}
		if info, err := os.Stat(file); err == nil && strings.HasSuffix(name, ".sh") != (info.Mode().Perm()&0o100 != 0) {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if !strings.Contains(out, "installed "+file+"\n") {
			t.Errorf("%s is not named:\n%s", name, out)
		}
	}
	// From there they run, the calendar too.
	if out := h.shell(t, "prefix/bin/desktop-assistant tool check"); out != "ok calendar\nok mine\nok now\nok search\nok weather\n" {
		t.Errorf("after make install-tools, tool check says:\n%s", out)
	}
	h.shell(t, "mkdir calendars")
	h.write(t, "config/desktop-assistant/config.toml", "[env]\nCALENDAR_DIR = \""+h.dir+"/calendars\"\n")
	if out := h.shell(t, "prefix/bin/desktop-assistant tool call calendar"); out != "no events\n" {
		t.Errorf("the calendar says %q", out)
	}

	// Again: nothing to do. Then one is edited, one is of an older version, one
	// is a link, one is gone.
	if out := h.shell(t, command+"install-tools"); strings.Contains(out, "installed") || strings.Contains(out, "kept") {
		t.Errorf("the second time:\n%s", out)
	}
	h.write(t, tools+"weather.toml", "# mine\n")
	h.write(t, tools+"search.sh", "#!/bin/sh\necho old\n")
	record, err := os.ReadFile(filepath.Join(h.dir, "state/desktop-assistant/tools.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(record)) {
		if !strings.Contains(line, "/search.sh") {
			lines = append(lines, line)
		}
	}
	h.write(t, "state/desktop-assistant/tools.sha256", strings.Join(lines, "")+h.shell(t, "sha256sum "+h.dir+"/"+tools+"search.sh"))
	h.shell(t, "cd "+tools+" && mv search.toml ../search.toml && echo '# linked' >> ../search.toml && ln -s ../search.toml . && rm now.toml")
	out = h.shell(t, command+"install-tools")
	for _, want := range []string{
		"kept " + h.dir + "/" + tools + "weather.toml, which you changed; the one that comes with this version is ",
		"kept " + h.dir + "/" + tools + "search.toml, which you changed",
		"installed " + h.dir + "/" + tools + "search.sh\n", "installed " + h.dir + "/" + tools + "now.toml\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	if strings.Count(out, "kept ") != 2 || strings.Count(out, "installed ") != 2 {
		t.Errorf("the third time:\n%s", out)
	}
	for file, want := range map[string]string{"weather.toml": "# mine", "search.toml": "# linked", "search.sh": "SEARXNG_URL", "mine.toml": "Mine."} {
		if text, err := os.ReadFile(filepath.Join(h.dir, tools, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s holds %q, %v", file, text, err)
		}
	}

	h.shell(t, command+"uninstall")
	if left, err := filepath.Glob(filepath.Join(h.dir, "prefix/*/*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	for _, name := range append(names, "mine.toml") {
		if _, err := os.Stat(filepath.Join(h.dir, tools, name)); err != nil {
			t.Errorf("it took %s of the user: %v", name, err)
		}
	}

	// An empty variable counts as unset, and another folder can be named.
	h.env = append(h.env, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	h.shell(t, filepath.Join(bin, "../deploy/install-tools.sh"))
	h.shell(t, "TOOLS_DIR='other folder' "+filepath.Join(bin, "../deploy/install-tools.sh"))
	for _, file := range []string{"home/.config/desktop-assistant/tools/now.toml", "home/.local/state/desktop-assistant/tools.sha256", "other folder/weather.sh"} {
		if _, err := os.Stat(filepath.Join(h.dir, file)); err != nil {
			t.Error(err)
		}
	}
}
