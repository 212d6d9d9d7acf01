// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"os"
	"path/filepath"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro"
)

// maxDeaths is after how many deaths in a row files are let be: one or two may have
// had another cause.
const maxDeaths = 3

// A guard keeps ttsd from dying of the same files again and again: a damaged
// library or model may take the process with it, which leaves no error behind. What
// is being opened is written down meanwhile, in the file at path.
type guard struct{ path string }

// attempts are those in a row that had no end.
type attempts struct {
	Files string
	Count int
}

// open opens files unless that was the end of ttsd maxDeaths times in a row.
func (g guard) open(files string, open func() (*kokoro.Engine, error)) (*kokoro.Engine, error) {
	var a attempts
	if text, err := os.ReadFile(g.path); err != nil || json.Unmarshal(text, &a) != nil || a.Files != files {
		a = attempts{Files: files} // nothing is known of these
	}
	if a.Count >= maxDeaths {
		return nil, proto.Errorf(proto.CodeUnavailable, "speak with Kokoro", "ttsd died %d times in a row while it opened the onnxruntime library and the model: one of them is damaged", a.Count).
			WithHint("put whole files there; to try the same again: rm %s", g.path)
	}
	a.Count++
	// Without the note the files are opened all the same.
	if text, err := json.Marshal(a); err == nil && os.MkdirAll(filepath.Dir(g.path), 0o700) == nil {
		_ = os.WriteFile(g.path, text, 0o600)
		defer os.Remove(g.path)
	}
	return open()
}
