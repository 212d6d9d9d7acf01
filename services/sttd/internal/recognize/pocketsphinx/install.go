// SPDX-License-Identifier: Apache-2.0

package pocketsphinx

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.org/desktop-assistant/proto"
)

const installHint = "sudo apt install pocketsphinx pocketsphinx-en-us (other distributions: pocketsphinx 5prealpha with its en-us model)"

const probeTimeout = 2 * time.Second

// options are those we pass; 5prealpha lists them when it is run without any.
// Version 5.0 has a pocketsphinx_batch too, but drops silence differently
// (-remove_silence is gone), for which the scores are not calibrated.
var options = []string{"-adchdr", "-adcin", "-beam", "-cepdir", "-cepext", "-compallsen", "-ctl", "-dict", "-hmm",
	"-hypseg", "-jsgf", "-logfn", "-pbeam", "-remove_silence", "-wbeam"}

// probe is the verdict on one program file.
type probe struct {
	path    string
	changed time.Time
	err     error
}

// program gives the path of a pocketsphinx_batch we can drive. The verdict is
// kept until the file changes.
func (e *Engine) program(ctx context.Context) (string, error) {
	path, err := exec.LookPath(e.Program)
	if err != nil {
		return "", proto.Errorf(proto.CodeUnavailable, "find pocketsphinx", "%s is not installed", e.Program).WithHint("%s", installHint)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", proto.Errorf(proto.CodeUnavailable, "find pocketsphinx", "%v", err).WithHint("%s", installHint)
	}
	e.mu.Lock()
	known := e.probed
	e.mu.Unlock()
	if known.path == path && known.changed.Equal(info.ModTime()) {
		return path, known.err
	}
	err = examine(ctx, path)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	e.mu.Lock()
	e.probed = probe{path: path, changed: info.ModTime(), err: err}
	e.mu.Unlock()
	return path, err
}

// examine runs the program without arguments, which lists its options.
func examine(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	listing := run(ctx, path, nil, nil)
	known := map[string]bool{}
	for line := range strings.Lines(listing.output) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		known[strings.TrimSpace(name)] = true
	}
	var missing []string
	for _, option := range options {
		if !known[option] {
			missing = append(missing, option)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return proto.Errorf(proto.CodeUnsupported, "probe pocketsphinx", "%s is not version 5prealpha, it lacks %s", path, strings.Join(missing, " ")).
		WithHint("install pocketsphinx 0.8+5prealpha as in Debian 12, or use a whisper-server")
}

// findModel looks for the files that the decoder opens.
func (e *Engine) findModel() error {
	for _, file := range []string{e.acoustic("mdef"), e.acoustic("means"), e.dictionary()} {
		if _, err := os.Stat(file); err != nil {
			return proto.Errorf(proto.CodeUnavailable, "find pocketsphinx model", "%v", err).WithHint("%s", installHint)
		}
	}
	return nil
}

// acoustic names a file of the acoustic model, or its folder.
func (e *Engine) acoustic(file string) string { return filepath.Join(e.Model, "en-us", file) }

func (e *Engine) dictionary() string { return filepath.Join(e.Model, "cmudict-en-us.dict") }
