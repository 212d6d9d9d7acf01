// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
)

func TestValidate(t *testing.T) {
	path, _ := tree(t)
	base := filepath.Dir(path)
	if err := os.Symlink(path, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for p, kind := range map[string]string{
		path: "", path + "/sub": "",
		"": proto.KindInvalidArguments, "work": proto.KindInvalidArguments, "./work": proto.KindInvalidArguments, "~/work": proto.KindInvalidArguments,
		path + "/": proto.KindInvalidArguments, path + "/.": proto.KindInvalidArguments, path + "/../work": proto.KindInvalidArguments, "//": proto.KindInvalidArguments,
		base + "//work": proto.KindInvalidArguments, path + "\n": proto.KindInvalidArguments, path + "\x00": proto.KindInvalidArguments, "/" + strings.Repeat("a/", 3000) + "a": proto.KindInvalidArguments,
		"/":            proto.KindNotAllowed,
		base + "/link": proto.KindNotAllowed, base + "/link/sub": proto.KindNotAllowed, path + "/a.txt": proto.KindNotAllowed, path + "/pipe": proto.KindNotAllowed,
		"/proc": proto.KindNotAllowed, "/proc/sys": proto.KindNotAllowed, "/sys": proto.KindNotAllowed, "/proc/self": proto.KindNotAllowed,
		base + "/none": proto.KindNotFound, path + "/a.txt/x": proto.KindNotFound,
	} {
		if err := Validate(p); kindOfErr(t, err) != kind {
			t.Errorf("%.60q: %v, want %s", p, err, kind)
		}
	}
}

// TestChoose: the first source that is there decides, and what was chosen is
// there at the next start.
func TestChoose(t *testing.T) {
	path, _ := tree(t)
	data := filepath.Join(filepath.Dir(path), "data", "desktop-assistant")
	choose := func(s Sources, want Choice, kind string) {
		t.Helper()
		s.Data = data
		if got, err := Choose(s); got != want || kindOfErr(t, err) != kind {
			t.Errorf("%+v: %v, %v; want %v, %s", s, got, err, want, kind)
		}
	}
	private := filepath.Join(data, "workspace")
	choose(Sources{}, Choice{private, FromDefault}, "")
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the private folder: %v, %v", info, err)
	}
	choose(Sources{Variable: path}, Choice{path, FromVariable}, "")
	choose(Sources{}, Choice{path, FromSaved}, "")
	choose(Sources{Config: path + "/sub"}, Choice{path + "/sub", FromConfig}, "")
	choose(Sources{Config: path + "/sub", Variable: path}, Choice{path, FromVariable}, "")
	choose(Sources{Variable: path + "/none", Config: path}, Choice{"", FromVariable}, proto.KindNotFound)
	choose(Sources{Config: "/"}, Choice{"", FromConfig}, proto.KindNotAllowed)
	choose(Sources{}, Choice{path, FromSaved}, "") // a refusal changes nothing
	for _, name := range []string{"workspace-root.tmp123", "workspace-root.tmp", "workspace-root~"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte("/half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	choose(Sources{}, Choice{path, FromSaved}, "")
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
	for _, damage := range []string{"", "\x00\xff", path, path + "\nmore\n", "relative\n", "\n", path + "\n\n", strings.Repeat("/a", 4000) + "\n"} {
		if err := os.WriteFile(Saved(data), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		choose(Sources{}, Choice{"", FromSaved}, proto.KindUnavailable)
	}
	choose(Sources{Variable: path}, Choice{path, FromVariable}, "") // and mends it
	choose(Sources{}, Choice{path, FromSaved}, "")
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	choose(Sources{}, Choice{"", FromSaved}, proto.KindNotFound)
	if err := os.Symlink("outside", path); err != nil {
		t.Fatal(err)
	}
	choose(Sources{}, Choice{"", FromSaved}, proto.KindNotAllowed)
}

// TestSaveFails: what cannot be written down is refused, and nothing is left.
func TestSaveFails(t *testing.T) {
	path, _ := tree(t)
	file := filepath.Join(path, "a.txt")
	if err := Save(filepath.Join(file, "data"), path); kindOfErr(t, err) != proto.KindUnavailable || strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	data := filepath.Join(filepath.Dir(path), "data")
	if err := os.MkdirAll(filepath.Join(data, "workspace-root"), 0o700); err != nil { // a folder of that name
		t.Fatal(err)
	}
	if err := Save(data, path); kindOfErr(t, err) != proto.KindUnavailable {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
	if _, err := Choose(Sources{Data: data}); kindOfErr(t, err) != proto.KindUnavailable {
		t.Errorf("got %v", err)
	}
}
