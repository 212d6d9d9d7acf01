// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

var variable = regexp.MustCompile(`\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)

// confine wraps the command of a tool with a sandbox; the report of any other
// tool is empty.
func (r *Runner) confine(cmd *exec.Cmd, t *tool.Tool, dir string, vars map[string]string) (*sandbox.Report, error) {
	if t.Sandbox == nil {
		return nil, nil
	}
	spec, err := r.config.confinement(t, dir, vars)
	if err != nil {
		return nil, err
	}
	return sandbox.Wrap(cmd, spec, *r.config.Sandbox)
}

// confinement is what the sandbox of a tool comes to. In the paths ~ and
// variables mean what they mean to the tool itself; one that is not set is an
// error, since the rest of the path would name another place. The folder of
// our own binaries is always readable. A path that reaches into what is
// private, or that holds it, is refused: Landlock cannot take a part out again.
func (c Config) confinement(t *tool.Tool, dir string, vars map[string]string) (sandbox.Spec, error) {
	spec := sandbox.Spec{Network: t.Sandbox.Network}
	for _, list := range []struct {
		key  string
		from []string
		to   *[]string
	}{{"read", t.Sandbox.Read, &spec.Read}, {"write", t.Sandbox.Write, &spec.Write}} {
		for _, written := range list.from {
			path, err := expand(written, dir, vars)
			if err == nil && c.private(path) {
				err = errors.New("it would open the folder of the bus or a key of the assistant")
			}
			if err != nil {
				return spec, fmt.Errorf("sandbox.%s %q: %w", list.key, written, err)
			}
			*list.to = append(*list.to, path)
		}
	}
	if c.BinDir != "" && !c.private(c.BinDir) {
		spec.Read = append(spec.Read, c.BinDir)
	}
	return spec, nil
}

// expand makes a path of a tool's file absolute.
func expand(path, dir string, vars map[string]string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = "${HOME}" + path[1:]
	}
	unset := ""
	path = variable.ReplaceAllStringFunc(path, func(found string) string {
		name := strings.Trim(found, "${}")
		if vars[name] == "" && unset == "" {
			unset = name
		}
		return vars[name]
	})
	switch {
	case unset != "":
		return "", fmt.Errorf("the tool has no variable %s", unset)
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case !filepath.IsLocal(path):
		return "", errOutside
	}
	return filepath.Join(dir, path), nil
}

// private reports whether a path reaches what no confined tool may reach, as
// it is written or with its links followed.
func (c Config) private(path string) bool {
	for _, secret := range c.Private {
		if secret == "" {
			continue
		}
		for _, p := range []string{path, resolved(path)} {
			for _, s := range []string{filepath.Clean(secret), resolved(secret)} {
				if below(p, s) || below(s, p) {
					return true
				}
			}
		}
	}
	return false
}

// resolved follows the links of a path, of the part of it that exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// below reports whether a clean path is a folder or lies in it.
func below(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}

// confinedReason is startReason for a program that did not start inside its
// sandbox.
func confinedReason(program string, err error) string {
	var errno unix.Errno
	switch {
	case !errors.As(err, &errno):
		return err.Error()
	case errno == unix.EACCES && unix.Access(program, unix.X_OK) == nil:
		return "its sandbox keeps it from its interpreter or libraries: add their folder to sandbox.read"
	}
	return startReason(program, err)
}
