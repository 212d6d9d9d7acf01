// SPDX-License-Identifier: Apache-2.0

// Package espeak speaks with the espeak-ng program.
package espeak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const (
	program = "espeak-ng"
	// Words a minute: espeak-ng's own default, and the range it takes.
	normalSpeed, slowest, fastest = 175, 80, 450
	// queryLimit is for --version and --voices, which take 20 ms.
	queryLimit = 5 * time.Second
	// stallLimit is how long it may be without giving a sample; it is about a
	// hundred times faster than speech.
	stallLimit = 10 * time.Second
	// headerSize is the WAV header that espeak-ng writes to a pipe; its lengths
	// are not known then and say nothing.
	headerSize = 44
	rateAt     = 24
	// chunk is how much is handed on at once: 93 ms at its 22050 Hz.
	chunk = 4096
	// fallbackVoice speaks what has no voice of its own.
	fallbackVoice = "en-us"
	// maxComplaint bounds what is kept of its error output.
	maxComplaint = 4 << 10
)

// Engine runs espeak-ng once for each sentence. Make it with [Find].
type Engine struct {
	path    string
	version string
	speed   int               // words a minute
	named   map[string]string // voice by language key of the configuration
	voices  []string
}

// Find looks for the program in PATH and asks it for its version and voices.
// speed is a factor, 1 being normal; voices gives espeak-ng's voice for each
// configured language. The error is a *proto.Error with code unavailable and what
// to install.
func Find(ctx context.Context, speed float64, voices map[string]string) (*Engine, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, missing(fmt.Sprintf("the program %s is not there", program))
	}
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	version, err := query(ctx, path, "--version")
	if err != nil {
		return nil, missing(err.Error())
	}
	list, err := query(ctx, path, "--voices")
	if err != nil {
		return nil, missing(err.Error())
	}
	e := &Engine{path: path, version: VersionOf(version), named: voices, voices: languagesOf(list)}
	e.speed = max(slowest, min(fastest, int(speed*normalSpeed+0.5)))
	return e, nil
}

func missing(why string) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, "find a speech engine", "%s", why).WithHint("apt install espeak-ng")
}

// query runs the program for something it prints.
func query(ctx context.Context, path, flag string) (string, error) {
	cmd := exec.CommandContext(ctx, path, flag)
	cmd.Env = Environment()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w", program, flag, err)
	}
	return string(out), nil
}

