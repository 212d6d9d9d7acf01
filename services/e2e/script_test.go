// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// TestScript runs what a user types: one script for each promise of the top
// README, by its name there. They share one sound server.
func TestScript(t *testing.T) {
	rig := soundtest.Start(t)
	// Below a short name: a socket's path holds 107 characters.
	root, err := os.MkdirTemp("", "da-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", WorkdirRoot: root, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error { return account(env, rig) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"until": until,
			"ready": func(ts *testscript.TestScript, _ bool, _ []string) { ready(ts) },
		},
	})
}

// account gives a script a user account of its own.
func account(env *testscript.Env, rig *soundtest.Rig) error {
	for name, sub := range map[string]string{
		"HOME": "home", "XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config",
		"XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
	} {
		dir := filepath.Join(env.WorkDir, sub)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		env.Setenv(name, dir)
	}
	env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("TZ", "UTC")
	for _, v := range rig.Env() {
		name, value, _ := strings.Cut(v, "=")
		env.Setenv(name, value)
	}
	return nil
}

// until runs a program again and again until it succeeds.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: until program [args]")
	}
	await(ts, strings.Join(args, " "), func() bool { return ts.Exec(args[0], args[1:]...) == nil })
}

// ready waits until every daemon answers and the voice is there.
func ready(ts *testscript.TestScript) {
	await(ts, "every daemon answers", func() bool {
		_ = ts.Exec("desktop-assistant", "status") // 1 as long as anything is missing
		out := ts.ReadFile("stdout")
		return strings.Count(out, " up ") == len(proto.Daemons()) && strings.Contains(out, "ttsd        ok")
	})
}

func await(ts *testscript.TestScript, what string, ok func() bool) {
	limit := time.After(waitLimit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			ts.Fatalf("never: %s", what)
		}
	}
}
