// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"example.org/desktop-assistant/services/ttsd/internal/synth/espeak"
)

const program = "espeak-ng"

// command has the espeak-ng command read a text. It would take what stands in
// double brackets as phonemes; Kokoro has no brackets, so they never come here.
func command(ctx context.Context, voice, text string) (string, error) {
	out, err := run(ctx, text, "-q", "--ipa", "--tie=^", "--stdin", "-v", voice)
	if err != nil {
		return "", err
	}
	return strings.Join(strings.Fields(out), " "), nil
}

func commandVersion(ctx context.Context) (string, error) {
	out, err := run(ctx, "", "--version")
	if err != nil {
		return "", err
	}
	return espeak.VersionOf(out), nil
}

func run(ctx context.Context, input string, args ...string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w: the program %s is not there", ErrUnavailable, program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = espeak.Environment()
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(input, "[", " ") + "\n")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("read text with %s: %w", program, err)
	}
	return string(out), nil
}
