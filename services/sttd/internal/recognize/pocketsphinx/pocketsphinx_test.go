// SPDX-License-Identifier: Apache-2.0

package pocketsphinx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

var _ recognize.Engine = (*Engine)(nil)

func reasonOf(err error) recognize.Reason {
	var r *recognize.Rejection
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func codeOf(err error) proto.Code {
	var e *proto.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func speech(t *testing.T, text string) recognize.Utterance {
	return recognize.Utterance{PCM: say(t, soundtest.Slt, text), Rate: proto.Rate}
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want hypothesis
	}{
		"a sentence": {"8 S 0 T -2932 A -2258 L -674 0 -451 -337 <sil> 31 -198 0 what 48 -261 0 day 77 -172 -337 today(2) 195",
			hypothesis{"what day today", -2258, 164, -198.0 / 17}},
		"phones":          {"8 S 0 T -5421 A -4747 L -674 0 -447 -337 <sil> 31 -476 0 phw 41 0 0 (NULL) 42 -235 0 pheh 47 [NOISE]", hypothesis{"phw pheh", -4747, 15, -47.6}},
		"only silence":    {"8 S 0 T -10 A -10 L 0 0 -10 -337 <sil> 31", hypothesis{total: -10}},
		"nothing fits":    {"8 S 0 T 0 A 0 L 0 (null)", hypothesis{}},
		"an empty record": {"8 S 0 T 0 A 0 L 0 0", hypothesis{}},
	} {
		if got, err := parse(c.line); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for _, line := range []string{"", "what time is it (8 -2294)", "8 S 0 T 1 A x L 0 0", "8 S 0 T 1 A 1 L 0 0 x 0 word 5", "8 S 0 T 1 A 99999999999 L 0 0"} {
		if got, err := parse(line); err == nil {
			t.Errorf("%q read as %+v", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("8 S 0 T -2932 A -2258 L -674 0 -451 -337 <sil> 31 -198 0 what 48 -251 0 day 77 -172 -337 today(2) 195")
	f.Add("8 S 0 T 0 A 0 L 0 (null)")
	f.Add("8 S 0 T 1 A 1 L 0 2147483647 1 0 a -2147483648 1 0 b 5")
	f.Fuzz(func(t *testing.T, line string) {
		h, err := parse(line)
		if err != nil {
			if h != (hypothesis{}) {
				t.Fatal("an error with a value")
			}
			return
		}
		if h.frames < 0 || h.worst > 0 || (h.frames == 0) != (h.text == "" && h.worst == 0) && h.frames == 0 {
			t.Fatalf("%+v", h)
		}
		_, _ = decide(h, hypothesis{})
	})
}

func TestLexicon(t *testing.T) {
	dictionary := "a AH\nare AA R\nopen OW P AH N\nslack S L AE K\nware W EH R\ntoday T AH D EY\ntoday(2) T UW D EY\nwhat's W AH T S\n"
	g := grammar{jsgf: "as it is", words: []string{"open", "slackware", "today", "what's", "zyx", "open"}}
	lex, err := newLexicon(g, strings.NewReader(dictionary))
	if err != nil {
		t.Fatal(err)
	}
	if want := "open OW P AH N\nslackware S L AE K W EH R\ntoday T AH D EY\ntoday(2) T UW D EY\nwhat's W AH T S\nzyx " + unsayable + "\n"; lex.dict != want {
		t.Errorf("dictionary %q", lex.dict)
	}
	if lex.jsgf != g.jsgf {
		t.Errorf("grammar %q", lex.jsgf)
	}
	if !slices.Equal(lex.unknown, []string{"zyx"}) {
		t.Errorf("unknown %q", lex.unknown)
	}
}

// Sentences with unknown words are given up, the others work; a grammar of
// nothing else hears nothing, and is no failure.
func TestUnpronounceable(t *testing.T) {
	e := New()
	e.SetGrammar("#JSGF V1.0;\ngrammar c;\npublic <c> = what time is it | open qqxzzy | start slackware;", strings.Fields("what time is it open qqxzzy start slackware"))
	if got, err := e.Unpronounceable(); err != nil || !slices.Equal(got, []string{"qqxzzy"}) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"what time is it", "start slackware"} {
		if got, err := e.Recognize(t.Context(), speech(t, text)); err != nil || got.Text != text || got.Language != "en" || got.Confidence < 0.5 || got.Confidence > 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	e.SetGrammar("#JSGF V1.0;\ngrammar c;\npublic <c> = open qqxzzy;", []string{"open", "qqxzzy"})
	if got, err := e.Recognize(t.Context(), speech(t, "what time is it")); reasonOf(err) != recognize.OutOfGrammar {
		t.Errorf("a grammar of nothing: %+v, %v", got, err)
	}
}

func TestRecognize(t *testing.T) {
	e := engineFor(smallGrammar)
	u := speech(t, "what is the date")
	u.PCM, u.Rate = audio.Resample(u.PCM, u.Rate, 48000), 48000
	if got, err := e.Recognize(t.Context(), u); err != nil || got.Text != "what is the date" {
		t.Errorf("at 48000 Hz: %+v, %v", got, err)
	}
	long := speech(t, "the rain stopped an hour ago")
	for len(long.PCM) < 20*proto.Rate {
		long.PCM = append(long.PCM, long.PCM...)
	}
	if _, err := e.Recognize(t.Context(), long); reasonOf(err) != recognize.OutOfGrammar {
		t.Errorf("a long speech: %v", err)
	}
	e.SetGrammar("", nil)
	if err := e.Ready(t.Context()); codeOf(err) != proto.CodeUnavailable || !strings.Contains(err.Error(), "no sentence to listen for") || proto.HintOf(err) == "" {
		t.Errorf("without a grammar: %v", err)
	}
	if _, err := e.Recognize(t.Context(), u); codeOf(err) != proto.CodeUnavailable {
		t.Errorf("without a grammar: %v", err)
	}
	e.SetGrammar("this is no grammar", []string{"this"})
	if _, err := e.Recognize(t.Context(), u); codeOf(err) != proto.CodeFailed || !strings.Contains(err.Error(), "ERROR") {
		t.Errorf("a broken grammar: %v", err)
	}
}

func TestReady(t *testing.T) {
	ready := engineFor(smallGrammar)
	if err := ready.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(e *Engine)
		code   proto.Code
		text   string
	}{
		"no program":     {func(e *Engine) { e.Program = "no-such-pocketsphinx" }, proto.CodeUnavailable, "no-such-pocketsphinx is not installed"},
		"no model":       {func(e *Engine) { e.Model = t.TempDir() }, proto.CodeUnavailable, "no such file"},
		"version 5":      {func(e *Engine) { e.Program = script(t, `echo "-hmm\tx"; exit 1`) }, proto.CodeUnsupported, "not version 5prealpha, it lacks -adchdr"},
		"not executable": {func(e *Engine) { e.Program = script(t, ""); _ = os.Chmod(e.Program, 0o600) }, proto.CodeUnavailable, "is not installed"},
	} {
		e := engineFor(smallGrammar)
		c.change(e)
		if err := e.Ready(t.Context()); codeOf(err) != c.code || !strings.Contains(err.Error(), c.text) || proto.HintOf(err) == "" {
			t.Errorf("%s: %v with hint %q", name, err, proto.HintOf(err))
		}
	}
}

// script makes a program of a shell command.
func script(t *testing.T, command string) string {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+command+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// impostor is a program that lists the right options and then does something
// else.
func impostor(t *testing.T, command string) string {
	return script(t, fmt.Sprintf("if [ $# = 0 ]; then printf '%%s\\t\\n' %s; exit 1; fi\n%s", strings.Join(options, " "), command))
}

func TestProgramFails(t *testing.T) {
	for name, c := range map[string]struct {
		command, text string
	}{
		"exit status": {"echo 'ERROR: \"x.c\", line 1: no   luck' >&2; exit 3", `exit status 3: ERROR: "x.c", line 1: no luck`},
		"no result":   {"exit 0", "it gave no result"},
		"garbage":     {`while [ "$1" != -hypseg ]; do shift; done; echo what is this > "$2"`, "not a line of -hypseg"},
		"a signal":    {"kill -9 $$", "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			e := engineFor(smallGrammar)
			e.Program = impostor(t, c.command)
			if _, err := e.Recognize(t.Context(), speech(t, "what time is it")); codeOf(err) != proto.CodeFailed || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A deadline kills both decoders before Recognize returns.
func TestCancelled(t *testing.T) {
	pids := t.TempDir()
	e := engineFor(smallGrammar)
	e.Program = impostor(t, "echo > "+pids+"/$$; exec sleep 600")
	u := speech(t, "what time is it")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := e.Recognize(ctx, u)
		done <- err
	}()
	var running []os.DirEntry
	waittest.Until(t, "both decoders", func() bool {
		running, _ = os.ReadDir(pids)
		return len(running) == 2
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, entry := range running {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("decoder %d is still there: %v", pid, err)
		}
	}
}
