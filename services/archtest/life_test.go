// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestLeaks: a package that starts goroutines has a test main that finds the
// ones it forgets.
func TestLeaks(t *testing.T) {
	starts, checks := map[string]string{}, map[string]bool{}
	for _, f := range files(t) {
		if f.test {
			if strings.Contains(f.text, "goleak.VerifyTestMain(") {
				checks[f.dir] = true
			}
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				starts[f.dir] = f.path
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(call.Args) == 1 {
					starts[f.dir] = f.path
				}
			}
			return true
		})
	}
	for dir, path := range starts {
		if !checks[dir] {
			t.Errorf("%s starts a goroutine, but no TestMain of %s calls goleak.VerifyTestMain", path, dir)
		}
	}
}

// TestTurnHasNoLock: one goroutine owns a turn; a lock there would mean two.
func TestTurnHasNoLock(t *testing.T) {
	for _, f := range files(t) {
		if f.dir == "services/brain/internal/turn" && !f.test && (strings.Contains(f.text, "sync.Mutex") || strings.Contains(f.text, "sync.RWMutex")) {
			t.Errorf("%s holds a mutex: post an event to the turn's goroutine instead", f.path)
		}
	}
}

// TestContexts: ctx comes first, is not kept, and is made in one place.
func TestContexts(t *testing.T) {
	for _, f := range files(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isSel(n, "context", "Background") || isSel(n, "context", "TODO") {
					if !f.kit() && f.dir != "pkg/daemon" {
						t.Errorf("%s:%d makes a context: take it from the caller, only pkg/daemon makes the first", f.path, f.line(n))
					}
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if isSel(field.Type, "context", "Context") && !f.test {
						t.Errorf("%s:%d keeps a context in a struct: pass it along", f.path, f.line(field))
					}
				}
			case *ast.FuncType:
				checkFirst(t, f, n)
			}
			return true
		})
	}
}

func checkFirst(t *testing.T, f file, fn *ast.FuncType) {
	t.Helper()
	for i, field := range fn.Params.List {
		if i > 0 && isSel(field.Type, "context", "Context") && !f.kit() {
			t.Errorf("%s:%d takes a context, but not first", f.path, f.line(field))
		}
	}
}

func isSel(n ast.Node, pkg, name string) bool {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// TestLogs: who logs was given a logger; the default one has no daemon's name.
// Keys are constants, so that a log can be searched; tests log to t.Log.
func TestLogs(t *testing.T) {
	for _, f := range files(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			switch {
			case !ok:
			case f.test && (isSel(call.Fun, "slog", "NewTextHandler") || isSel(call.Fun, "slog", "NewJSONHandler")):
				if out := call.Args[0]; isSel(out, "os", "Stderr") || isSel(out, "os", "Stdout") {
					t.Errorf("%s:%d logs past the test: write to t.Log", f.path, f.line(call))
				}
			case !f.test && logs(call) && !constantKeys(call):
				t.Errorf("%s:%d logs a key that is no literal", f.path, f.line(call))
			}
			return true
		})
		if f.test || f.dir == "pkg/daemon" {
			continue
		}
		for _, imp := range f.ast.Imports {
			if imp.Path.Value == `"log"` {
				t.Errorf("%s imports log: take a *slog.Logger", f.path)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				for _, name := range []string{"Default", "Info", "Warn", "Error", "Debug", "SetDefault"} {
					if isSel(sel, "slog", name) {
						t.Errorf("%s:%d uses the default logger: take one as a parameter", f.path, f.line(sel))
					}
				}
			}
			return true
		})
	}
}

// logs says whether a call writes a line to a logger, by the names of both.
func logs(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, sel.Sel.Name) {
		return false
	}
	on := ""
	switch x := sel.X.(type) {
	case *ast.Ident:
		on = x.Name
	case *ast.SelectorExpr:
		on = x.Sel.Name
	}
	return strings.EqualFold(on, "log")
}

// constantKeys says whether each key after the message is a literal; a list that
// is spread is not looked into.
func constantKeys(call *ast.CallExpr) bool {
	for i, arg := range call.Args {
		lit, ok := arg.(*ast.BasicLit)
		if i%2 == 1 && !call.Ellipsis.IsValid() && (!ok || lit.Kind != token.STRING) {
			return false
		}
	}
	return true
}

// TestSleeps: a test waits for a condition, never for a time.
func TestSleeps(t *testing.T) {
	all := files(t)
	bubbles := map[string]bool{} // folders whose tests run in virtual time
	for _, f := range all {
		bubbles[f.dir] = bubbles[f.dir] || f.test && strings.Contains(f.text, "synctest.Test(")
	}
	for _, f := range all {
		if !f.kit() {
			continue
		}
		bubble := bubbles[f.dir]
		limits := map[ast.Node]bool{} // what a select waits for beside the condition
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if c, ok := n.(*ast.CommClause); ok {
				limits[c.Comm] = true
			}
			if n != nil && !bubble && !limits[n] && (isSel(n, "time", "Sleep") || waitsForTime(n)) {
				t.Errorf("%s:%d sleeps: wait for what is meant (virtual time excepted)", f.path, f.line(n))
			}
			return true
		})
	}
}

// waitsForTime says whether a statement does nothing but receive from a timer.
func waitsForTime(n ast.Node) bool {
	stmt, ok := n.(*ast.ExprStmt)
	if !ok {
		return false
	}
	receive, ok := stmt.X.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW {
		return false
	}
	from := receive.X
	if sel, ok := from.(*ast.SelectorExpr); ok { // time.NewTimer(d).C
		from = sel.X
	}
	call, ok := from.(*ast.CallExpr)
	return ok && slices.ContainsFunc([]string{"After", "Tick", "NewTimer", "NewTicker"}, func(name string) bool {
		return isSel(call.Fun, "time", name)
	})
}

// TestFuzz: whatever reads bytes from outside has a fuzz target.
func TestFuzz(t *testing.T) {
	fuzzed := map[string]string{}
	for _, f := range files(t) {
		if f.test && strings.Contains(f.text, "func Fuzz") {
			fuzzed[f.dir] += f.text
		}
	}
	for _, f := range files(t) {
		if f.kit() {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			name := fn.Name.Name
			if (strings.HasPrefix(name, "Decode") || strings.HasPrefix(name, "Parse")) && !strings.Contains(fuzzed[f.dir], name+"(") {
				t.Errorf("%s: %s reads bytes from outside, but no Fuzz target of %s calls it", f.path, name, f.dir)
			}
		}
	}
}
