// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "example.org/desktop-assistant/"

// guarded are the standard packages that only rows naming them may import:
// running programs and speaking HTTP are what a reader wants to find at once.
var guarded = []string{"os/exec", "net/http"}

// A rule is one row of the table: what the packages below a path may import.
type rule struct {
	path                  string
	ours, third, standard []string
}

type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// rules reads the rows between the marks of services/README.md.
func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "services/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- dependency table -->")
	table, _, ok2 := strings.Cut(rest, "<!-- end of table -->")
	if !ok || !ok2 {
		t.Fatal("services/README.md has no dependency table between its two marks")
	}
	var list []rule
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 4 || strings.HasPrefix(strings.TrimSpace(cells[0]), "-") || strings.TrimSpace(cells[0]) == "package" {
			continue
		}
		list = append(list, rule{strings.Trim(strings.TrimSpace(cells[0]), "`"), names(cells[1]), names(cells[2]), names(cells[3])})
	}
	return list
}

// names are the words in backquotes of a cell.
func names(cell string) []string {
	var list []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			list = append(list, part)
		}
	}
	return list
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "work")
	cmd.Dir = root(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// below says whether path is prefix or under it.
func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func allowed(path string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return below(path, p) })
}

// ruleOf gives the longest row that covers a package.
func ruleOf(path string, list []rule) (best rule, ok bool) {
	for _, r := range list {
		if below(path, r.path) && len(r.path) > len(best.path) {
			best, ok = r, true
		}
	}
	return best, ok
}

// TestDependencies: proto imports nothing, pkg only what its row says, no
// service another; each big library has one home.
func TestDependencies(t *testing.T) {
	table := rules(t)
	used := map[string]bool{}
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, modulePath)
		r, ok := ruleOf(path, table)
		if !ok {
			t.Errorf("%s stands in no row of the dependency table of services/README.md: add one, or move it", path)
			continue
		}
		used[r.path] = true
		for _, imp := range p.Imports {
			checkImport(t, path, imp, r, false)
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			checkImport(t, path, imp, r, true)
		}
	}
	for _, r := range table {
		if !used[r.path] {
			t.Errorf("row %q of the dependency table covers no package: remove it", r.path)
		}
	}
}

func checkImport(t *testing.T, path, imp string, r rule, inTest bool) {
	t.Helper()
	own := r.path
	switch {
	case strings.HasPrefix(imp, modulePath):
		to := strings.TrimPrefix(imp, modulePath)
		if below(to, own) || allowed(to, r.ours) {
			return
		}
		if inTest && (allowed(to, []string{"pkg/testkit"}) || to == "proto" || to == "pkg/bus" || to == "pkg/config" || to == "pkg/daemon" || to == "pkg/audio") {
			return
		}
		t.Errorf("%s imports %s, which its row of services/README.md does not allow", path, to)
	case strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
		if allowed(imp, r.third) {
			return
		}
		if inTest && allowed(imp, []string{"go.uber.org/goleak", "github.com/rogpeppe/go-internal", "github.com/google/jsonschema-go", "golang.org/x/sys"}) {
			return
		}
		t.Errorf("%s imports %s: that library has another home (see services/README.md)", path, imp)
	case slices.Contains(guarded, imp) && !inTest && !slices.Contains(r.standard, imp):
		t.Errorf("%s imports %s, which its row of services/README.md does not name", path, imp)
	case path == "proto" && !inTest && slices.Contains([]string{"net", "os", "log", "log/slog"}, imp):
		t.Errorf("proto imports %s: the contract neither prints nor opens anything", imp)
	}
}

// TestModules: each module builds without the workspace too, from what its own
// go.mod and go.sum name.
func TestModules(t *testing.T) {
	for _, m := range []string{"proto", "pkg", "services", "examples/tools/agenda"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "./...")
		cmd.Dir = filepath.Join(root(t), m)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		if err := cmd.Run(); err != nil {
			t.Errorf("%s does not build without the workspace, add what is missing with go get: %v\n%s", m, err, complaint.String())
		}
	}
}
