// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme/phonemetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func line(t testing.TB, r phoneme.Reader, tag, text string) string {
	t.Helper()
	l, err := phoneme.Lookup(tag)
	if err != nil {
		t.Fatal(err)
	}
	got, err := phoneme.Read(t.Context(), r, l, text)
	if err != nil {
		t.Fatal(err)
	}
	return got.String()
}

// The vectors of the model's makers, through the helper and through the command.
func TestGolden(t *testing.T) {
	t.Parallel()
	helper, command := open(t, phonemetest.Helper(t)), open(t, "")
	if !strings.Contains(helper.Version(), "helper") || !strings.Contains(command.Version(), "command") {
		t.Errorf("versions %q and %q", helper.Version(), command.Version())
	}
	for _, c := range []struct{ tag, text, want, ids string }{
		{"it", "Ciao, come stai?", "ʧˈao, kˌome stˈaj?", "133 156 43 57 3 16 53 157 57 55 47 16 61 62 156 43 52 6"},
		{"it", "La pizza è bellissima: perché no?", "la pˈiʦːa e bellˈiSima: perkˌe nˈɔ?", "54 43 16 58 156 51 20 158 43 16 47 16 44 47 54 54 156 51 35 51 55 43 2 16 58 47 60 53 157 47 16 56 156 76 6"},
		{"en-us", "Hello world", "həlˈO wˈɜɹld", "50 83 54 156 31 16 65 156 87 123 54 46"},
		{"en-us", "this is a test", "ðɪs ɪz ə tˈɛst", "81 102 61 16 102 68 16 83 16 62 156 86 61 62"},
		{"en-us", "button kitten little water", "bˈʌtn kˈɪtn lˈɪTᵊl wˈɔTəɹ", ""},
		{"en-us", "four numbers at ten thirty", "fˈɔɹ nˈʌmbəɹz æt tˈɛn θˈɜɹTi", ""},
	} {
		for _, r := range []*Reader{helper, command} {
			l, err := phoneme.Lookup(c.tag)
			if err != nil {
				t.Fatal(err)
			}
			got, err := phoneme.Read(t.Context(), r, l, c.text)
			if err != nil {
				t.Fatal(err)
			}
			tokens, dropped := phoneme.Standard().Tokens(got)
			ids := make([]string, len(tokens))
			for i, token := range tokens {
				ids[i] = fmt.Sprint(token.ID)
			}
			if got.String() != c.want || c.ids != "" && strings.Join(ids, " ") != c.ids || len(dropped) > 0 {
				t.Errorf("%s %q through the %s gives %q, want %q; tokens %s, dropped %q", c.tag, c.text, r.Version(), got, c.want, strings.Join(ids, " "), string(dropped))
			}
		}
	}
}

