// SPDX-License-Identifier: Apache-2.0

// Package sandbox confines the program of a tool with Landlock and seccomp.
//
// Both hold for a process and all it starts, and cannot be taken back, so the
// runner does not confine itself. It starts its own binary again, which
// confines itself in [Enter] and then becomes the program.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// verb is the hidden first argument of the binary that becomes a program.
const verb = "confine"

// Spec is what a confined program may reach besides the system itself: its
// programs, libraries and settings, see [Basics]. All paths are absolute.
type Spec struct {
	Read    []string `json:"read,omitempty"`  // files or folders to read and run; missing ones are passed over
	Write   []string `json:"write,omitempty"` // the same, and to change
	Network bool     `json:"network,omitempty"`
}

// order is what the binary is told in its second argument.
type order struct {
	Spec
	Level   Level  `json:"level"`
	Program string `json:"program"` // absolute
}

// refusal is what the binary says when it cannot become the program.
type refusal struct {
	Errno syscall.Errno `json:"errno"` // of the execution, else 0
	Text  string        `json:"text"`
}

// reportFD is where the binary finds the pipe for a refusal. It closes by
// itself when the binary becomes the program.
const reportFD = 3

const reportLimit = 100 * time.Millisecond

// Wrap changes a command that was not started, so that it runs confined as far
// as the level goes. After the start, or when it failed, the caller calls
// Close of the report, and after the wait Err.
func Wrap(cmd *exec.Cmd, s Spec, l Level) (*Report, error) {
	text, err := json.Marshal(order{Spec: s, Level: l, Program: cmd.Path})
	if err != nil {
		return nil, fmt.Errorf("encode sandbox: %w", err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	cmd.Args = append([]string{"toolrunner", verb, string(text)}, cmd.Args...)
	cmd.Path = "/proc/self/exe" // also when the file was replaced since
	cmd.ExtraFiles = []*os.File{out}
	return &Report{in: in, out: out}, nil
}

// Report is how a wrapped command says that it did not become its program. A
// nil report is that of a command that was not wrapped.
type Report struct{ in, out *os.File }

// Close lets go of the end that belongs to the child.
func (r *Report) Close() {
	if r != nil {
		r.out.Close()
	}
}

// Err gives nil when the command became its program, or was killed before. An
// error of the execution is a [syscall.Errno]. It must be called once, after
// Close and after the end of the process or its failed start.
func (r *Report) Err() error {
	if r == nil {
		return nil
	}
	defer r.in.Close()
	// The pipe is at its end, except of a process that does not die.
	if err := r.in.SetReadDeadline(time.Now().Add(reportLimit)); err != nil {
		return fmt.Errorf("bound the wait for the sandbox: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r.in, 4096))
	if err != nil || len(text) == 0 {
		return nil
	}
	var why refusal
	switch err := json.Unmarshal(text, &why); {
	case err != nil:
		return fmt.Errorf("read why the sandbox failed: %w", err)
	case why.Errno != 0:
		return why.Errno
	}
	return errors.New(why.Text)
}

// Enter returns at once in an ordinary process. In one that a wrapped command
// started it does not return: the process confines itself and becomes the
// program. Whoever runs tools calls it first in main.
func Enter() {
	if len(os.Args) < 4 || os.Args[1] != verb {
		return
	}
	syscall.CloseOnExec(reportFD)
	why := become(os.Args[2], os.Args[3:])
	// Nobody listens when a person typed the verb; the status says it too.
	if text, err := json.Marshal(why); err == nil {
		_, _ = syscall.Write(reportFD, text)
	}
	os.Exit(126)
}

// become returns only when the process did not become the program.
func become(text string, argv []string) refusal {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return refusal{Text: "decode sandbox: " + err.Error()}
	}
	if err := o.restrict(); err != nil {
		return refusal{Text: err.Error()}
	}
	var errno syscall.Errno
	err := syscall.Exec(o.Program, argv, os.Environ())
	errors.As(err, &errno)
	return refusal{Errno: errno, Text: "execute program: " + strconv.Quote(err.Error())}
}
