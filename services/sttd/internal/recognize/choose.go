// SPDX-License-Identifier: Apache-2.0

package recognize

import (
	"context"
	"strings"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
)

// Choose picks the engine that [stt] engine names. [config.Auto] takes the first
// of the engines, which come best first, that is ready now; since a better one
// may appear later (a whisper-server that was still loading), ask again before
// each utterance: it costs one probe of each engine up to the chosen one. why
// says by name of each engine that was probed in vain why it is not ready.
//
// The error holds a [proto.Error]: its text names why each engine cannot work,
// its hint what to type for each. A named engine that is not ready is never
// replaced by another.
func Choose(ctx context.Context, name string, engines ...Engine) (chosen Engine, why map[string]string, err error) {
	why = map[string]string{}
	if name != config.Auto {
		chosen, err = named(name, engines)
		if err != nil {
			return nil, why, err
		}
		if err := chosen.Ready(ctx); err != nil {
			why[name] = err.Error()
			return nil, why, err
		}
		return chosen, why, nil
	}
	var texts, hints []string
	for _, engine := range engines {
		err := engine.Ready(ctx)
		if err == nil {
			return engine, why, nil
		}
		why[engine.Name()] = err.Error()
		problem := proto.AsError("", err)
		texts = append(texts, engine.Name()+": "+problem.Text)
		if problem.Hint != "" {
			hints = append(hints, problem.Hint)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, why, err
	}
	return nil, why, proto.Errorf(proto.CodeUnavailable, "choose speech recogniser", "none is ready: %s", strings.Join(texts, "; ")).
		WithHint("%s", strings.Join(hints, "; or "))
}

func named(name string, engines []Engine) (Engine, error) {
	known := []string{config.Auto}
	for _, engine := range engines {
		if engine.Name() == name {
			return engine, nil
		}
		known = append(known, engine.Name())
	}
	return nil, proto.Errorf(proto.CodeInvalid, "choose speech recogniser", "unknown engine %q", name).
		WithHint("set engine in [stt] to one of %s", strings.Join(known, ", "))
}