// Sentences of every language, frozen with the version of espeak-ng that read them:
// each line of testdata is tag, text, phonemes. FREEZE=1 writes them anew.
func TestFrozen(t *testing.T) {
	t.Parallel()
	r := open(t, phonemetest.Helper(t))
	const path = "testdata/frozen.tsv"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	version, _ := strings.CutPrefix(lines[0], "# espeak-ng ")
	out := []string{"# espeak-ng " + r.version}
	count, differ := map[string]int{}, 0
	for _, entry := range lines[1:] {
		part := strings.Split(entry, "\t")
		got := line(t, r, part[0], part[1])
		count[part[0]]++
		out = append(out, part[0]+"\t"+part[1]+"\t"+got)
		if len(part) < 3 || got != part[2] {
			differ++
			if version == r.version && os.Getenv("FREEZE") == "" {
				t.Errorf("%s %q\ngives  %q\nfrozen %q", part[0], part[1], got, part[2:])
			}
		}
		for _, c := range got {
			if _, ok := phoneme.Standard()[c]; !ok {
				t.Errorf("%s %q gives %q, where %q is no symbol of Kokoro", part[0], part[1], got, c)
			}
		}
	}
	if version != r.version {
		t.Logf("espeak-ng is %s here, and the phonemes are frozen with %s: %d of %d differ", r.version, version, differ, len(lines)-1)
		if differ > (len(lines)-1)/2 && os.Getenv("FREEZE") == "" {
			t.Error("more than half differ")
		}
	}
	for tag, least := range map[string]int{"it": 60, "en-us": 60, "en-gb": 3, "es": 3, "fr-fr": 3, "pt-br": 3, "hi": 2} {
		if count[tag] < least {
			t.Errorf("%d sentences of %s, want %d", count[tag], tag, least)
		}
	}
	if os.Getenv("FREEZE") != "" {
		if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHelperDies(t *testing.T) {
	t.Parallel()
	r := open(t, phonemetest.Helper(t))
	for i := range 3 {
		if err := r.helper.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if got := line(t, r, "it", "Ciao"); got != "ʧˈao" || r.helper == nil {
			t.Fatalf("after death %d it reads %q, helper %v", i, got, r.helper)
		}
	}
	r.Close()
	r.Close()
	if got := line(t, r, "it", "Ciao"); got != "ʧˈao" { // it starts when asked
		t.Errorf("after Close it reads %q", got)
	}
}

// scripted makes a helper out of a shell script.
func scripted(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), helperName)
	// Another test may start a process while this one has the file open for writing,
	// which then cannot be run: so a shell writes it.
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat >"$0" && chmod 700 "$0"`, path)
	write.Stdin = strings.NewReader("#!/bin/sh\n" + script)
	if err := write.Run(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever the helper does, the text is read.
func TestHelperIsBroken(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"fails":           "exit 1",
		"says nonsense":   "echo hello",
		"another version": "echo phonemize 2 1.51",
		"dies at once":    "echo phonemize 1 1.51; exit 0",
		"dies when asked": "echo phonemize 1 1.51; read x; exit 1",
		"answers rubbish": "echo phonemize 1 1.51; while read x; do echo rubbish; done",
		"has no end":      "echo phonemize 1 1.51; read x; exec tr '\\0' x </dev/zero",
	} {
		r := open(t, scripted(t, script))
		for range 2 {
			if got := line(t, r, "it", "Ciao"); got != "ʧˈao" {
				t.Errorf("%s: it reads %q", name, got)
			}
		}
		r.Close()
	}
	if r := open(t, "/none"); line(t, r, "it", "Ciao") != "ʧˈao" {
		t.Error("no helper: nothing is read")
	}
}

// One that answers nothing is given up with the context, and not asked again while
// its answer may still come.
func TestHelperHangs(t *testing.T) {
	t.Parallel()
	r := open(t, scripted(t, "echo phonemize 1 1.51; read x; read x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, "it", "Ciao"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if r.helper != nil {
		t.Error("it is still asked")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, r := range []*Reader{open(t, phonemetest.Helper(t)), open(t, "")} {
		for _, voice := range []string{"nowhere", "", "a\tb", "../../x"} {
			if got, err := r.Read(t.Context(), voice, "Ciao"); err == nil && voice != "" {
				t.Errorf("%s: voice %q reads %q", r.Version(), voice, got)
			}
		}
		for _, text := range []string{"", "\t\n", "[[h@l'oU]]", "<b>x</b>", "\xff", strings.Repeat("parola ", 600)} {
			if _, err := r.Read(t.Context(), "it", text); err != nil {
				t.Errorf("%s: %.20q gives %v", r.Version(), text, err)
			}
		}
		if got := line(t, r, "it", "Ciao"); got != "ʧˈao" {
			t.Errorf("%s: afterwards it reads %q", r.Version(), got)
		}
	}
}

func TestNothingReads(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), "", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	const text = "Domani mattina il cielo sarà sereno, con vento debole e una temperatura di 12 gradi."
	l, _ := phoneme.Lookup("it")
	for name, path := range map[string]string{"helper": phonemetest.Helper(b), "command": ""} {
		b.Run(name, func(b *testing.B) {
			r := open(b, path)
			for b.Loop() {
				if _, err := phoneme.Read(b.Context(), r, l, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
