// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// kase is one case of testdata; the fields are those of the set it is from.
type kase struct {
	Name   string `json:"name"`
	Basis  string `json:"basis"`
	Setup  setup  `json:"setup"`
	Call   *step  `json:"call"`
	Steps  []step `json:"steps"`
	Repeat int    `json:"repeat"`
	Expect expect `json:"expect"`
}

type setup struct {
	Files         []file            `json:"files"`
	Dirs          []json.RawMessage `json:"dirs"`
	Symlinks      []pair            `json:"symlinks"`
	Hardlinks     []pair            `json:"hardlinks"`
	Fifos         []string          `json:"fifos"`
	Sockets       []string          `json:"sockets"`
	Many          []many            `json:"many"`
	Swap          *pair             `json:"swap"`
	Env           map[string]string `json:"env"`
	Route         string            `json:"route"`
	Config        map[string]any    `json:"config"`
	ConfigErrorOK bool              `json:"config_error_ok"`
	NeedsNonRoot  bool              `json:"needs_non_root"`
}

type pair struct {
	Path string `json:"path"`
	To   string `json:"to"`
}

type many struct {
	Dir   string `json:"dir"`
	Count int    `json:"count"`
	Name  string `json:"name"` // with %d
}

type file struct {
	Path    string  `json:"path"`
	PathB64 string  `json:"path_b64"`
	Text    *string `json:"text"`
	B64     string  `json:"b64"`
	Lines   int     `json:"lines"`
	Repeat  string  `json:"repeat"`
	Count   int     `json:"count"`
	TailB64 string  `json:"tail_b64"`
	Sparse  int64   `json:"sparse_bytes"`
	Mode    string  `json:"mode"`
}