// Environment is all that the program, and others with its library, need. It is
// linked with the client library of the sound server and must not find one: it is
// not to play.
func Environment() []string {
	env := []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH"), "PULSE_SERVER=unix:/dev/null", "PULSE_COOKIE=/dev/null", "PULSE_RUNTIME_PATH=/dev/null"}
	for _, key := range []string{"ESPEAK_DATA_PATH", "LD_LIBRARY_PATH"} {
		if v := os.Getenv(key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// VersionOf finds "1.51" in "eSpeak NG text-to-speech: 1.51  Data at: /usr/...".
func VersionOf(text string) string {
	_, rest, _ := strings.Cut(text, ":")
	if fields := strings.Fields(rest); len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// languagesOf reads the second column of the table of voices, under its head.
func languagesOf(table string) []string {
	var list []string
	for i, line := range strings.Split(table, "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 1 {
			list = append(list, fields[1])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Name is "espeak".
func (e *Engine) Name() string { return "espeak" }

// Version is the program's own.
func (e *Engine) Version() string { return e.version }

// There says whether the program is still where it was.
func (e *Engine) There() bool {
	_, err := os.Stat(e.path)
	return err == nil
}

// Voices are the languages it knows.
func (e *Engine) Voices() []string { return slices.Clone(e.voices) }

// Timed is false.
func (e *Engine) Timed() bool { return false }

// Detail is nothing: it is all in the version.
func (e *Engine) Detail() any { return nil }

// Close has nothing to do.
func (e *Engine) Close() {}

// voice chooses for a language: what the configuration says, else its own voice of
// that name, else one of the same language, else the fallback.
func (e *Engine) voice(language string) string {
	language = strings.ToLower(language)
	plain, _, _ := strings.Cut(language, "-")
	for _, name := range []string{e.named[language], language, e.named[plain], plain} {
		if slices.Contains(e.voices, name) {
			return name
		}
	}
	for _, name := range e.voices {
		if strings.HasPrefix(name, plain+"-") {
			return name
		}
	}
	return fallbackVoice
}

// Synthesize runs the program. The text goes through its standard input, so that
// no other user sees it in the list of processes.
func (e *Engine) Synthesize(ctx context.Context, s synth.Sentence, emit synth.Emit) error {
	voice := e.voice(s.Language)
	if s.Voice != "" {
		if voice = s.Voice; !slices.Contains(e.voices, voice) {
			return proto.Errorf(proto.CodeInvalid, "speak with "+program, "it has no voice %.100q", s.Voice).
				WithHint("see its voices: desktop-assistant voice list")
		}
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	stalled := time.AfterFunc(stallLimit, cancel)
	defer stalled.Stop()
	// -z leaves the pause after the sentence out: pauses are the player's.
	cmd := exec.CommandContext(run, e.path, "--stdin", "--stdout", "-z", "-b", "1", "-v", voice, "-s", strconv.Itoa(e.speed))
	cmd.Env = Environment()
	cmd.Stdin = strings.NewReader(literal(s.Text))
	complaint := &head{limit: maxComplaint}
	cmd.Stderr = complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fault("%v", err)
	}
	// The signal at our death goes out when the thread that started the child
	// ends, so this one is kept until the child is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return missing(fmt.Sprintf("the program %s is gone", e.path))
		}
		return fault("%v", err)
	}
	readErr := read(out, func(sound synth.Sound) {
		stalled.Reset(stallLimit)
		emit(sound)
	})
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case run.Err() != nil:
		return fault("it gave nothing for %v", stallLimit)
	case err != nil && complaint.line() != "":
		return fault("%s", complaint.line())
	case err != nil:
		return fault("%v", err)
	case readErr != nil:
		return fault("%v", readErr)
	}
	return nil
}

func fault(format string, args ...any) *proto.Error {
	return proto.Errorf(proto.CodeFailed, "speak with "+program, format, args...).
		WithHint("try it by hand: echo hello | %s --stdin", program)
}

// literal makes the text one that is only read out: espeak-ng takes what stands in
// double brackets as phonemes, and control characters have no sound.
func literal(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	return strings.ReplaceAll(text, "[", "[ ") + "\n" // each, or three of them would leave a pair
}

// read hands on the sound as it comes. Nothing at all is the sound of a text that
// has none.
func read(r io.Reader, emit synth.Emit) error {
	in := bufio.NewReaderSize(r, 2*chunk)
	header := make([]byte, headerSize)
	switch _, err := io.ReadFull(in, header); {
	case err == io.EOF:
		return nil
	case err != nil:
		return fmt.Errorf("read its sound: %w", err)
	}
	rate := int(binary.LittleEndian.Uint32(header[rateAt:]))
	if !bytes.HasPrefix(header, []byte("RIFF")) || rate < 4000 || rate > 192000 {
		return errors.New("its output is no sound")
	}
	for buf := make([]byte, chunk); ; {
		n, err := io.ReadFull(in, buf)
		if n > 1 {
			emit(synth.Sound{Rate: rate, Samples: floats(buf[:n&^1])})
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return fmt.Errorf("read its sound: %w", err)
		}
	}
}

// floats turns bytes of whole 16-bit samples into samples of -1 to 1.
func floats(b []byte) []float32 {
	out := make([]float32, len(b)/2)
	for i := range out {
		out[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / audio.FullScale
	}
	return out
}

// A head keeps the first bytes written to it.
type head struct {
	limit int
	buf   []byte
}

// Write takes everything, so that the program never waits for its reader.
func (h *head) Write(p []byte) (int, error) {
	h.buf = append(h.buf, p[:min(len(p), h.limit-len(h.buf))]...)
	return len(p), nil
}

// line is the first line, made fit for one.
func (h *head) line() string {
	first, _, _ := strings.Cut(strings.TrimSpace(string(h.buf)), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(first), "?")
}
