// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// A file is one parsed Go file of ours.
type file struct {
	path string // from the top, with slashes
	dir  string
	test bool
	text string
	ast  *ast.File
	fset *token.FileSet
}

// tracked lists the files git would commit.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var list []string
	for _, p := range strings.Fields(string(out)) {
		if _, err := os.Stat(filepath.Join(root(t), p)); err == nil {
			list = append(list, p)
		}
	}
	return list
}

func files(t *testing.T) []file {
	t.Helper()
	var list []file
	for _, p := range tracked(t) {
		if !strings.HasSuffix(p, ".go") || strings.Contains(p, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), p))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		list = append(list, file{p, filepath.ToSlash(filepath.Dir(p)), strings.HasSuffix(p, "_test.go"), string(text), parsed, fset})
	}
	return list
}

func (f file) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// kit says whether a file only serves tests.
func (f file) kit() bool { return f.test || below(f.dir, "pkg/testkit") }

// TestLicence: every source file starts with its SPDX line (a script's first
// line is its interpreter).
func TestLicence(t *testing.T) {
	for _, p := range tracked(t) {
		source := slices.Contains([]string{".go", ".sh", ".py", ".c"}, filepath.Ext(p)) || filepath.Base(p) == "Makefile" || p == ".ci/run"
		if !source || strings.Contains(p, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), p))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitN(string(text), "\n", 3)
		if strings.HasPrefix(lines[0], "#!") && len(lines) > 1 {
			lines = lines[1:]
		}
		if !strings.Contains(lines[0], "SPDX-License-Identifier: ") {
			t.Errorf("%s does not start with its SPDX line: the licence of a file must not be a guess", p)
		}
	}
}

// TestDashes: no em dashes in what we write (phoneme tables in testdata may).
func TestDashes(t *testing.T) {
	for _, p := range tracked(t) {
		if strings.Contains(p, "testdata/") || filepath.Ext(p) == ".json" || filepath.Ext(p) == ".sum" || p == "LICENSE" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), p))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "\u2014") {
				t.Errorf("%s:%d holds an em dash: use a comma, a colon or two sentences", p, i+1)
			}
		}
	}
}

// TestMains: a main names the daemon and hands over; it decides nothing.
func TestMains(t *testing.T) {
	for _, f := range files(t) {
		if f.ast.Name.Name != "main" || f.test || !below(f.dir, "services") {
			continue
		}
		if n := strings.Count(f.text, "\n"); n > 40 {
			t.Errorf("%s has %d lines, over 40: move the work into internal", f.path, n)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.SelectStmt, *ast.TypeSwitchStmt:
				t.Errorf("%s:%d branches: a main that decides cannot be tested", f.path, f.line(n))
			}
			return true
		})
	}
}

// TestApps: every daemon has a test that runs its App.
func TestApps(t *testing.T) {
	for _, d := range []string{"busd", "micd", "sttd", "brain", "toolrunner", "ttsd"} {
		text, err := os.ReadFile(filepath.Join(root(t), "services", d, "internal/app/app_test.go"))
		if err != nil {
			t.Errorf("%s has no internal/app/app_test.go: tests start the same App as main", d)
			continue
		}
		if !strings.Contains(string(text), "daemontest.Start(") && !strings.Contains(string(text), ".Run(") {
			t.Errorf("%s/internal/app/app_test.go never calls Run", d)
		}
	}
}

var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "base", "misc", "types", "manager", "lib"}

// TestPackages: names are nouns of the field, each package says what it is
// exactly once, and neither files nor packages nor functions outgrow a reader.
func TestPackages(t *testing.T) {
	docs, lines, funcs := map[string]int{}, map[string]int{}, map[string][]int{}
	for _, f := range files(t) {
		name := strings.TrimSuffix(f.ast.Name.Name, "_test")
		if slices.Contains(bannedNames, name) {
			t.Errorf("%s: package name %q says nothing: use a noun of the field", f.path, name)
		}
		n := strings.Count(f.text, "\n")
		if n > 600 {
			t.Errorf("%s has %d lines, over 600: cut it by noun", f.path, n)
		}
		if f.test {
			continue
		}
		lines[f.dir] += codeLines(f.text)
		docs[f.dir] += 0
		if f.ast.Doc != nil {
			docs[f.dir]++
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				funcs[f.dir] = append(funcs[f.dir], f.fset.Position(fn.End()).Line-f.line(fn)+1)
			}
		}
	}
	for dir, n := range docs {
		if n != 1 {
			t.Errorf("%s has %d package comments, not exactly one", dir, n)
		}
		if lines[dir] > 1500 {
			t.Errorf("%s has %d lines of code, over 1500: cut the package by noun", dir, lines[dir])
		}
		list := funcs[dir]
		sort.Ints(list)
		if len(list) >= 10 && list[len(list)*9/10] > 45 {
			t.Errorf("%s: one function in ten has %d lines or more, over 45", dir, list[len(list)*9/10])
		}
	}
}

// codeLines counts the lines that are neither blank nor only a comment.
func codeLines(text string) (n int) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

var subjectLiteral = regexp.MustCompile(`^da\.(audio|evt|live|cmd|tool)\b`)

// TestSubjects: subjects are built in one place, so that they can change in one.
func TestSubjects(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.path == "proto/subject.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && subjectLiteral.MatchString(strings.Trim(lit.Value, "\"`")) {
				t.Errorf("%s:%d spells a subject: build it with proto", f.path, f.line(lit))
			}
			return true
		})
	}
}

// TestPolicies: whoever subscribes says what happens when it is too slow.
func TestPolicies(t *testing.T) {
	for _, f := range files(t) {
		if f.dir != "pkg/bus" || f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Type.Results == nil || !mentions(fn.Type.Results, "Sub") {
				continue
			}
			if !mentions(fn.Type.Params, "Policy") {
				t.Errorf("%s: %s subscribes without a Policy", f.path, fn.Name.Name)
			}
		}
	}
}

func mentions(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return true
	})
	return found
}

var promise = regexp.MustCompile(`^- (.+) \(script: ([a-z]+)\)$`)

// TestPromises: what the top README promises is tried by a script of the name
// given there, which begins with the promise; and no script tries anything else.
func TestPromises(t *testing.T) {
	const dir = "services/e2e/testdata/script/"
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "\n## What it promises\n")
	if !found {
		t.Fatal("README.md has no section \"What it promises\"")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	promised := map[string]bool{}
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		found := promise.FindStringSubmatch(line)
		if found == nil {
			t.Errorf("README.md promises without a script, write \"- promise (script: name)\": %s", line)
			continue
		}
		path := dir + found[2] + ".txtar"
		promised[path] = true
		script, err := os.ReadFile(filepath.Join(root(t), path))
		if err != nil {
			t.Errorf("README.md promises %q, which no script tries: %v", found[1], err)
			continue
		}
		if first, _, _ := strings.Cut(string(script), "\n"); first != "# "+found[1] {
			t.Errorf("%s begins with %q, and README.md promises %q", path, first, found[1])
		}
	}
	for _, p := range tracked(t) {
		if strings.HasPrefix(p, dir) && !promised[p] {
			t.Errorf("%s tries nothing that README.md promises", p)
		}
	}
}
