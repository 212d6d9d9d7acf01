// SPDX-License-Identifier: Apache-2.0

package pocketsphinx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
)

const (
	maxOutput  = 256 << 10 // bytes of what the program writes that are kept
	exitWait   = time.Second
	firstFD    = 3 // of a child's extra files
	fdFolder   = "/proc/self/fd"
	maxLogTail = 300
)

// A job is one run of the decoder: what it reads, and the options of its own.
type job struct {
	acoustic string // folder
	dict     string
	jsgf     string
	wav      []byte
	options  []string
}

// grammarJob decodes with the sentences. Scores of the two decoders compare
// only when both are relative to all sounds of the model (-compallsen), not to
// the few each of them follows.
func (e *Engine) grammarJob(lex *lexicon, wav []byte) job {
	return job{acoustic: e.acoustic(""), dict: lex.dict, jsgf: lex.jsgf, wav: wav}
}

// loopJob decodes with the phone loop. Narrow beams make it cheap, 0.1 s
// instead of 0.4, and changed no score where both were tried.
func (e *Engine) loopJob(wav []byte) job {
	return job{acoustic: e.acoustic(""), dict: loopDict, jsgf: loopGrammar, wav: wav,
		options: []string{"-beam", "1e-20", "-pbeam", "1e-20", "-wbeam", "1e-15"}}
}

// phones are those of the English model, without silence.
const phones = "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH"

var loopDict, loopGrammar = loop()

// loop makes a grammar of any sequence of phones, each a word of its own name.
func loop() (dict, jsgf string) {
	names := strings.Fields(phones)
	for i, phone := range names {
		names[i] = "ph" + strings.ToLower(phone)
		dict += names[i] + " " + phone + "\n"
	}
	return dict, "#JSGF V1.0;\ngrammar loop;\npublic <any> = ( " + strings.Join(names, " | ") + " )*;\n"
}

// decode runs one job. What was said never touches a disk: the files are in
// memory and known to the child by number only.
func decode(ctx context.Context, program string, j job) (hypothesis, error) {
	names := []string{"ctl", "wav", "dict", "jsgf", "hypseg", "log"}
	contents := [][]byte{fmt.Appendf(nil, "%d\n", firstFD+1), j.wav, []byte(j.dict), []byte(j.jsgf), nil, nil}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	path := map[string]string{}
	for i, name := range names {
		f, err := memoryFile(name, contents[i])
		if err != nil {
			return hypothesis{}, err
		}
		files = append(files, f)
		path[name] = fmt.Sprintf("%s/%d", fdFolder, firstFD+i)
	}
	args := append([]string{"-hmm", j.acoustic, "-dict", path["dict"], "-jsgf", path["jsgf"], "-compallsen", "yes",
		"-adcin", "yes", "-adchdr", "44", "-ctl", path["ctl"], "-cepdir", fdFolder, "-cepext", "",
		"-hypseg", path["hypseg"], "-logfn", path["log"]}, j.options...)
	result := run(ctx, program, args, files)
	if ctx.Err() != nil {
		return hypothesis{}, ctx.Err()
	}
	segments := text(files[4])
	if result.err != nil || segments == "" {
		return hypothesis{}, proto.Errorf(proto.CodeFailed, "run pocketsphinx", "%s", reason(result, text(files[5]))).
			WithHint("%s", installHint)
	}
	h, err := parse(segments)
	if err != nil {
		return hypothesis{}, proto.Errorf(proto.CodeFailed, "run pocketsphinx", "%v", err).WithHint("%s", installHint)
	}
	return h, nil
}

// memoryFile makes an unnamed file in memory that holds the content.
func memoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write memory file: %w", err)
	}
	return f, nil
}

// text is what the child wrote into a memory file, at most maxOutput bytes from
// its end.
func text(f *os.File) string {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, max(0, end-maxOutput), maxOutput))
	return strings.TrimSpace(string(b))
}

// outcome is how a run ended.
type outcome struct {
	output string // stdout and stderr, the first maxOutput bytes
	err    error
}

// run starts the program and waits for it. It is killed when ctx ends, and by
// the kernel when this process dies, which the kernel ties to the thread that
// started it: so that thread is kept until the child is gone.
func run(ctx context.Context, program string, args []string, files []*os.File) outcome {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var output bounded
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.ExtraFiles = files
	cmd.WaitDelay = exitWait
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	return outcome{output: output.String(), err: err}
}

// bounded keeps the first maxOutput bytes and drops the rest.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// reason finds the line of the log that says why, as one line.
func reason(result outcome, log string) string {
	why := "it gave no result"
	if result.err != nil {
		why = result.err.Error()
	}
	for line := range strings.Lines(log + "\n" + result.output) {
		if strings.HasPrefix(line, "ERROR") {
			line = strings.Join(strings.Fields(strings.ToValidUTF8(line, "?")), " ")
			return why + ": " + line[:min(len(line), maxLogTail)]
		}
	}
	return why
}
