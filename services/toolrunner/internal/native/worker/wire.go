// SPDX-License-Identifier: Apache-2.0

// Package worker runs the built-in tools in a process of their own, a child of
// toolrunner that confines itself and is told what to do in JSON lines.
package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
)

// Verb is the hidden first argument of the binary that becomes the child.
const Verb = "native"

// maxLine holds what the bus carries, also when JSON makes six bytes of each.
const maxLine = 8 << 20

// order is what the child is told: first the settings, then calls and cancels.
type order struct {
	Settings *engine.Settings `json:"settings,omitempty"`
	ID       uint64           `json:"id,omitempty"`
	Call     *engine.Call     `json:"call,omitempty"` // without one ID is cancelled
}

// report is what the child says: first that it is ready, then results.
type report struct {
	Ready  *Ready         `json:"ready,omitempty"`
	ID     uint64         `json:"id,omitempty"`
	Result *engine.Result `json:"result,omitempty"`
}

// Ready is how the child began.
type Ready struct {
	Confined  string `json:"confined"`  // how far, in words
	Landlock  int    `json:"landlock"`  // ABI, 0 when not at all
	Workspace bool   `json:"workspace"` // it is open
}

// decodeLine reads the next line into v. The error is [io.EOF] at the end.
func decodeLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			if err := json.Unmarshal(line, v); err != nil {
				return fmt.Errorf("decode line: %w", err)
			}
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(line) > maxLine:
			return fmt.Errorf("decode line: it has more than %d bytes", maxLine)
		}
	}
}

// encodeLine writes v as one line.
func encodeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode line: %w", err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