type step struct {
	Op        string          `json:"op"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Raw       *string         `json:"arguments_raw"`
	CancelMS  int             `json:"cancel_after_ms"`
	Path      string          `json:"path"`
	To        string          `json:"to"`
	Expect    *expect         `json:"expect"`
}

type expect struct {
	OK           *bool    `json:"ok"`
	Kind         string   `json:"error_kind"`
	KindAny      []string `json:"error_kind_any"`
	Contains     []string `json:"contains"`
	ContainsAny  []string `json:"contains_any"`
	NotContains  []string `json:"not_contains"`
	InOrder      []string `json:"in_order"`
	NoLine       []string `json:"no_line"`
	SameAnswer   bool     `json:"same_answer"`
	MinSeconds   float64  `json:"min_seconds"`
	MaxTextBytes int      `json:"max_text_bytes"`
	MaxRSSMB     int      `json:"max_rss_mb"`
	Tools        []string `json:"tools_exactly"`
	Hits         *struct {
		Total     *int           `json:"total"`
		MaxTotal  *int           `json:"max_total"`
		Two       *int           `json:"two"`
		Six       *int           `json:"six"`
		Paths     map[string]int `json:"paths"`
		PathsOnly []string       `json:"paths_only"`
		Methods   []string       `json:"methods"`
		Bytes     *int           `json:"bytes"`
		QueryHas  []string       `json:"query_has"`
	} `json:"hits"`
}

var repeated = regexp.MustCompile(`(?s)<repeat:(.*?):(\d+)>`)

// load reads a case and fills in its places.
func load(t *testing.T, path string, places *strings.Replacer) (k kase) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	filled := repeated.ReplaceAllStringFunc(places.Replace(string(text)), func(s string) string {
		m := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
	if err := json.Unmarshal([]byte(filled), &k); err != nil {
		t.Fatal(err)
	}
	return k
}

// world is the folder of a case: the workspace and its neighbours.
type world struct{ dir, root, data, home string }

func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{dir, filepath.Join(dir, "workspace"), filepath.Join(dir, "data"), filepath.Join(dir, "home")}
	for _, d := range []string{w.root, w.data, w.home} {
		must(t, os.Mkdir(d, 0o755))
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o755)
			}
			return nil
		})
	})
	return w
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func unbase64(t *testing.T, s string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	must(t, err)
	return string(b)
}

// at gives the place of a path of the case and makes the folder it is in.
func (w world) at(t *testing.T, path string) string {
	t.Helper()
	full := filepath.Join(w.root, path)
	must(t, os.MkdirAll(filepath.Dir(full), 0o755))
	return full
}

func chmod(t *testing.T, path, mode string) {
	t.Helper()
	if mode != "" {
		m, err := strconv.ParseUint(mode, 8, 32)
		must(t, err, os.Chmod(path, os.FileMode(m)))
	}
}

func (w world) build(t *testing.T, s setup) {
	t.Helper()
	modes := map[string]string{}
	for _, raw := range s.Dirs {
		var d struct{ Path, Mode string }
		if json.Unmarshal(raw, &d.Path) != nil {
			must(t, json.Unmarshal(raw, &d))
		}
		must(t, os.MkdirAll(filepath.Join(w.root, d.Path), 0o755))
		modes[filepath.Join(w.root, d.Path)] = d.Mode
	}
	for _, f := range s.Files {
		w.file(t, f)
	}
	for _, m := range s.Many {
		for i := range m.Count {
			must(t, os.WriteFile(w.at(t, filepath.Join(m.Dir, fmt.Sprintf(m.Name, (i*7919)%m.Count))), nil, 0o644))
		}
	}
	for _, l := range s.Symlinks {
		must(t, os.Symlink(l.To, w.at(t, l.Path)))
	}
	for _, l := range s.Hardlinks {
		must(t, os.Link(filepath.Join(w.root, l.To), w.at(t, l.Path)))
	}
	for _, p := range s.Fifos {
		must(t, unix.Mkfifo(w.at(t, p), 0o644))
	}
	for _, p := range s.Sockets {
		l, err := net.Listen("unix", w.at(t, p))
		must(t, err)
		t.Cleanup(func() { l.Close() })
	}
	for path, mode := range modes {
		chmod(t, path, mode)
	}
	if s.Swap != nil {
		w.swap(t, *s.Swap)
	}
}

func (w world) file(t *testing.T, f file) {
	t.Helper()
	if f.PathB64 != "" {
		f.Path = unbase64(t, f.PathB64)
	}
	text := unbase64(t, f.B64) + strings.Repeat(f.Repeat, f.Count)
	if f.Text != nil {
		text = *f.Text
	}
	for i := range f.Lines {
		text += fmt.Sprintf("line %d\n", i+1)
	}
	path := w.at(t, f.Path)
	must(t, os.WriteFile(path, []byte(text+unbase64(t, f.TailB64)), 0o644))
	if f.Sparse > 0 {
		must(t, os.Truncate(path, f.Sparse))
	}
	chmod(t, path, f.Mode)
}

// swap exchanges a path with a link until the test ends.
func (w world) swap(t *testing.T, p pair) {
	t.Helper()
	path := filepath.Join(w.root, p.Path)
	must(t, os.Symlink(p.To, path+".link"))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, path+".link", unix.RENAME_EXCHANGE) == nil {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}

// nobody hands the folder of the case to a user without rights, for whom it
// also copies the program.
func (w world) nobody(t *testing.T) (program string, as *syscall.SysProcAttr) {
	t.Helper()
	const id = 65534
	text, err := os.ReadFile(os.Args[0])
	program = filepath.Join(w.home, "adapter")
	must(t, err, os.WriteFile(program, text, 0o755), os.Chmod(filepath.Dir(w.dir), 0o755))
	must(t, filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, id, id))
	}))
	return program, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
}

// slow says that the case waits for a deadline of seconds to pass.
func (k kase) slow() bool {
	text, _ := json.Marshal(k.Call) // what was decoded encodes
	return k.Expect.MinSeconds > 0 || k.Call != nil && k.Call.CancelMS == 0 && strings.Contains(string(text), "/slow/") && k.Setup.Config["http"] == nil
}
