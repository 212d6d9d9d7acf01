// SPDX-License-Identifier: Apache-2.0

package run

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// marker is the variable by which processes of a call are told apart.
const marker = "DA_CALL"

var inherited = []string{"PATH", "HOME", "LANG", "TZ", "DISPLAY", "WAYLAND_DISPLAY",
	"DBUS_SESSION_BUS_ADDRESS", "USER", "SHELL"}

// environment of a tool's process: the variables a desktop script needs (all
// of them with inherit_env), then those of the configuration, then the tool's
// own, later ones winning. The folder of our own binary is appended to PATH.
// Names in secrets are never handed on.
func (c Config) environment(t *tool.Tool) map[string]string {
	vars := map[string]string{}
	for _, pair := range c.Environ {
		name, value, ok := strings.Cut(pair, "=")
		if ok && (t.InheritEnv || needed(name)) && !slices.Contains(c.Secrets, name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, c.Env)
	maps.Copy(vars, t.Env)
	if vars["PATH"] == "" {
		vars["PATH"] = defaultPath
	}
	if c.BinDir != "" && !slices.Contains(filepath.SplitList(vars["PATH"]), c.BinDir) {
		vars["PATH"] += ":" + c.BinDir
	}
	return vars
}

func needed(name string) bool {
	return slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// pairs is the environment in the form of [exec.Cmd.Env], in a fixed order.
func pairs(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}
