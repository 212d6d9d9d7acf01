// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

const secret = "CANARY outside\n"

// tree makes a workspace with a neighbour that must not be seen.
func tree(t testing.TB) (path string, root *Root) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(base, "work")
	for _, dir := range []string{"work/sub/deep", "work-evil", "outside"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"work/a.txt": "hello inside\n", "work/sub/b.txt": "below\n", "work-evil/x": secret, "outside/secret.txt": secret} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"in": "a.txt", "leak": "../outside/secret.txt", "far": filepath.Join(base, "outside/secret.txt"), "dir": "../outside", "gone": "../outside/none",
		"near": filepath.Join(path, "a.txt"), "round": "../work/a.txt", "loop": "loop", "env": "/proc/self/environ", "zero": "/dev/zero", "chain": "sub/chain",
		"sub/chain": "../leak", "sub/up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(path, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err = Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return path, root
}

func whole() Range { return Range{1, 2000, 65536} }

func kindOfErr(t *testing.T, err error) string {
	t.Helper()
	var f *fault.Fault
	if err == nil {
		return ""
	}
	if !errors.As(err, &f) || !slices.Contains(fault.Kinds(), f.Kind) {
		t.Fatalf("no fault of the list: %v", err)
	}
	return f.Kind
}

func TestReadPaths(t *testing.T) {
	path, root := tree(t)
	l, err := net.Listen("unix", filepath.Join(path, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, kind := range map[string]string{
		"a.txt": "", "./a.txt": "", "sub/../a.txt": "", "sub//b.txt": "", "in": "", "sub/up/a.txt": "",
		"": proto.KindInvalidArguments, "a.txt\x00": proto.KindInvalidArguments, "a.txt\x00/../..": proto.KindInvalidArguments,
		"/etc/hostname": proto.KindNotAllowed, path + "/a.txt": proto.KindNotAllowed, "..": proto.KindNotAllowed, "../work/a.txt": proto.KindNotAllowed,
		"../work-evil/x": proto.KindNotAllowed, "x/../../../../etc/passwd": proto.KindNotAllowed, "sub/../../outside/secret.txt": proto.KindNotAllowed,
		"leak": proto.KindNotAllowed, "far": proto.KindNotAllowed, "dir/secret.txt": proto.KindNotAllowed, "gone": proto.KindNotAllowed, "near": proto.KindNotAllowed,
		"round": proto.KindNotAllowed, "chain": proto.KindNotAllowed, "env": proto.KindNotAllowed, "zero": proto.KindNotAllowed, "leak/": proto.KindNotAllowed,
		"loop": proto.KindNotFound, "none": proto.KindNotFound, "a.txt/b": proto.KindNotFound, "A.TXT": proto.KindNotFound, "~/a.txt": proto.KindNotFound,
		"file://a.txt": proto.KindNotFound, "$HOME/a": proto.KindNotFound, "a%2etxt": proto.KindNotFound, "a.txt ": proto.KindNotFound, strings.Repeat("n", 300): proto.KindNotFound,
		strings.Repeat("d/", 2500) + "x": proto.KindNotFound,
		".":                              proto.KindNotAFile, "sub": proto.KindNotAFile, "pipe": proto.KindNotAFile, "s": proto.KindNotAFile,
	} {
		e, err := root.Read(t.Context(), name, whole())
		if got := kindOfErr(t, err); got != kind {
			t.Errorf("%.40q: %s (%v), want %s", name, got, err, kind)
		}
		if strings.Contains(e.Text, "CANARY") {
			t.Errorf("%.40q leaked", name)
		}
	}
}

func TestReadParts(t *testing.T) {
	for _, c := range []struct {
		text string
		want Range
		got  Excerpt
	}{
		{"", whole(), Excerpt{Start: 1}},
		{"a\nb\nc\n", whole(), Excerpt{Text: "a\nb\nc\n", Start: 1, Lines: 3}},
		{"a\nb\nc", whole(), Excerpt{Text: "a\nb\nc", Start: 1, Lines: 3}},
		{"a\nb\nc\n", Range{1, 3, 6}, Excerpt{Text: "a\nb\nc\n", Start: 1, Lines: 3}},
		{"a\nb\nc\n", Range{1, 2, 99}, Excerpt{Text: "a\nb\n", Start: 1, Lines: 2, More: true}},
		{"a\nb\nc\n", Range{2, 1, 99}, Excerpt{Text: "b\n", Start: 2, Lines: 1, More: true, Skip: 1}},
		{"a\nb\nc\n", Range{3, 5, 99}, Excerpt{Text: "c\n", Start: 3, Lines: 1, Skip: 2}},
		{"a\nb\nc\n", Range{4, 5, 99}, Excerpt{Start: 4, Skip: 3}},
		{"a\nb\nc\n", Range{9, 5, 99}, Excerpt{Start: 9, Skip: 3}},
		{"a\nb\nc\n", Range{math.MaxInt64, math.MaxInt64, math.MaxInt64}, Excerpt{Start: math.MaxInt64, Skip: 3}},
		{"abcdef", Range{1, 9, 4}, Excerpt{Text: "abcd", Start: 1, Lines: 1, More: true, Cut: true}},
		{"ab\ncd", Range{1, 9, 3}, Excerpt{Text: "ab\n", Start: 1, Lines: 1, More: true}},
		{"a€€", Range{1, 9, 3}, Excerpt{Text: "a", Start: 1, Lines: 1, More: true, Cut: true}},
		{"a€€", Range{1, 9, 4}, Excerpt{Text: "a€", Start: 1, Lines: 1, More: true, Cut: true}},
		{"a€€", Range{1, 9, 7}, Excerpt{Text: "a€€", Start: 1, Lines: 1}},
		{"€", Range{1, 9, 2}, Excerpt{Start: 1, More: true}},
		{"\n\n\n", Range{2, 1, 9}, Excerpt{Text: "\n", Start: 2, Lines: 1, More: true, Skip: 1}},
	} {
		got, err := excerpt(t.Context(), strings.NewReader(c.text), c.want)
		if err != nil || got != c.got {
			t.Errorf("%q %v: %+v, %v", c.text, c.want, got, err)
		}
	}
	for text, want := range map[string]Range{
		"a\x00b": whole(), "\xff\xfeh\x00": whole(), "caf\xe9": whole(), strings.Repeat("a", 40000) + "\xff": whole(), "na\u00efve \xe2\x82": whole(),
		"\xed\xa0\x80": whole(), "\xff\nb": {2, 1, 9}, "a\x00\nb": {2, 1, 9},
	} {
		if _, err := excerpt(t.Context(), strings.NewReader(text), want); kindOfErr(t, err) != proto.KindNotText {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestReadSkipIsBounded: a line far down in an endless file is not looked for.
func TestReadSkipIsBounded(t *testing.T) {
	endless := reader(func(p []byte) (int, error) {
		for i := range p {
			p[i] = 'x'
		}
		return len(p), nil
	})
	if _, err := excerpt(t.Context(), endless, Range{2, 1, 9}); kindOfErr(t, err) != proto.KindTooLarge {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := excerpt(ctx, endless, Range{2, 1, 9}); kindOfErr(t, err) != proto.KindTimeout {
		t.Errorf("got %v", err)
	}
}

func TestList(t *testing.T) {
	path, root := tree(t)
	l, err := root.List(t.Context(), ".", "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range l.Entries {
		got = append(got, e.Kind+" "+e.Name)
	}
	const want = "file a.txt,link chain,link dir,link env,link far,link gone,link in,link leak,link loop,link near,other pipe,link round,directory sub,link zero"
	if strings.Join(got, ",") != want || l.Total != 14 || l.More {
		t.Errorf("got %s of %d", strings.Join(got, ","), l.Total)
	}
	if l, err := root.List(t.Context(), ".", KindDirectory); err != nil || l.Total != 1 || l.Entries[0].Name != "sub" {
		t.Errorf("directories %+v, %v", l, err)
	}
	for name, kind := range map[string]string{
		"a.txt": proto.KindNotFound, "pipe": proto.KindNotFound, "..": proto.KindNotAllowed, "dir": proto.KindNotAllowed, "/": proto.KindNotAllowed,
		"loop": proto.KindNotFound, "none": proto.KindNotFound, "": proto.KindInvalidArguments, "sub\x00/..": proto.KindInvalidArguments, "sub/../..": proto.KindNotAllowed,
		"sub/": "", "sub/up": "", "sub/up/sub/deep": "",
	} {
		if _, err := root.List(t.Context(), name, ""); kindOfErr(t, err) != kind {
			t.Errorf("%q: %v, want %s", name, err, kind)
		}
	}
	many := filepath.Join(path, "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("f%04d", (i*7919)%1500)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err = root.List(t.Context(), "many", KindFile)
	if err != nil || l.Total != 1500 || len(l.Entries) != 100 || l.Entries[0].Name != "f0000" || l.Entries[99].Name != "f0099" {
		t.Errorf("%d of %d, %v", len(l.Entries), l.Total, err)
	}
}

// TestSwap: a path that is exchanged for a link all the time never shows what
// the link leads to.
func TestSwap(t *testing.T) {
	path, root := tree(t)
	if err := os.WriteFile(filepath.Join(path, "sub/secret.txt"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", filepath.Join(path, "swap")); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(path, "sub"), unix.AT_FDCWD, filepath.Join(path, "swap"), unix.RENAME_EXCHANGE); err != nil {
				stopped <- err
				return
			}
		}
	}()
	mine := 0
	for range 5000 {
		e, err := root.Read(t.Context(), "sub/secret.txt", whole())
		if strings.Contains(e.Text, "CANARY") {
			t.Fatal("the file outside was read")
		}
		if err == nil {
			mine++
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if mine == 0 {
		t.Error("the file inside was never read")
	}
}

// TestHandle: an open workspace stays with its folder, whatever becomes of the
// path.
func TestHandle(t *testing.T) {
	path, root := tree(t)
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("outside", path); err != nil {
		t.Fatal(err)
	}
	if e, err := root.Read(t.Context(), "a.txt", whole()); err != nil || e.Text != "hello inside\n" {
		t.Errorf("got %q, %v", e.Text, err)
	}
	if _, err := root.Read(t.Context(), "secret.txt", whole()); kindOfErr(t, err) != proto.KindNotFound {
		t.Errorf("got %v", err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Read(t.Context(), "a.txt", whole()); kindOfErr(t, err) != proto.KindUnavailable {
		t.Errorf("after the end: %v", err)
	}
}

// TestSparse: the size of a file costs nothing.
func TestSparse(t *testing.T) {
	path, root := tree(t)
	if err := os.WriteFile(filepath.Join(path, "hole"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(path, "hole"), 8<<30); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := root.Read(t.Context(), "hole", Range{1000, 1, 9}); kindOfErr(t, err) != proto.KindNotText {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
}

// FuzzPath: whatever is listed or read lies in the workspace, and whatever is
// refused is refused in words that hold no path of this machine.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"a.txt", "sub/b.txt", "../outside/secret.txt", "dir/secret.txt", "sub/../../work-evil/x", "chain", "near", "/etc/passwd", "sub/up/../../outside/secret.txt", "a.txt\x00"} {
		f.Add(p)
	}
	path, root := tree(f)
	base := filepath.Dir(path)
	f.Fuzz(func(t *testing.T, p string) {
		e, err := root.Read(t.Context(), p, whole())
		if strings.Contains(e.Text, "CANARY") || err == nil && e.Text != "hello inside\n" && e.Text != "below\n" {
			t.Fatalf("%q reads %q", p, e.Text)
		}
		l, listErr := root.List(t.Context(), p, "")
		for _, entry := range l.Entries {
			if entry.Name == "secret.txt" || entry.Name == "work" || entry.Name == "x" {
				t.Fatalf("%q lists %q", p, entry.Name)
			}
		}
		for _, err := range []error{err, listErr} {
			if kindOfErr(t, err) != "" && (strings.Contains(err.Error(), base) || strings.Contains(err.Error(), "/")) {
				t.Fatalf("%q: %v", p, err)
			}
		}
	})
}

// FuzzCut: an excerpt is a part of the file, byte for byte, within its limits,
// whole runes, and as long as the limits allow.
func FuzzCut(f *testing.F) {
	f.Add([]byte("a€b\nc\n"), int64(1), int64(1), int64(3))
	f.Add([]byte("\xff\n"), int64(2), int64(1), int64(3))
	f.Add([]byte("x\n€\n"), int64(2), int64(9), int64(2))
	f.Fuzz(func(t *testing.T, data []byte, start, lines, size int64) {
		want := Range{max(1, start), max(1, lines), max(1, size)}
		e, err := excerpt(t.Context(), strings.NewReader(string(data)), want)
		clean := utf8.Valid(data) && !slices.Contains(data, 0)
		if err != nil {
			if clean || kindOfErr(t, err) != proto.KindNotText {
				t.Fatalf("%q %v: %v", data, want, err)
			}
			return
		}
		if !utf8.ValidString(e.Text) || int64(len(e.Text)) > want.Bytes || e.Lines > want.Lines {
			t.Fatalf("%q %v: %+v", data, want, e)
		}
		before := 0 // bytes of the lines before
		for skipped := int64(0); skipped < want.Start-1; skipped++ {
			i := strings.IndexByte(string(data[before:]), '\n')
			if i < 0 {
				before = len(data)
				break
			}
			before += i + 1
		}
		if !strings.HasPrefix(string(data[before:]), e.Text) {
			t.Fatalf("%q %v: %q is no part of it", data, want, e.Text)
		}
		if rest := data[before+len(e.Text):]; e.More != (len(rest) > 0) {
			t.Fatalf("%q %v: %+v leaves %q", data, want, e, rest)
		} else if len(rest) > 0 {
			_, next := utf8.DecodeRune(rest)
			full := int64(len(e.Text)+next) > want.Bytes
			enough := strings.Count(e.Text, "\n") == int(want.Lines) && strings.HasSuffix(e.Text, "\n")
			if !full && !enough {
				t.Fatalf("%q %v: %q could be longer", data, want, e.Text)
			}
		}
	})
}
