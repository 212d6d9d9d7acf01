// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/testkit/soundtest"
)

// A block is what stands between two fences of a page.
type block struct {
	language string
	before   string // the last line above it that is not empty
	text     string
}

// readPage cuts a page into its blocks and the prose around them.
func readPage(t *testing.T, path string) (blocks []block, prose string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for rest := string(page); ; {
		text, fenced, found := strings.Cut(rest, "\n```")
		prose += text + "\n"
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				last = strings.TrimSpace(line)
			}
		}
		if !found {
			return blocks, prose
		}
		language, body, _ := strings.Cut(fenced, "\n")
		body, after, closed := strings.Cut(body, "\n```\n")
		if !closed {
			t.Fatalf("%s has an open block below %q", path, last)
		}
		blocks = append(blocks, block{language, last, body + "\n"})
		rest = "\n" + after
	}
}

// A newcomer does what the guide for authors of tools says, from its top to
// its end, in an account where nothing is yet.
type newcomer struct {
	home
	t       *testing.T
	running bool
	files   map[string]string // contents of files the guide asked to write
}

const ownConfig = "~/.config/desktop-assistant/config.toml"

var (
	ownFile = regexp.MustCompile("`(~/[^`]+)`")
	inline  = regexp.MustCompile("`((?:desktop-assistant|nats|make) [^`]+)`")
	link    = regexp.MustCompile(`\]\(([^):#]+)\)`)
)

// TestGuide: everything in examples/README.md works as it stands there, its
// files and fragments, its commands, and what they print where that is shown.
func TestGuide(t *testing.T) {
	t.Parallel()
	const page = "../../examples/README.md"
	blocks, prose := readPage(t, page)
	rig := soundtest.Start(t)
	n := &newcomer{home: newHome(t, "", append(rig.Env(), goCaches(t)...)...), t: t, files: map[string]string{}}
	n.addNats(t)
	n.env = append(n.env, "PATH="+bin+":"+filepath.Join(n.dir, "bin")+":"+os.Getenv("PATH"))
	for name, sub := range map[string]string{"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"} {
		n.env = append(n.env, "XDG_"+name+"_HOME="+filepath.Join(n.dir, "home", sub))
	}
	n.file(ownConfig, "llm = \"http://"+closedPort(t)+"/v1\"\n") // whatever runs on this machine, it is none of ours
	commands := 0
	for _, b := range blocks {
		switch named := ownFile.FindStringSubmatch(b.before); {
		case b.language == "console":
			commands += n.console(b.text)
		case named != nil && named[1] == ownConfig:
			n.file(ownConfig, n.files[ownConfig]+b.text)
			n.prints("desktop-assistant config check", "...\n")
		case named != nil:
			n.file(named[1], b.text)
		case b.language == "toml":
			n.fragment(b.text)
		default:
			t.Errorf("nothing here tries this block:\n%s", b.text)
		}
	}
	if commands < 10 || !n.running {
		t.Errorf("only %d commands were found", commands)
	}
	for _, found := range inline.FindAllStringSubmatch(prose, -1) {
		n.prints(strings.NewReplacer("NAME", "note", "param", "text").Replace(found[1]), "...\n")
	}
	for _, found := range link.FindAllStringSubmatch(prose, -1) {
		if _, err := os.Stat(filepath.Join(filepath.Dir(page), found[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
}

// file writes a file below the home folder.
func (n *newcomer) file(path, text string) {
	n.t.Helper()
	n.files[path] = text
	full := filepath.Join(n.dir, "home", strings.TrimPrefix(path, "~/"))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// console types the commands of a block and compares what they print.
func (n *newcomer) console(text string) (commands int) {
	n.t.Helper()
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(part, "\n")
		if shown != "" && !strings.HasSuffix(shown, "\n") {
			shown += "\n"
		}
		commands++
		if command == "desktop-assistant run" {
			start(n.t, n.home)
			n.running = true
			continue
		}
		n.prints(command, shown)
	}
	return commands
}

// prints types one command and compares what it prints: "..." on a line stands
// for the rest of it or a part, alone for any lines.
func (n *newcomer) prints(command, shown string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env, cmd.Dir, cmd.WaitDelay = n.env, filepath.Join(n.dir, "home"), 5*time.Second
	if strings.HasPrefix(command, "make ") {
		cmd.Dir = filepath.Dir(bin) // laid out like a checkout
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		n.t.Errorf("$ %s\n%s%v", command, out, err)
		return
	}
	want := regexp.QuoteMeta(shown)
	want = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(want, `(?:.*\n)*`)
	want = strings.ReplaceAll(want, `\.\.\.`, `.*`)
	if !regexp.MustCompile(`\A` + want + `\z`).Match(out) {
		n.t.Errorf("$ %s\n%s\nis shown as\n%s", command, out, shown)
	}
}

// fragment checks that keys shown alone are keys of a tool.
func (n *newcomer) fragment(text string) {
	n.t.Helper()
	n.file("~/fragment/shown.toml", "description = \"x\"\ncommand = [\"true\"]\n"+text+"[params.place]\n")
	n.prints("desktop-assistant tool check --tools ~/fragment", "ok shown\n...\n")
	n.prints("desktop-assistant tool check --tools ~/fragment | grep -c warning: || true", "0\n")
}
