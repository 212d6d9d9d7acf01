// SPDX-License-Identifier: Apache-2.0

// Package reader has espeak-ng read text: through the helper program phonemize,
// which answers in 0.1 ms, or through the espeak-ng command, which takes 15 ms.
package reader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.org/desktop-assistant/services/ttsd/internal/synth/espeak"
)

const (
	// helperName is the program's, which lies beside ours.
	helperName = "phonemize"
	// greeting is the first word of its first line, and the protocol's version.
	greeting = "phonemize 1 "
	// startLimit and answerLimit are a hundred times what it takes (16 and 0.1 ms)
	// and more, for a busy machine.
	startLimit  = 5 * time.Second
	answerLimit = 2 * time.Second
	// restTime is how long a helper that died twice in a row is left alone.
	restTime = 10 * time.Second
	// maxAnswer bounds a line of it.
	maxAnswer = 1 << 20
)

// ErrUnavailable is wrapped when neither the helper nor the command can be had.
var ErrUnavailable = errors.New("nothing reads text")

// A Reader is for one goroutine. Close it.
type Reader struct {
	path    string // of the helper, "" when there is none
	log     *slog.Logger
	helper  *helper // nil when none runs
	restTil time.Time
	version string
}

// Beside is where the helper lies in an installation: in the folder of the running
// program. It is "" when there is none.
func Beside() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(self), helperName)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	return path
}

// Open starts the helper at path, or sees that the command is there. The error is
// an [ErrUnavailable].
func Open(ctx context.Context, path string, log *slog.Logger) (*Reader, error) {
	r := &Reader{path: path, log: log}
	if r.path != "" {
		h, err := start(ctx, r.path)
		if err == nil {
			r.helper, r.version = h, h.version
			return r, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		log.Warn("the phoneme helper does not start, the espeak-ng command does its work", "error", err)
		r.path = ""
	}
	version, err := commandVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.version = version
	return r, nil
}

// Version is that of espeak-ng, and how it is run.
func (r *Reader) Version() string {
	if r.path == "" {
		return r.version + " (command)"
	}
	return r.version + " (helper)"
}

// Close ends the helper and waits for it. Twice is fine.
func (r *Reader) Close() {
	if r.helper != nil {
		r.helper.end()
		r.helper = nil
	}
}

// Read implements phoneme.Reader. A helper that dies is started again; when it dies
// at the same text once more, the command reads it.
func (r *Reader) Read(ctx context.Context, voice, text string) (string, error) {
	text = plain(text)
	for try := 0; r.path != "" && try < 2 && !time.Now().Before(r.restTil); try++ {
		said, err := r.ask(ctx, voice, text)
		var refused *refusal
		switch {
		case err == nil:
			return said, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.As(err, &refused):
			return "", err
		}
		r.log.Warn("the phoneme helper died", "error", err)
		if try == 1 {
			r.restTil = time.Now().Add(restTime)
		}
	}
	return command(ctx, voice, text)
}

// ask starts the helper when it does not run. An error that is no refusal means
// that it is gone.
func (r *Reader) ask(ctx context.Context, voice, text string) (string, error) {
	if r.helper == nil {
		h, err := start(ctx, r.path)
		if err != nil {
			return "", err
		}
		r.helper = h
	}
	said, err := r.helper.ask(ctx, voice, text)
	var refused *refusal
	if err != nil && !errors.As(err, &refused) {
		_ = r.helper.cmd.Process.Kill() // whatever it does now is of no use
		r.Close()
	}
	return said, err
}

// plain makes a text one line that has nothing but text.
func plain(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, " ")))
}

// A refusal is the helper's own word that it cannot read something.
type refusal struct{ text string }

func (r *refusal) Error() string { return "read text with espeak-ng: " + r.text }

// A helper is the running program.
type helper struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	lines   *bufio.Reader
	version string
}

func start(ctx context.Context, path string) (*helper, error) {
	// It lives until end is called: ctx is only for the start.
	cmd := exec.Command(path)
	cmd.Env = espeak.Environment()
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	h := &helper{cmd: cmd, in: in, out: out, lines: bufio.NewReader(out)}
	line, err := h.line(ctx, startLimit)
	version, ok := strings.CutPrefix(line, greeting)
	if err == nil && !ok {
		err = fmt.Errorf("it says %.60q", line)
	}
	if err != nil {
		h.end()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	h.version, _, _ = strings.Cut(version, " ")
	return h, nil
}

func (h *helper) ask(ctx context.Context, voice, text string) (string, error) {
	if strings.ContainsAny(voice, "\t\n") {
		return "", &refusal{fmt.Sprintf("no voice for %q", voice)}
	}
	if _, err := io.WriteString(h.in, voice+"\t"+text+"\n"); err != nil {
		return "", fmt.Errorf("ask the phoneme helper: %w", err)
	}
	line, err := h.line(ctx, answerLimit)
	switch {
	case err != nil:
		return "", fmt.Errorf("ask the phoneme helper: %w", err)
	case strings.HasPrefix(line, "+"):
		return strings.TrimSpace(line[1:]), nil
	case strings.HasPrefix(line, "-"):
		return "", &refusal{strings.ToValidUTF8(line[1:], "?")}
	}
	return "", fmt.Errorf("ask the phoneme helper: it says %.60q", line)
}

// line reads one line; when ctx or the time ends first the helper is killed, or its
// answer would be taken for that to the next question.
func (h *helper) line(ctx context.Context, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = h.cmd.Process.Kill() })
	line, err := readLine(h.lines)
	if !stop() {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("read its answer: %w", err)
	}
	return line, nil
}

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimSuffix(string(line), "\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		case len(line) > maxAnswer:
			return "", errors.New("it has no end")
		}
	}
}

// end closes the helper's input, which ends it, and makes sure.
func (h *helper) end() {
	_ = h.in.Close()
	timer := time.AfterFunc(time.Second, func() { _ = h.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, h.out)
	_ = h.cmd.Wait() // how it ended is of no interest any more
}
