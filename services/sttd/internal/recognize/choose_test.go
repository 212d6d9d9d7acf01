// SPDX-License-Identifier: Apache-2.0

package recognize_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// engine is one with a fixed answer to Ready.
type engine struct {
	name    string
	problem error
}

func (e engine) Name() string                { return e.name }
func (e engine) Ready(context.Context) error { return e.problem }
func (e engine) Recognize(context.Context, recognize.Utterance) (recognize.Transcript, error) {
	return recognize.Transcript{}, errors.New("not to be asked")
}

func TestChoose(t *testing.T) {
	missing := func(text, hint string) error {
		return proto.Errorf(proto.CodeUnavailable, "probe", "%s", text).WithHint("%s", hint)
	}
	up, down := engine{"first", nil}, engine{"first", missing("no server", "start the server")}
	up2, down2 := engine{"second", nil}, engine{"second", missing("not installed", "apt install it")}
	for name, c := range map[string]struct {
		want    string
		engines []recognize.Engine
		got     string
		text    string
		hint    string
	}{
		"auto takes the first":       {"auto", []recognize.Engine{up, up2}, "first", "", ""},
		"auto takes the second":      {"auto", []recognize.Engine{down, up2}, "second", "", ""},
		"auto finds none":            {"auto", []recognize.Engine{down, down2}, "", "first: no server; second: not installed", "start the server; or apt install it"},
		"a named one":                {"second", []recognize.Engine{up, up2}, "second", "", ""},
		"a named one is not swapped": {"first", []recognize.Engine{down, up2}, "", "no server", "start the server"},
		"an unknown name":            {"frist", []recognize.Engine{up, up2}, "", `unknown engine "frist"`, "auto, first, second"},
		"an untyped problem":         {"auto", []recognize.Engine{engine{"odd", errors.New("boom")}}, "", "odd: boom", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, why, err := recognize.Choose(t.Context(), c.want, c.engines...)
			for _, e := range c.engines {
				e := e.(engine)
				tried := e.problem != nil && (c.want == "auto" || c.want == e.name)
				if text, is := why[e.name]; is != tried || is && text != e.problem.Error() {
					t.Errorf("%s is not ready because of %q", e.name, text)
				}
			}
			if c.got != "" {
				if err != nil || got.Name() != c.got {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			var problem *proto.Error
			if got != nil || !errors.As(err, &problem) || !strings.Contains(problem.Text, c.text) || !strings.Contains(problem.Hint, c.hint) {
				t.Errorf("got %v, %v with hint %q", got, err, proto.HintOf(err))
			}
		})
	}
	t.Run("a caller that gave up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := recognize.Choose(ctx, "auto", down); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
