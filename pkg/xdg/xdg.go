// SPDX-License-Identifier: Apache-2.0

// Package xdg names the folders of this program, as the XDG Base Directory
// Specification 0.8 has them: a variable that is unset, empty or relative
// gives the default below the home folder.
package xdg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// name is the program's folder below each XDG folder.
const name = "desktop-assistant"

// Config returns $XDG_CONFIG_HOME/desktop-assistant, else
// ~/.config/desktop-assistant. It does not make the folder. It fails only when
// the default is needed and there is no home folder.
func Config() (string, error) { return folder("XDG_CONFIG_HOME", ".config") }

// Data returns $XDG_DATA_HOME/desktop-assistant, else
// ~/.local/share/desktop-assistant, like Config.
func Data() (string, error) { return folder("XDG_DATA_HOME", ".local/share") }

// State returns $XDG_STATE_HOME/desktop-assistant, else
// ~/.local/state/desktop-assistant, like Config.
func State() (string, error) { return folder("XDG_STATE_HOME", ".local/state") }

// Cache returns $XDG_CACHE_HOME/desktop-assistant, else
// ~/.cache/desktop-assistant, like Config.
func Cache() (string, error) { return folder("XDG_CACHE_HOME", ".cache") }

// Runtime returns the folder of sockets, locks and cookies and makes it with
// mode 0700: $XDG_RUNTIME_DIR/desktop-assistant; with the variable unset
// /run/user/UID/desktop-assistant if /run/user/UID is ours, else
// /tmp/desktop-assistant-UID. A folder that is a link, is not a folder or
// belongs to someone else is refused, since whoever owns it could listen in;
// one of ours that others may enter is closed to them.
func Runtime() (string, error) {
	uid := os.Getuid()
	places := runtimePlaces{
		variable: absolute(os.Getenv("XDG_RUNTIME_DIR")),
		session:  filepath.Join("/run/user", strconv.Itoa(uid)),
		temp:     "/tmp",
		uid:      uid,
	}
	return places.folder()
}

// Expand replaces a leading ~/ (or a path that is just ~) by the home folder
// and returns every other path unchanged.
func Expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, nil
	}
	home, err := home()
	if err != nil {
		return "", fmt.Errorf("expand %q: %w", path, err)
	}
	return filepath.Join(home, rest), nil
}

// folder returns our folder below the one that variable names, or else below
// fallback in the home folder.
func folder(variable, fallback string) (string, error) {
	if dir := absolute(os.Getenv(variable)); dir != "" {
		return filepath.Join(dir, name), nil
	}
	home, err := home()
	if err != nil {
		return "", fmt.Errorf("find folder of %s: %w", variable, err)
	}
	return filepath.Join(home, fallback, name), nil
}

// absolute returns dir, or nothing when it is empty or relative.
func absolute(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// home returns $HOME, or what the user database says when that is of no use.
func home() (string, error) {
	if dir := absolute(os.Getenv("HOME")); dir != "" {
		return dir, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find home folder: HOME is not set: %w", err)
	}
	if absolute(u.HomeDir) == "" {
		return "", fmt.Errorf("find home folder: HOME is not set and user %q has none", u.Username)
	}
	return u.HomeDir, nil
}

// runtimePlaces are the candidates for the runtime folder of one user.
type runtimePlaces struct {
	variable string // $XDG_RUNTIME_DIR, empty when it does not count
	session  string // made by logind at login
	temp     string // where everyone may write
	uid      int
}

func (p runtimePlaces) folder() (string, error) {
	if p.variable != "" {
		return private(filepath.Join(p.variable, name), p.uid)
	}
	if info, err := os.Lstat(p.session); err == nil && info.IsDir() && owner(info) == p.uid {
		return private(filepath.Join(p.session, name), p.uid)
	}
	return private(filepath.Join(p.temp, name+"-"+strconv.Itoa(p.uid)), p.uid)
}

// private makes dir with mode 0700 unless it is there, and returns it once it
// is known to be a real folder that belongs to uid and is closed to others.
func private(dir string, uid int) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make runtime folder %q: %w", dir, cause(err))
	}
	// Looked at through one open file, so that it cannot be exchanged in between.
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
		return "", fmt.Errorf("use runtime folder %q: it is a link or a file, remove it", dir)
	}
	if err != nil {
		return "", fmt.Errorf("use runtime folder %q: %w", dir, cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("use runtime folder %q: %w", dir, cause(err))
	}
	if got := owner(info); got != uid {
		return "", fmt.Errorf("use runtime folder %q: it belongs to user %d, not to %d", dir, got, uid)
	}
	if info.Mode().Perm() != 0o700 {
		if err := f.Chmod(0o700); err != nil {
			return "", fmt.Errorf("close runtime folder %q to others: %w", dir, cause(err))
		}
	}
	return dir, nil
}

// owner returns the numeric user a file belongs to.
func owner(info fs.FileInfo) int {
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// cause drops the path and verb of an error that is about to be given its own.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
