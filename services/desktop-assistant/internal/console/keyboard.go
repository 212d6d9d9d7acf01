// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"example.org/desktop-assistant/pkg/consent"
)

// Keyboard gives the lines that are typed, or come from a pipe.
type Keyboard struct {
	Lines   <-chan string    // closed at the end of the input, which Ctrl-C at a prompt is too
	Resized <-chan os.Signal // the terminal has another size: call Resize; nil without a prompt
	Resize  func()
	Release func() // gives the terminal back; to be called at the end
}

// Read begins to read in. With a person at a terminal that can redraw a line
// it shows a prompt that stays, with what is typed, below whatever the console
// writes to out.
func Read(ctx context.Context, c *Console, in io.Reader, out io.Writer, prompt string) (*Keyboard, error) {
	if kind := os.Getenv("TERM"); !Person(in, out) || kind == "" || kind == "dumb" { // cannot redraw a line
		return &Keyboard{Lines: Lines(ctx, in), Release: func() {}}, nil
	}
	return attach(ctx, c, in.(*os.File), out.(*os.File), prompt)
}

// Lines gives what comes from in line by line, with the ends; closed at the end of
// the input.
func Lines(ctx context.Context, in io.Reader) <-chan string {
	r := bufio.NewReader(in)
	return typed(ctx, func() (string, error) { return r.ReadString('\n') })
}

// letters are what a yes is cut to at a keyboard, by language.
var letters = map[string]string{"en": "y", "it": "s", "de": "j", "fr": "o", "es": "s", "pt": "s"}

// Agreed says whether a typed line is a yes to a question of a tool, in the
// language of the question or in that of the terminal.
func Agreed(line, question, language string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	for _, lang := range []string{language, "en"} {
		primary, _, _ := strings.Cut(lang, "-")
		if line != "" && line == letters[primary] {
			return true
		}
		if answer := consent.Read(line, question, lang); answer != consent.Unclear {
			return answer == consent.Yes
		}
	}
	return false
}

func attach(ctx context.Context, c *Console, inFile, outFile *os.File, prompt string) (*Keyboard, error) {
	in, out := int(inFile.Fd()), int(outFile.Fd())
	state, err := term.MakeRaw(in)
	if err != nil {
		return nil, err
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{inFile, outFile}, prompt)
	k := &Keyboard{Resize: func() {
		if w, h, err := term.GetSize(out); err == nil && w > 0 { // a terminal may not know
			_ = t.SetSize(w, h) // fails as the next write does
		}
	}}
	k.Resize()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	k.Resized = resized
	c.redirect(t)
	k.Release = func() {
		signal.Stop(resized)
		c.redirect(outFile)
		_ = term.Restore(in, state) // fails when the terminal is gone
		_, _ = io.WriteString(outFile, "\r\x1b[K")
	}
	k.Lines = typed(ctx, t.ReadLine)
	return k, nil
}

// Person says whether somebody sits at a terminal.
func Person(in io.Reader, out io.Writer) bool { return terminal(in) && terminal(out) }

// terminal says whether v is a terminal.
func terminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// typed reads until the input or ctx ends. A read cannot be cut short: the
// goroutine may end with the process only.
func typed(ctx context.Context, read func() (string, error)) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for {
			line, err := read()
			if err == nil || (errors.Is(err, io.EOF) && line != "") {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
